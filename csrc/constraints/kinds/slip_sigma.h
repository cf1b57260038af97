/* This module finds sigma of one contact, or of one row of dry friction, from its slip.
 *
 *     sigma_i = max(1e-6, min(sigma, sigma s_i/V_s))     R_t = sigma_i w (22)
 *
 * s_i is the slip speed at the start of the step, and V_s a speed at which sigma is reached: their
 * ratio is given. Under a load, what sticks creeps in proportion to R_t. What creeps slowly then
 * has a smaller R_t in the next step and creeps even more slowly, down to the least sigma; friction
 * that slides does not depend on R_t. A sigma below the least one holds at any slip. */
#ifndef SAPWOOD_CONSTRAINTS_KINDS_SLIP_SIGMA_H
#define SAPWOOD_CONSTRAINTS_KINDS_SLIP_SIGMA_H

#include "base/arithmetic.h"

/* least sigma: contacts at rest creep by 0.1 um/s */
static const double sap_least_sigma = 1e-6;

/* Returns sigma_i for slip_ratio = s_i/V_s >= 0; INFINITY gives sigma. */
static inline double sap_sigma_of_slip(double sigma, double slip_ratio) {
  const double least = sap_lesser(sap_least_sigma, sigma);
  return sap_larger(least, slip_ratio < 1 ? sigma * slip_ratio : sigma);
}

/* Value of sigma_i, and its derivatives by sigma and by the slip ratio. */
struct sap_sigma_slope {
  double sigma_i, by_sigma, by_slip_ratio;
};

static inline struct sap_sigma_slope sap_slope_of_sigma(double sigma, double slip_ratio) {
  const double sigma_i = sap_sigma_of_slip(sigma, slip_ratio);
  const int reduced = slip_ratio < 1 && sigma_i < sigma;
  const int least = reduced && !(sigma * slip_ratio > sap_least_sigma);
  return (struct sap_sigma_slope){.sigma_i = sigma_i,
                                  .by_sigma = least ? 0 : sigma_i / sigma,
                                  .by_slip_ratio = reduced && !least ? sigma : 0};
}

#endif
