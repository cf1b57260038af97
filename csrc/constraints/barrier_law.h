/* The row of frictional contact with a rigid core (core.h) in the table of laws, and how a start
 * becomes feasible.
 *
 * Beyond its domain a barrier is infinite, and so are the sum of `evaluate` and the slope of
 * `line`; there sap_barriers_wall() says where to look for the domain. Energies kappa may for a
 * while be larger than the problem's: sap_barriers_fit() makes the iterate feasible by raising as
 * few as it can. */
#ifndef SAPWOOD_CONSTRAINTS_BARRIER_LAW_H
#define SAPWOOD_CONSTRAINTS_BARRIER_LAW_H

#include "constraints/pool.h"

double sap_barriers_difference(const struct sap_pool *pool, int32_t begin, int32_t end,
                               double alpha);
void sap_barriers_stick(struct sap_pool *pool, int32_t begin, int32_t end);
void sap_barriers_bound(struct sap_pool *pool, int32_t begin, int32_t end, double velocity_error,
                        double impulse_error);
double sap_barriers_complementarity(const struct sap_pool *pool, int32_t begin, int32_t end);

/* At a step `alpha` that leads out of the domain: a shorter one that is no shorter than the longest
 * one inside. s is convex along a line, so that Newton's method for s = 1, started outside, does
 * not pass it, but for round-off. `alpha` itself where no core is in the way, which overflow leads
 * to. */
double sap_barriers_wall(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha);

/* kappa from kappa_given: delta `least` >= 1 times as large, or where y is outside of the domain
 * even then, with s = 0.9 at y; the number of contacts whose kappa is larger than kappa_given */
int32_t sap_barriers_fit(struct sap_pool *pool, int32_t begin, int32_t end, double least);

#endif
