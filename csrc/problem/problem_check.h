/* This module declares the checks of a problem that several files share. The public ones are in
 * sapwood/problem.h. */
#ifndef SAPWOOD_PROBLEM_PROBLEM_CHECK_H
#define SAPWOOD_PROBLEM_PROBLEM_CHECK_H

#include <float.h>

#include "linalg/kernels/kernels.h"
#include "sapwood.h"

/* Entries of A that should agree may differ by this times sqrt(A_ii A_jj), their round-off. */
static const double sap_asymmetry = 64 * DBL_EPSILON;

struct sap_vector_loops;

/* Checks that the block of tree t is finite, symmetric, positive definite and zero between the
 * branches of the tree, unless its factor is known. The block begins at `first`, its velocities at
 * `v`. Writes the strips of its branches (branches.h) to strips + v. If it is not diagonal (as for
 * free bodies), S + first gets the inverse S = U^-1 of its factor A = U U^T, S^T S = A^-1: upper
 * triangular, column-major, zeros below the diagonal. */
sap_status sap_invert_tree(const sap_problem *problem, int32_t t, int64_t first, int64_t v,
                           const struct sap_vector_loops *loops, double *S, uint64_t *strips,
                           int8_t *is_diagonal, sap_error *error);

/* Does the same for the trees begin <= t < end and writes S (nA) of diagonal blocks too, and strips
 * (nv). Skips trees with position < 0 (n_trees); position and is_diagonal (n_trees) may be NULL. */
sap_status sap_invert_mass(const sap_problem *problem, int32_t begin, int32_t end,
                           const int32_t *position, double *S, uint64_t *strips,
                           int8_t *is_diagonal, sap_error *error);

/* Checks that the arrays that the laws of contacts read are given: for rigid cores kappa, or delta
 * of parameters that are not NULL. */
sap_status sap_check_laws_given(const sap_problem *problem, sap_friction friction,
                                const sap_parameters *parameters, sap_error *error);

/* Checks that A, v_star and the arrays of the contacts are given. */
sap_status sap_check_given(const sap_problem *problem, sap_error *error);

/* Checks that no R of checked constraints is 0, for calls that divide by it. */
sap_status sap_check_compliant(const sap_problem *problem, sap_error *error);

/* Checks everything that sap_problem_check() checks except the index arrays and A. */
sap_status sap_check_constraints(const sap_problem *problem, const sap_sizes *sizes,
                                 sap_error *error);

#endif
