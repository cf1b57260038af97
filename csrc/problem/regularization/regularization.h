/* This module offers the parts of sap_regularize() and sap_regularize_group() to callers that know
 * the inverse factors of A, or that regularize contacts and groups: A is factored once. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_REGULARIZATION_H
#define SAPWOOD_PROBLEM_REGULARIZATION_REGULARIZATION_H

#include "constraints/kinds/release_row.h"
#include "problem/regularization/masses.h"

/* Source and destination of R and v_hat. */
struct sap_regularization {
  const sap_parameters *parameters;
  double *R_t, *R_n, *v_hat_n; /* (n_contacts) */
};

/* Returns R over w of a near-rigid row (section IX-A). */
static inline double sap_near_rigid(double beta) { return beta * beta / sap_four_pi_squared; }

/* Does the work of sap_regularize() for a problem whose sizes and A have been checked. */
sap_status sap_regularize_contacts(const sap_problem *problem, const sap_sizes *sizes,
                                   const sap_parameters *parameters,
                                   const struct sap_masses *masses, double *R_t, double *R_n,
                                   double *v_hat_n, sap_error *error);

/* Does the work of sap_regularize_group() for a measured group; trees and A have been checked. */
sap_status sap_regularize_rows(const sap_problem *problem, const sap_constraints *group,
                               const sap_group_regularization *physical,
                               const struct sap_masses *masses, sap_error *error);

/* Runs sap_regularize_contacts(), and then regularizes the groups that have parameters. */
sap_status sap_regularize_with(const sap_problem *problem, const sap_sizes *sizes,
                               const struct sap_regularization *physical,
                               const struct sap_masses *masses, sap_error *error);

#endif
