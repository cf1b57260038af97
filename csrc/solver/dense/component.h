/* Trees that constraints join, taken as one tree each: its A and S have the blocks of its trees on
 * their diagonal, its rows of J go over the velocities of all of them. So contacts between the
 * links of a hand and what it holds, and rows that couple fingers, need no more than those of one
 * tree do (rows_alone.h).
 *
 * A component bears the index of its first tree. Trees that nothing joins are their own. */
#ifndef SAPWOOD_SOLVER_DENSE_COMPONENT_H
#define SAPWOOD_SOLVER_DENSE_COMPONENT_H

#include "base/memory.h"
#include "problem/regularization/regularization.h"

struct sap_joined_trees {
  struct sap_block block; /* that the arrays of trees lie in */
  int32_t n_trees;
  int any;         /* does a constraint join two? */
  int32_t *first;  /* (n_trees) the component of each tree */
  int32_t *size;   /* (n_trees) velocities of components, 0 of trees that are not the first */
  int32_t *offset; /* (n_trees) of the first velocity of a tree among those of its component */
  int32_t widest;  /* velocities of the widest component */
  int64_t n_rows;  /* that J may be asked for */

  /* in the caller's block */
  double *J; /* (n_rows, widest) rows that were listed */
  int64_t used;
  double *A, *S, *v_star, *v; /* of the component at hand */
  uint64_t *strips;           /* of S */
};

/* Finds the components of a problem whose sizes have been checked; 0 when memory ran out. */
int sap_joined_trees_find(struct sap_joined_trees *joined, const sap_problem *problem,
                          const sap_sizes *sizes, const sap_allocator *allocator);

/* room for their numbers */
void sap_joined_trees_carve(struct sap_joined_trees *joined, struct sap_arena *arena);

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
