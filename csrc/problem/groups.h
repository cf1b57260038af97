/* Checks of the groups of constraints that are no frictional contacts, and their regularization. */
#ifndef SAPWOOD_PROBLEM_GROUPS_H
#define SAPWOOD_PROBLEM_GROUPS_H

#include "problem/regularization.h"

/* checks kind, n, size, tree_a and tree_b of all groups and adds their rows to sizes->n_rows */
sap_status sap_group_sizes(const sap_problem *problem, sap_sizes *sizes, sap_error *error);

/* the arrays of numbers are there */
sap_status sap_check_groups_given(const sap_problem *problem, sap_error *error);

/* what they hold */
sap_status sap_check_groups(const sap_problem *problem, sap_error *error);

/* sap_regularize_group() of a problem whose trees and A have been checked */
sap_status sap_regularize_rows(const sap_problem *problem, const sap_constraints *group,
                               const struct sap_group_regularization *physical,
                               const struct sap_masses *masses, sap_error *error);

#endif
