/* Minimises island by island, on several threads where there is work enough for them.
 *
 * Islands share nothing. A thread sees the workspace through a view of its own, with arrays of its own, and takes runs of
 * islands as sharing.h divides them. Once all are solved and keep the rules each writes the results it has found; what
 * comes of the islands is summed up in their order, so that no bit depends on the number of threads. */
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

/* what the statistics of a solution are made of; sums of different islands share no cache line */
struct sap_sums {
  _Alignas(SAP_ALIGNMENT) sap_outcome outcome;
  int32_t tree;
  int32_t iterations; /* of the island that took most */
  int32_t total_iterations, trials;
  double cost;
  double gradient, momentum, impulse; /* squares */
  double bound, complementarity;
  double assembly_seconds, factor_seconds, line_search_seconds;
};

/* what is to be solved, from where */
struct sap_job {
  const sap_problem *problem;
  const double *v_guess;
  const sap_settings *settings;
};

/* room for the results, and for the scratch of every thread but the first */
void sap_islands_carve(struct sap_workspace *w, struct sap_arena *arena);

/* Binds and minimises all islands: the solution gets all but the symbolic fields. Where a number of theirs breaks a rule
 * nothing is written to its arrays, and 0 returned. */
int sap_islands_solve(struct sap_workspace *w, struct sap_threads *threads,
                      const struct sap_job *job, sap_solution *solution);

#endif
