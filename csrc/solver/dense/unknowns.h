/* Lists the impulses that a step of contact_step.h has as unknowns, from the pool, and solves for
 * them where all constraints of a component are unknowns.
 *
 * With S^T S = A^-1 and Y = J S^T
 *
 *     v = v* + S^T Y^T gamma,   gamma: the law at v_hat - J v* - Y Y^T gamma
 *
 * which delassus_newton.h solves. S exists already, so that nothing is factored. There is no
 * iterate: the step from v* ends the solve or is not taken. */
#ifndef SAPWOOD_SOLVER_DENSE_UNKNOWNS_H
#define SAPWOOD_SOLVER_DENSE_UNKNOWNS_H

#include "solver/delassus/delassus_newton.h"
#include "solver/dense/components.h"
#include "solver/plan/workspace.h"

/* Entries of a row of J: n of them, for the scalars of the island from `scalar` on. */
struct sap_dense_run {
  const double *J;
  int32_t scalar, n;
};

/* A clamped row of a component: row r of the triple at a place of its patch, and its only entry, or
 * the part of each of its trees that may not be 0. */
struct sap_dense_row {
  const struct sap_patch *patch;
  int32_t place;
  uint8_t r;
  int8_t is_unknown, n_runs;
  struct sap_dense_run run[2];
};

struct sap_dense_unknowns {
  struct sap_impulses impulses;
  double *panel;   /* (ld, n) column-major: J; with condensation H, J, then a row for b */
  double *J;       /* rows of J in the panel */
  int32_t ld;      /* stride of the panel, in whole vectors if it has H */
  double *Y;       /* (m + 1, n) column-major: J S^T, and room for one row */
  double *product; /* (n) Y^T gamma */
};

/* A component in dense storage: an island of a graph without order, and its clamped rows. */
struct sap_dense_island {
  struct sap_workspace *w;
  const struct sap_island *island;
  int32_t n, n_contacts, n_impulses, n_rows; /* velocities, contacts, their impulses, rows */
  struct sap_dense_row *row;                 /* (n_rows) */
  struct sap_dense_unknowns *unknowns;
  struct sap_condensed *condensed;
};

/* Carves room for one component of so many velocities; `any`: it may have contacts. */
void sap_dense_unknowns_carve(struct sap_dense_unknowns *unknowns, struct sap_arena *arena,
                              int32_t widest, int any);

/* Makes room for m unknowns of a component of n velocities, with W = 0 and without J. */
void sap_dense_unknowns_clear(struct sap_dense_unknowns *unknowns, int32_t n, int32_t m,
                              int is_condensed);

/* Lists the unknowns of an island, which was evaluated: the impulses of its contacts, and those of
 * its rows unless they are condensed. Impulses of contacts begin at their evaluated values if
 * `near`. */
void sap_dense_unknowns_list(const struct sap_dense_island *d, int is_condensed, int near);

/* Moves v from v*, where the island was evaluated, to the solution. */
void sap_dense_unknowns_solve(const struct sap_dense_island *d);

#endif
