/* Minimises island by island, on several threads if the work is large enough.
 *
 * Islands have disjoint ranges in common arrays. A thread has a workspace of its own and takes
 * runs of islands as sharing.h divides them. Once all are solved and keep the rules, it writes the
 * results it has found. Statistics are summed in the order of the islands,
 * sixteen at a time, so that no bit depends on the number of threads. */
#ifndef SAPWOOD_SOLVER_ISLANDS_ISLANDS_H
#define SAPWOOD_SOLVER_ISLANDS_ISLANDS_H

#include "base/threads.h"
#include "solver/newton/newton.h"
#include "solver/dense/dense.h"
#include "solver/islands/sharing.h"
#include "solver/statistics.h"

/* The islands of a plan: workspaces, results and the division among threads. */
struct sap_islands {
  struct sap_workspace *work; /* (sharing.n_threads) owned by the caller */

  struct sap_block block;           /* memory of the workspaces' arrays and of the arrays below */
  struct sap_island_result *result; /* (n_islands) */
  struct sap_sums *sums;            /* sums over islands, see islands.c */
  struct sap_records records;       /* history; each island's part begins where its share does */
  int32_t n_more;                   /* room for records beyond their capacity */
  struct sap_sharing sharing;
};

/* The input of a solve. */
struct sap_job {
  const sap_problem *problem;
  const double *v_guess;
  const sap_settings *settings;
  const struct sap_components *dense; /* dense components; NULL if there are none */
  const struct sap_records *records;  /* history of the dense components */
};

/* Makes room for the islands of a new graph in the plan of the workspaces, and divides them into
 * runs. */
sap_status sap_islands_fit(struct sap_islands *islands, const sap_settings *settings);

/* Binds and minimises all islands, adds their statistics to `sums` and writes the arrays of the
 * solution. Returns 0 and writes no array if a number breaks a rule. Returns 0 after an
 * interruption too, possibly with some arrays written. */
int sap_islands_solve(struct sap_islands *islands, struct sap_threads *threads,
                      const struct sap_job *job, struct sap_sums *sums, sap_solution *solution);

#endif
