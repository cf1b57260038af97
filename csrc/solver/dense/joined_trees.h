/* Joins the trees of a component (components.h) to one tree: its A and S have the blocks of its
 * trees on their diagonal, and its rows of J cover the velocities of all of them. So contacts
 * between a hand and the object that it holds, and rows that couple fingers, need no special case
 * in dense.h. */
#ifndef SAPWOOD_SOLVER_DENSE_JOINED_TREES_H
#define SAPWOOD_SOLVER_DENSE_JOINED_TREES_H

#include "problem/regularization/regularization.h"
#include "solver/dense/components.h"

struct sap_joined_trees {
  const struct sap_components *components;
  double *J; /* (dense.n_joined_rows, widest) rows listed so far */
  int64_t used;
  double *A, *S, *v_star, *v; /* arrays of the current component */
  uint64_t *strips;           /* structure of S */
};

/* Carves room for components with these counts. */
void sap_joined_trees_carve(struct sap_joined_trees *joined, struct sap_arena *arena,
                            const struct sap_component_counts *counts);

/* Returns the rows (n_rows, size of the component) of a constraint of trees a and b; b < 0: only a.
 * Reads its own J at *J and moves *J behind it. The rows stay valid until `used` is reset to 0. */
const double *sap_joined_trees_rows(struct sap_joined_trees *joined, const int32_t *tree_nv,
                                    int32_t a, int32_t b, int32_t n_rows, const double **J);

/* Gathers component t, with its v from `guess`. Scattering copies v back to the velocities of its
 * trees. */
void sap_joined_trees_gather(const struct sap_joined_trees *joined, const sap_problem *problem,
                             const struct sap_masses *masses, const double *guess, int32_t t);
void sap_joined_trees_scatter(const struct sap_joined_trees *joined, const sap_problem *problem,
                              const struct sap_masses *masses, int32_t t, double *v);

#endif
