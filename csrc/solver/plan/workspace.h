/* What one thread works on. Islands are bound to it one by one: numbers are gathered in the order
 * of the graph, so that every loop of the iterations runs over contiguous memory and knows the
 * places it writes to.
 *
 * Each thread has a workspace of its own with room for all islands, and touches that of those that
 * it solves: threads that share arrays wait for each other wherever they write to the same cache
 * lines, and where one fetches ahead what the other is about to write. What they have in common is
 * the plan (plan.h). */
#ifndef SAPWOOD_SOLVER_PLAN_WORKSPACE_H
#define SAPWOOD_SOLVER_PLAN_WORKSPACE_H

#include "solver/interruption.h"
#include "solver/plan/plan.h"
#include "solver/records.h"

/* vectors of krylov.h, beside the first: with twelve, iterations are as many and take half as long
 * again on large islands */
enum { SAP_KRYLOV = 5 };

/* no two share a cache line */
struct sap_workspace {
  _Alignas(SAP_ALIGNMENT) const struct sap_plan *plan;
  struct sap_interrupt_check interrupt_check;

  /* ---- constant once an island is bound ---- */

  /* by position: the block of A, in the caller's array, or A' of a reduced tree, which is NULL
   * otherwise */
  const double **A;                        /* (n_nodes) */
  const struct sap_reduced_tree **reduced; /* (n_nodes) */
  const double **dense;                    /* (n_nodes) A, NULL where it is diagonal */

  double *eliminated; /* (n_islands) |D A v|^2 of the velocities that were eliminated */

  struct sap_jacobian J; /* by place (patch order) */

  /* by scalar */
  double *v_star;
  double *momentum_star; /* A v* */
  double *diagonal;      /* of A */
  double *scale;         /* D = diag(A)^(-1/2) of (19) */

  /* ---- what the iterations change ---- */

  struct sap_pool pool; /* by place; its constants are bound too, but for raised kappa */

  /* by scalar */
  double *v, *best; /* iterate, and the one with the smallest gradient */
  double *dw;       /* v - v* */
  double *momentum; /* A (v - v*) */
  double *impulse;  /* J^T gamma */
  double *gradient;
  double *dv, *dp; /* direction, and A dv */
  double *error;   /* bound on that of gradient, as for a diagonal A: see certificate.h */
  double *kept;    /* best iterate of coulomb.c, where friction is not convex; and so */
  double *krylov;  /* (SAP_KRYLOV + 1, n_scalars) of krylov.h */
  double *reach;   /* |v| where v_c was formed from v, and |alpha dv| of every step since then */

  /* of the island at hand */
  int32_t n_steps;            /* that v_c is the sum of, see certificate.h */
  struct sap_norms norms;     /* |D gradient|^2 and |D error|^2 */
  struct sap_records records; /* its share of the history */

  struct sap_scratch scratch; /* of the assembly */
};

/* room for all islands of a new graph */
void sap_workspace_carve(struct sap_workspace *w, struct sap_arena *arena);

/* Gathers the numbers of an island; 0 where A, J or a constant breaks a rule of sap_invert_tree()
 * or sap_check_constraints(). */
int sap_workspace_bind(struct sap_workspace *w, const struct sap_island *island,
                       const sap_problem *problem);

/* copies of the velocities that take part, problem order <-> positions; those that were eliminated
 * are as sap_verify() left them */
void sap_workspace_gather(const struct sap_workspace *w, const struct sap_island *island,
                          const double *by_tree, double *by_scalar);
void sap_workspace_scatter(const struct sap_workspace *w, const struct sap_island *island,
                           const double *by_scalar, double *by_tree);

#endif
