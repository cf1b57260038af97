/* Minimises island by island, on several threads where there is work enough for them.
 *
 * Islands share nothing but the arrays they have their ranges in. A thread sees the workspace through a view of
 * its own: a copy of the struct, with scratch of its own and the records of the island at hand. What comes of
 * the islands is summed up in their order once all are done, so that no bit of a result depends on the number of
 * threads. Threads take the largest islands first, one by one, and small ones as runs of neighbours, which share
 * cache lines; each its own ones, almost the same as in the solve before, then what others have not come to. */
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
  double work; /* what an iteration costs, see sap_islands_plan() */
};

/* what is to be solved, from where */
struct sap_job {
  const sap_problem *problem;
  const double *v_guess;
  const sap_settings *settings;
};

/* room for the results, and for the scratch of every thread but the first */
void sap_islands_carve(struct sap_workspace *w, struct sap_arena *arena);

/* divides the islands of a new graph into runs */
void sap_islands_plan(struct sap_workspace *w);

/* Do several threads save more time than it takes to wake them? */
int sap_islands_shareable(const struct sap_workspace *w);

/* Binds and minimises all islands: the solution gets all but the symbolic fields. Where a number breaks a rule of
 * sap_check_constraints() nothing is written to its arrays, and 0 returned. */
int sap_islands_solve(struct sap_workspace *w, struct sap_threads *threads,
                      const struct sap_job *job, sap_solution *solution);

#endif
