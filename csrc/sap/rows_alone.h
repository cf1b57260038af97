/* Problems without any constraint between two trees: clamped rows, and under Coulomb's friction few
 * contacts with the world. So are most steps of an arm, and of a robot in the air or on its feet,
 * with its limits, dry friction, controllers and loops.
 *
 * Without contacts the cost of a tree is quadratic between bounds in few velocities, and Newton's
 * method ends at its minimum once no row meets or leaves a bound, mostly after one step; a step
 * that leaves more than half of the gradient goes back to the minimum along it. With contacts it is
 * all solved in the space of impulses (contacts_alone.h). Neither needs a graph or a plan. Where a
 * few steps are not enough, in a wide tree one of them, or a number breaks a rule, it leaves the
 * problem to the islands, which begin anew. */
#ifndef SAPWOOD_SAP_ROWS_ALONE_H
#define SAPWOOD_SAP_ROWS_ALONE_H

#include "problem/regularization.h"
#include "problem/vectors.h"
#include "sap/contacts_alone.h"

struct sap_row_alone;

struct sap_rows_alone {
  struct sap_block block; /* that all arrays lie in */
  sap_sizes sizes;
  int32_t n_trees, n_contacts, widest; /* velocities of the widest tree */
  struct sap_masses masses;
  int32_t *row_begin;                /* (n_trees + 1) rows by tree */
  int32_t *position;                 /* (n_trees) -1 where there are none */
  struct sap_row_alone *row;         /* (n_rows) */
  int32_t *contact_begin;            /* (n_trees + 1) contacts by tree */
  struct sap_contact_alone *contact; /* (n_contacts) */
  struct sap_unknowns_alone unknowns;
  sap_impulses_function *find_impulses;
  double *v; /* (nv) */

  /* of one tree */
  double *dw, *momentum, *momentum_star, *impulse, *gradient, *scale, *error, *dv; /* (widest) */
  double *H;    /* (widest, widest) */
  double *root; /* (8, widest) rows over sqrt(R) */
};

/* 1 where it was solved: the solution has everything but symbolic fields. 0 where it was not, with
 * nothing written to the solution and its arrays; those of `physical` may have been. */
int sap_rows_alone_solve(struct sap_rows_alone *alone, const sap_problem *problem,
                         const struct sap_regularization *physical, const double *v_guess,
                         const sap_settings *settings, const sap_allocator *allocator,
                         sap_solution *solution);

#endif
