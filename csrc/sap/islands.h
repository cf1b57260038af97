/* Minimises island by island, on several threads where there is work enough for them.
 *
 * Islands share nothing but arrays that they have their ranges in. A thread sees the workspace
 * through a view of its own, most of whose arrays are its own too, and takes runs of islands as
 * sharing.h divides them. Once all are solved and keep the rules it writes the results it has
 * found. Statistics are summed in the order of the islands, sixteen at a time, so that no bit
 * depends on the number of threads. */
#ifndef SAPWOOD_SAP_ISLANDS_H
#define SAPWOOD_SAP_ISLANDS_H

#include "base/threads.h"
#include "sap/newton.h"

struct sap_island_result {
  int valid; /* the numbers keep all rules; where they do not, there is nothing else */
  struct sap_newton_result newton;
  double bound;           /* sap_certificate() */
  double complementarity; /* sap_complementarity() */
  int32_t n_records;
};

/* what is to be solved, from where */
struct sap_job {
  const sap_problem *problem;
  const double *v_guess;
  const sap_settings *settings;
};

/* room for what comes of the islands, and for their runs */
void sap_islands_carve(struct sap_workspace *w, struct sap_arena *arena);

/* Binds and minimises all islands: the solution gets all but the symbolic fields. Where a number of
 * theirs breaks a rule nothing is written to its arrays, and 0 returned. */
int sap_islands_solve(struct sap_workspace *w, struct sap_threads *threads,
                      const struct sap_job *job, sap_solution *solution);

#endif
