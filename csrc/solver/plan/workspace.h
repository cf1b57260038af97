/* A workspace holds the arrays of one thread. Islands are bound to it one by one: binding gathers
 * numbers in the order of the graph, so that every loop of the iterations runs over contiguous
 * memory and knows the places it writes to.
 *
 * Each thread has a workspace of its own with room for all islands, and touches only the room of
 * the islands that it solves. Threads that share arrays wait for each other where they write to the
 * same cache lines, or where one prefetches a line that the other writes. All share the plan
 * (plan.h). */
#ifndef SAPWOOD_SOLVER_PLAN_WORKSPACE_H
#define SAPWOOD_SOLVER_PLAN_WORKSPACE_H

#include "solver/interruption.h"
#include "solver/plan/coulomb_workspace.h"
#include "solver/plan/plan.h"
#include "solver/records.h"

/* No two workspaces share a cache line. */
struct sap_workspace {
  _Alignas(SAP_ALIGNMENT) const struct sap_plan *plan;
  const struct sap_graph *graph; /* the plan's, or that of the dense islands */
  struct sap_interrupt_check interrupt_check;

  /* ---- constant once an island is bound ---- */

  /* by position: the block of A in the caller's array, or A' of a reduced tree; `reduced` is NULL
   * for other trees */
  const double **A;                        /* (n_nodes) */
  const struct sap_reduced_tree **reduced; /* (n_nodes) */
  const double **dense;                    /* (n_nodes) A, NULL if it is diagonal */

  double *eliminated; /* (n_islands) |D A v|^2 of the eliminated velocities, J */

  struct sap_jacobian J; /* by place (patch order) */

  /* by scalar */
  double *v_star;
  double *momentum_star; /* A v* */
  double *diagonal;      /* diagonal of A */
  double *scale;         /* D = diag(A)^(-1/2) of (19) */

  /* ---- variables of the iterations ---- */

  struct sap_pool pool; /* by place; all its constants are bound, except raised kappa */

  /* by scalar */
  double *v, *best; /* iterate; iterate with the smallest error */
  double *dw;       /* v - v* */
  double *momentum; /* A (v - v*) */
  double *impulse;  /* J^T gamma */
  double *gradient;
  double *dv, *dp; /* direction; A dv */
  double *error;   /* bound on the round-off of gradient, for a diagonal A (certificate.h) */
  /* best iterate of coulomb.c, and the minimiser of its last convex solve; empty with convex
   * friction */
  double *best_v, *held_v;
  double *reach; /* |v_0| + sum |alpha dv| over the steps since v_c was formed from v_0 */

  /* The next three belong to the current island. */
  int32_t n_steps;            /* steps summed in v_c, see certificate.h */
  struct sap_norms norms;     /* |D gradient|^2 and |D error|^2 */
  struct sap_records records; /* its part of the history */

  struct sap_scratch scratch; /* scratch of the assembly */
  struct sap_coulomb_workspace coulomb;
};

/* Carves room for all islands of a new graph. */
void sap_workspace_carve(struct sap_workspace *w, struct sap_arena *arena);

/* Gathers the numbers of an island. Returns 0 if A, J or a constant breaks a rule of
 * sap_invert_tree() or sap_check_constraints(). */
int sap_workspace_bind(struct sap_workspace *w, const struct sap_island *island,
                       const sap_problem *problem);

/* Copy velocities between problem order and positions. Gathering skips eliminated velocities;
 * scattering writes them as sap_verify() left them. */
void sap_workspace_gather(const struct sap_workspace *w, const struct sap_island *island,
                          const double *by_tree, double *by_scalar);
void sap_workspace_scatter(const struct sap_workspace *w, const struct sap_island *island,
                           const double *by_scalar, double *by_tree);

#endif
