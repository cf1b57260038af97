/* The statistics of a solution, as sums over its islands in any storage. */
#ifndef SAPWOOD_SOLVER_STATISTICS_H
#define SAPWOOD_SOLVER_STATISTICS_H

#include "base/memory.h"
#include "sapwood.h"

/* No two share a cache line. */
struct sap_sums {
  _Alignas(SAP_ALIGNMENT) sap_outcome outcome; /* the worst one */
  int32_t tree;                                /* the problem's, of a breakdown */
  int32_t iterations;                          /* of the island that took most */
  int32_t total_iterations, trials;
  int64_t n_scalars; /* velocities that took part */
  double cost;
  double gradient, momentum, impulse, coulomb; /* squares of the norms (20) */
  double bound;                                /* square of the bound on |v - v_min|_A */
  double complementarity;                      /* numerator of (25) */
  double assembly_seconds, factor_seconds, line_search_seconds;
};

/* The sums over no island. */
static inline struct sap_sums sap_sums_none(void) {
  return (struct sap_sums){.outcome = SAP_CONVERGED, .tree = -1};
}

void sap_sums_add(struct sap_sums *sums, const struct sap_sums *part);

/* Fills the statistics of a solution of so many contacts and rows. */
void sap_sums_conclude(const struct sap_sums *sums, int64_t n_constraints,
                       const sap_settings *settings, sap_solution *solution);

#endif
