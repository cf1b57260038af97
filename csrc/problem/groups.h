/* This module checks the groups of constraints other than frictional contacts. */
#ifndef SAPWOOD_PROBLEM_GROUPS_H
#define SAPWOOD_PROBLEM_GROUPS_H

#include "sapwood.h"

/* Counts the rows and entries of J of one group, or reports a fault of its indices. */
sap_status sap_measure_group(const sap_problem *problem, const sap_constraints *group,
                             int64_t *n_rows, int64_t *nJ, sap_error *error);

/* Checks kind, n, size, tree_a and tree_b of all groups and adds their rows to sizes->n_rows. */
sap_status sap_group_sizes(const sap_problem *problem, sap_sizes *sizes, sap_error *error);

/* Checks that the arrays of numbers are given. */
sap_status sap_check_groups_given(const sap_problem *problem, sap_error *error);

/* Checks the values of these arrays. */
sap_status sap_check_groups(const sap_problem *problem, sap_error *error);

#endif
