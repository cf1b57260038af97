/* Minimises island by island, on several threads where there is work enough for them.
 *
 * Islands share nothing but arrays that they have their ranges in. A thread has a workspace of
 * its own and takes runs of islands as sharing.h divides them. Once all are solved and keep the
 * rules it writes the results it has found. Statistics are summed in the order of the islands,
 * sixteen at a time, so that no bit depends on the number of threads. */
#ifndef SAPWOOD_SOLVER_ISLANDS_ISLANDS_H
#define SAPWOOD_SOLVER_ISLANDS_ISLANDS_H

#include "base/threads.h"
#include "solver/newton/newton.h"
#include "solver/dense/dense.h"
#include "solver/islands/sharing.h"
#include "solver/statistics.h"

struct sap_island_result {
  int valid; /* solved, and the numbers keep all rules; otherwise there is nothing else */
  struct sap_newton_result newton;
  double bound;           /* sap_certificate() */
  double complementarity; /* sap_complementarity() */
  int32_t n_records;
};

/* what comes of the islands of a plan, and who solves them */
struct sap_islands {
  struct sap_workspace *work; /* (sharing.n_threads) the caller's */

  struct sap_block block;           /* that their arrays lie in, and these: */
  struct sap_island_result *result; /* (n_islands) */
  struct sap_sums *sums;            /* sums over islands, see islands.c */
  struct sap_records records;       /* the history: that of each island where its share begins */
  int32_t n_more;                   /* records that there is room for behind their capacity */
  struct sap_sharing sharing;
};

/* what is to be solved, from where */
struct sap_job {
  const sap_problem *problem;
  const double *v_guess;
  const sap_settings *settings;
  const struct sap_components *dense; /* the others, NULL where none is for dense storage */
  const struct sap_records *records;  /* and their history */
};

/* Makes room for the islands of a new graph, that of the plan of the workspaces, and divides them
 * into runs. */
sap_status sap_islands_fit(struct sap_islands *islands, const sap_settings *settings);

/* Binds and minimises all islands, adds their statistics to `sums` and writes the arrays of the
 * solution. Where a number of theirs breaks a rule nothing is written to these, and 0 returned; 0
 * too where the solve was interrupted, which may have been while helpers wrote. */
int sap_islands_solve(struct sap_islands *islands, struct sap_threads *threads,
                      const struct sap_job *job, struct sap_sums *sums, sap_solution *solution);

#endif
