/* This module finds sigma of one contact, or of one row of dry friction, from its slip.
 *
 *     sigma_i = max(1e-6, min(sigma, sigma s_i/V_s))     R_t = sigma_i w (22)
 *
 * s_i is the slip speed at the start of the step, and V_s a speed at which sigma is reached: their
 * ratio is given. Under a load, what sticks creeps in proportion to R_t. What creeps slowly then
 * has a smaller R_t in the next step and creeps even more slowly, down to the least sigma; friction
 * that slides does not depend on R_t. A sigma below the least one holds at any slip.
 *
 * A large load P (problem/regularization/loads.h) makes even full sigma creep faster than V_s, by
 * c = sigma w mu P at most, and the slip would stay there. Under a load
 *
 *     sigma_i = max(1e-6 f, min(sigma, sigma f s_i/V_s))     f = min(1, V_s/(4 c))
 *
 * so that a creep at s slows down to s/4 at most in a step, and to 2.5e-4 V_s in the end. Dry
 * friction has c = sigma w dt f_max, and the least sigma without f: its force may be a lock of any
 * size. */
#ifndef SAPWOOD_CONSTRAINTS_KINDS_SLIP_SIGMA_H
#define SAPWOOD_CONSTRAINTS_KINDS_SLIP_SIGMA_H

#include "base/arithmetic.h"
#include "constraints/constraints_tuning.h"

/* least sigma: contacts at rest creep by 0.1 um/s */
static const double sap_least_sigma = 1e-6;

/* Returns sigma_i for slip_ratio = s_i/V_s >= 0; INFINITY gives sigma. */
static inline double sap_sigma_of_slip(double sigma, double slip_ratio) {
  const double least = sap_lesser(sap_least_sigma, sigma);
  return sap_larger(least, slip_ratio < 1 ? sigma * slip_ratio : sigma);
}

/* Returns f for the speed `creep`, m/s or rad/s, at which sigma lets what sticks creep at most. */
static inline double sap_creep_share(double creep, double slip_speed) {
  const double most = sap_creep_margin * creep;
  return most > slip_speed && slip_speed > 0 ? slip_speed / most : 1;
}

/* Returns sigma_i for the share f of a contact under a load. */
static inline double sap_sigma_under_load(double sigma, double slip_ratio, double share) {
  return share < 1 ? sap_larger(share * sap_lesser(sap_least_sigma, sigma),
                                sigma * sap_lesser(1, share * slip_ratio))
                   : sap_sigma_of_slip(sigma, slip_ratio);
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
