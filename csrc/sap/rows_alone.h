/* Problems of clamped rows alone: no contact, and no constraint between two trees. So are most
 * steps of an arm, and of a robot in the air, with its limits, dry friction, controllers and loops.
 *
 * The cost of a tree is then quadratic between bounds in few velocities, and Newton's method with
 * full steps ends at its minimum once no row meets or leaves a bound, mostly after one step. That
 * needs no graph, no plan and no line search. Where a step leaves more than half of the gradient, a
 * tree is wide, or a number breaks a rule, it leaves the problem to the islands, which begin
 * anew. */
#ifndef SAPWOOD_SAP_ROWS_ALONE_H
#define SAPWOOD_SAP_ROWS_ALONE_H

#include "problem/regularization.h"
#include "problem/vectors.h"

struct sap_row_alone;

struct sap_rows_alone {
  struct sap_block block; /* that all arrays lie in */
  sap_sizes sizes;
  int32_t n_trees, widest; /* velocities of the widest tree */
  struct sap_masses masses;
  int32_t *row_begin;        /* (n_trees + 1) rows by tree */
  int32_t *position;         /* (n_trees) -1 where there are none */
  struct sap_row_alone *row; /* (n_rows) */
  double *v;                 /* (nv) */

  /* of one tree */
  double *dw, *momentum, *momentum_star, *impulse, *gradient, *scale, *error; /* (widest) */
  double *H;                                                                  /* (widest, widest) */
  double *root; /* (8, widest) rows over sqrt(R) */
};

/* 1 where it was solved: the solution has everything but symbolic fields. 0 where it was not, with
 * nothing written to the solution and its arrays; those of `physical` may have been. */
int sap_rows_alone_solve(struct sap_rows_alone *alone, const sap_problem *problem,
                         const struct sap_regularization *physical, const double *v_guess,
                         const sap_settings *settings, const sap_allocator *allocator,
                         sap_solution *solution);

#endif
