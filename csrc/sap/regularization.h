/* The parts of sap_regularize(), for a solver that has the inverse factors of A at hand. */
#ifndef SAPWOOD_SAP_REGULARIZATION_H
#define SAPWOOD_SAP_REGULARIZATION_H

#include "linalg/kernels.h"
#include "sapwood.h"

static const double sap_four_pi_squared = 39.478417604357434475;

sap_status sap_check_scalars(double dt, double sigma, double beta, sap_delassus delassus,
                             sap_error *error);

/* first entry of the block of each tree in A */
void sap_list_blocks(const sap_problem *problem, int64_t *tree_A);

/* W (3, 3) += J A_t^-1 J^T of one tree, by the estimate that is asked for; J (3, n), S as sap_invert_mass()
 * writes it */
void sap_add_delassus(const struct sap_kernels *kernels, sap_delassus delassus, int32_t n,
                      const double *A, const double *S, const double *J, double W[9]);

/* w = |W|_F/n_rows (section IX-A) */
double sap_inverse_mass(const double W[9], int32_t n_rows);

/* all that sap_regularize() checks but trees and A */
sap_status sap_check_parameters(const sap_problem *problem, const sap_sizes *sizes,
                                const sap_parameters *parameters, sap_error *error);

/* sap_regularize() of checked inputs: S as sap_invert_mass() writes it, tree_A (n_trees) first entry of
 * each block */
sap_status sap_regularize_with(const sap_problem *problem, const sap_parameters *parameters,
                               const struct sap_kernels *kernels, const int64_t *tree_A,
                               const double *S, double *R_t, double *R_n, double *v_hat_n,
                               sap_error *error);

#endif
