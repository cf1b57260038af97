/* This module checks the groups of constraints other than frictional contacts. */
#ifndef SAPWOOD_PROBLEM_GROUPS_H
#define SAPWOOD_PROBLEM_GROUPS_H

#include <math.h>

#include "sapwood.h"

/* Counts the rows and entries of J of one group, or reports a fault of its indices. */
sap_status sap_measure_group(const sap_problem *problem, const sap_constraints *group,
                             int64_t *n_rows, int64_t *nJ, sap_error *error);

/* Checks kind, n, size, tree_a and tree_b of all groups and adds their rows to sizes->n_rows. */
sap_status sap_group_sizes(const sap_problem *problem, sap_sizes *sizes, sap_error *error);

/* Checks that the arrays of numbers are given. */
sap_status sap_check_groups_given(const sap_problem *problem, sap_error *error);

/* Is R 0, or positive and finite with a finite inverse? */
static inline int sap_is_regularization(double R) {
  return R == 0 || (R > 0 && isfinite(R) && isfinite(1 / R));
}

/* The rules of R, for calls that allow 0 and for all others. */
extern const char sap_regularization_rule[], sap_compliance_rule[];

/* Checks the values of these arrays; with `compliant` R must be > 0. */
sap_status sap_check_groups(const sap_problem *problem, int compliant, sap_error *error);

#endif
