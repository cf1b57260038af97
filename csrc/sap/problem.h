/* Checks of a problem that several files share. The public ones are in sapwood.h. */
#ifndef SAPWOOD_SAP_PROBLEM_H
#define SAPWOOD_SAP_PROBLEM_H

#include <float.h>

#include "linalg/kernels.h"
#include "sapwood.h"

/* entries of A that should agree may differ by this times sqrt(A_ii A_jj): the round-off of computing them */
static const double sap_asymmetry = 64 * DBL_EPSILON;

/* a finite array of n values, or an error that names it */
sap_status sap_check_finite(const char *argument, int64_t n, const double *x, sap_error *error);

/* Of trees begin <= t < end: checks that the blocks of A are finite, symmetric and positive definite, and writes the inverses
 * S = L^-1 (nA) of their Cholesky factors, S^T S = A^-1: per tree lower triangular, column-major, zeros
 * above the diagonal. Trees with position < 0 (n_trees) are passed over; position may be NULL. Where is_diagonal
 * (n_trees) is not NULL it says which blocks are diagonal, as those of free bodies are, and S of these is not
 * written: sap_invert_diagonal_mass() does that. */
sap_status sap_invert_mass(const sap_problem *problem, int32_t begin, int32_t end,
                           const int32_t *position, const struct sap_kernels *kernels, double *S,
                           int8_t *is_diagonal, sap_error *error);
void sap_invert_diagonal_mass(const sap_problem *problem, const int32_t *position,
                              const int8_t *is_diagonal, double *S);

/* the kinds of cores are known, and their parameters there: kappa, or delta of parameters that are not NULL */
sap_status sap_check_cores_given(const sap_problem *problem, const sap_parameters *parameters,
                                 sap_error *error);

/* the arrays of the contacts are there */
sap_status sap_check_given(const sap_problem *problem, sap_error *error);

/* all that sap_problem_check() checks but the index arrays and A */
sap_status sap_check_constraints(const sap_problem *problem, const sap_sizes *sizes,
                                 sap_error *error);

#endif
