/* The numbers of a component of several trees (components.h), taken as those of one tree: its A and
 * S have the blocks of its trees on their diagonal, its rows of J go over the velocities of all of
 * them. So contacts between the links of a hand and what it holds, and rows that couple fingers,
 * need no more than those of one tree do (dense.h). */
#ifndef SAPWOOD_SOLVER_DENSE_JOINED_TREES_H
#define SAPWOOD_SOLVER_DENSE_JOINED_TREES_H

#include "problem/regularization/regularization.h"
#include "solver/dense/components.h"

struct sap_joined_trees {
  const struct sap_components *components;
  double *J; /* (dense.n_joined_rows, widest) rows that were listed */
  int64_t used;
  double *A, *S, *v_star, *v; /* of the component at hand */
  uint64_t *strips;           /* of S */
};

/* Room for components that have such counts. */
void sap_joined_trees_carve(struct sap_joined_trees *joined, struct sap_arena *arena,
                            const struct sap_component_counts *counts);

/* Rows (n_rows, size of the component) of a constraint of trees a and b, or a alone where b < 0,
 * whose own J lies at *J, behind which *J is on return. They are there until `used` is 0 again. */
const double *sap_joined_trees_rows(struct sap_joined_trees *joined, const int32_t *tree_nv,
                                    int32_t a, int32_t b, int32_t n_rows, const double **J);

/* Puts component t in hand, with its v from `guess`; and takes v back to the velocities of its
 * trees. */
void sap_joined_trees_gather(const struct sap_joined_trees *joined, const sap_problem *problem,
                             const struct sap_masses *masses, const double *guess, int32_t t);
void sap_joined_trees_scatter(const struct sap_joined_trees *joined, const sap_problem *problem,
                              const struct sap_masses *masses, int32_t t, double *v);

#endif
