/* Sums the statistics of a solution over its islands, in any storage. */
#ifndef SAPWOOD_SOLVER_STATISTICS_H
#define SAPWOOD_SOLVER_STATISTICS_H

#include "solver/newton/iterate.h"

/* No two objects share a cache line. */
struct sap_sums {
  _Alignas(SAP_ALIGNMENT) sap_outcome outcome; /* worst outcome */
  int32_t tree;                                /* tree of a breakdown, or -1 */
  int32_t iterations;                          /* largest number over the islands */
  int32_t total_iterations, trials;
  int64_t n_scalars; /* velocities of the islands */
  double cost;
  double gradient, momentum, impulse, coulomb; /* squares of the norms (20), J */
  double bound;                                /* square of the bound on |v - v_min|_A */
  double complementarity;                      /* numerator of (25) */
  double assembly_seconds, factor_seconds, line_search_seconds;
};

/* Returns the sums over no island. */
static inline struct sap_sums sap_sums_none(void) {
  return (struct sap_sums){.outcome = SAP_CONVERGED, .tree = -1};
}

void sap_sums_add(struct sap_sums *sums, const struct sap_sums *part);

struct sap_island_result {
  int valid; /* 1: solved, and the numbers keep all rules; 0: the rest is undefined */
  struct sap_newton_result newton;
  double bound;           /* sap_certificate() */
  double complementarity; /* sap_complementarity() */
  int32_t n_records;
};

/* Adds an island; n_scalars stays as it is. */
void sap_sums_add_island(struct sap_sums *sums, const struct sap_island_result *result);

/* Fills the statistics of a solution with so many contacts and rows. */
void sap_sums_conclude(const struct sap_sums *sums, int64_t n_constraints,
                       const sap_settings *settings, sap_solution *solution);

#endif
