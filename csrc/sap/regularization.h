/* The parts of sap_regularize(), for a solver that has the inverse factors of A at hand. */
#ifndef SAPWOOD_SAP_REGULARIZATION_H
#define SAPWOOD_SAP_REGULARIZATION_H

#include "linalg/kernels.h"
#include "sapwood.h"

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
