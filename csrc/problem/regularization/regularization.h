/* The parts of sap_regularize() and sap_regularize_group(), for callers that have the inverse
 * factors of A at hand, or that regularize contacts and groups: A is factored once. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_REGULARIZATION_H
#define SAPWOOD_PROBLEM_REGULARIZATION_REGULARIZATION_H

#include "base/memory.h"
#include "constraints/kinds/release_row.h"
#include "linalg/kernels.h"
#include "problem/products/vectors.h"
#include "sapwood.h"

/* what regularization needs of the trees that constraints touch */
struct sap_masses {
  const struct sap_kernels *kernels;
  const struct sap_vector_loops *loops;
  int64_t *tree_A; /* (n_trees) first entry of the block of each in A and S */
  int64_t *tree_v; /* (n_trees) first velocity of each */
  double *S;       /* (nA) and (nv) as sap_invert_mass() writes them */
  uint64_t *strips;
  double *inverse; /* (nv) diagonal of A^-1, of trees whose first entry is not 0 */
  int32_t *island; /* (n_trees) room for the loads of islands: loads.h */
  double *load;    /* (n_trees) */
};

/* Finds the masses of all trees, in memory of `block`, which the caller releases: checks trees and
 * A. */
sap_status sap_masses_find(struct sap_masses *masses, const sap_problem *problem,
                           struct sap_block *block, const sap_allocator *allocator,
                           sap_error *error);

/* where R and v_hat come from, and where they go */
struct sap_regularization {
  const sap_parameters *parameters;
  double *R_t, *R_n, *v_hat_n; /* (n_contacts) */
};

sap_status sap_check_scalars(double dt, double sigma, double beta, sap_delassus delassus,
                             sap_error *error);

/* W (3, 3) += J A_t^-1 J^T of one tree, by the estimate that is asked for, for J (n_rows <= 3, n);
 * A of all trees */
void sap_add_delassus(const struct sap_masses *masses, sap_delassus delassus, int32_t n,
                      const double *A, int32_t tree, int32_t n_rows, const double *J, double W[9]);

/* w = |W|_F/n_rows (section IX-A) */
double sap_inverse_mass(const double W[9], int32_t n_rows);

/* R of what is near-rigid, over w (section IX-A) */
static inline double sap_near_rigid(double beta) { return beta * beta / sap_four_pi_squared; }

/* sap_regularize() of a problem whose sizes and A have been checked */
sap_status sap_regularize_contacts(const sap_problem *problem, const sap_sizes *sizes,
                                   const sap_parameters *parameters,
                                   const struct sap_masses *masses, double *R_t, double *R_n,
                                   double *v_hat_n, sap_error *error);

/* sap_regularize_group() of a group that has been measured, of a problem whose trees and A have
 * been checked */
sap_status sap_regularize_rows(const sap_problem *problem, const sap_constraints *group,
                               const sap_group_regularization *physical,
                               const struct sap_masses *masses, sap_error *error);

/* sap_regularize_contacts(), and then the groups that have parameters */
sap_status sap_regularize_with(const sap_problem *problem, const sap_sizes *sizes,
                               const struct sap_regularization *physical,
                               const struct sap_masses *masses, sap_error *error);

#endif
