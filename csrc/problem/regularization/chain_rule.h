/* The chain rule from R, v_hat, kappa and bounds to what they follow from: the derivatives of
 * sap_regularize(), sap_barrier_energy() and sap_regularize_group(), in both directions.
 *
 * Where R is the larger of two, its derivatives are those of the larger. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_CHAIN_RULE_H
#define SAPWOOD_PROBLEM_REGULARIZATION_CHAIN_RULE_H

#include "problem/regularization/inverse_mass.h"
#include "sapwood/sensitivity.h"

struct sap_chain {
  const sap_problem *problem;
  const sap_parameters *parameters;
  const struct sap_masses *masses;
  int frozen;          /* is the effective mass taken to be constant? */
  double *X[2], *Y[2]; /* room: (3, velocities of the widest tree) */
};

/* Adds to the derivatives by physical parameters, A and J what those by R_t, R_n, v_hat_n, kappa,
 * and by R, v_hat and bounds of groups, bring to them. */
void sap_chain_pull(const struct sap_chain *chain, sap_differential *gradient);

/* changes of what follows: arrays (n_contacts), and of each group (n_rows) */
struct sap_derived {
  double *R_t, *R_n, *v_hat_n, *kappa; /* kappa: NULL where there is none */
  const sap_group_differential *groups;
};

/* Adds to changes of R, v_hat, kappa and bounds those that follow from changes of physical
 * parameters, A and J. */
void sap_chain_push(const struct sap_chain *chain, const sap_differential *change,
                    const struct sap_derived *to);

#endif
