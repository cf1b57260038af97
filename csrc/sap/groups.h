/* Checks of the groups of constraints that are no frictional contacts, and their regularization. */
#ifndef SAPWOOD_SAP_GROUPS_H
#define SAPWOOD_SAP_GROUPS_H

#include "base/memory.h"
#include "sapwood.h"

/* checks kind, n, size, tree_a and tree_b of all groups and adds their rows to sizes->n_rows */
sap_status sap_group_sizes(const sap_problem *problem, sap_sizes *sizes, sap_error *error);

/* the arrays of numbers are there */
sap_status sap_check_groups_given(const sap_problem *problem, sap_error *error);

/* what they hold */
sap_status sap_check_groups(const sap_problem *problem, sap_error *error);

/* sap_regularize_group() for all groups, with one factorization of the trees that they move and no
 * allocation once `block` is large enough: parameters (n_groups), outputs over the rows of all groups. */
sap_status sap_regularize_groups(const sap_problem *problem, const sap_group_parameters *parameters,
                                 double *R, double *v_hat, double *lower, double *upper,
                                 struct sap_block *block, const sap_allocator *allocator,
                                 sap_error *error);

#endif
