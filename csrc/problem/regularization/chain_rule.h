/* This module applies the chain rule between R, v_hat, kappa and bounds and the physical
 * parameters, A and J: the derivatives of sap_regularize(), sap_barrier_energy() and
 * sap_regularize_group(), in both directions.
 *
 * Where R is the larger of two terms, it has the derivatives of the larger. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_CHAIN_RULE_H
#define SAPWOOD_PROBLEM_REGULARIZATION_CHAIN_RULE_H

#include "constraints/kinds/kinds.h"
#include "problem/regularization/inverse_mass.h"
#include "sapwood/sensitivity.h"

/* Returns the rows of contact i, whose J begins at `offset`. */
struct sap_row_set sap_rows_of_contact(const sap_problem *problem, int32_t i, int64_t offset);

/* Returns the number of entries of J of some rows. */
static inline int64_t sap_length_of(const struct sap_row_set *rows) {
  return rows->n_rows * (rows->side[0].step + rows->side[1].step);
}

/* Up to three rows of a constraint that have one effective mass. */
struct sap_row_batch {
  struct sap_row_set rows;
  int64_t first; /* first row in the group */
};

/* Returns a batch: rows from `row` on of constraint c, whose J begins at `offset`. */
struct sap_row_batch sap_row_batch_of(const sap_problem *problem, const sap_constraints *group,
                                      int32_t c, int32_t row, int64_t first, int64_t offset);

/* Finds the derivatives of row i of a group; infinite bounds stay infinite. */
void sap_row_slopes_find(const sap_constraints *group, const sap_group_parameters *parameters,
                         int64_t i, struct sap_row by[SAP_ROW_SLOPES]);

struct sap_chain {
  const sap_problem *problem;
  const sap_parameters *parameters;
  const struct sap_masses *masses;
  int frozen;          /* 1 if the effective mass counts as constant */
  double *X[2], *Y[2]; /* scratch: (3, velocities of the widest tree) */
};

/* Adds to the derivatives by physical parameters, A and J the contributions of those by R_t, R_n,
 * v_hat_n and kappa, and by R, v_hat and bounds of groups. */
void sap_chain_pull(const struct sap_chain *chain, sap_differential *gradient);

/* Changes of the derived values: arrays (n_contacts), and of each group (n_rows). */
struct sap_derived {
  double *R_t, *R_n, *v_hat_n, *kappa; /* kappa is NULL if there is none */
  const sap_group_differential *groups;
};

/* Adds to changes of R, v_hat, kappa and bounds the changes that follow from those of physical
 * parameters, A and J. */
void sap_chain_push(const struct sap_chain *chain, const sap_differential *change,
                    const struct sap_derived *to);

#endif
