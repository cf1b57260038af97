/* A clamped row: a spring and damper whose impulse has bounds. The law of all constraints that are
 * no contact with friction.
 *
 *     y = (v_hat - v_c)/R,   gamma = clamp(y, lower, upper),   lower <= upper
 *
 *     within the bounds     l = R y^2/2              G = 1/R
 *     beyond a bound b      l = R (b y - b^2/2)      G = 0
 *
 * Both costs are R gamma (y - gamma/2). Where 0 lies between the bounds it is not negative; the row
 * of a cable that always pulls has a cost of either sign, not bounded below. A row with lower =
 * upper has G = 0. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_CLAMP_H
#define SAPWOOD_CONSTRAINTS_LAWS_CLAMP_H

#include <float.h>
#include <math.h>

#include "base/arithmetic.h"

/* a NaN stays one */
static inline double sap_clamp_impulse(double y, double lower, double upper) {
  return y < lower ? lower : y > upper ? upper : y;
}

/* is gamma = clamp(y) free to follow y, G = 1/R? */
static inline int sap_clamp_is_free(double y, double gamma, double lower, double upper) {
  return (gamma == y) & (lower < upper);
}

static inline double sap_clamp_cost(double R, double y, double gamma) {
  return R * gamma * (y - 0.5 * gamma);
}

/* a row as it was evaluated */
struct sap_clamped {
  double y, gamma, v_c, v_hat, lower, upper;
};

/* Bound on the error of gamma where v_c is wrong by velocity_error: y is known to e, and where all
 * of y - e to y + e is beyond one bound gamma is exact. */
static inline double sap_clamp_error(const struct sap_clamped *row, double inverse_R,
                                     double velocity_error) {
  const double error = velocity_error + 4 * DBL_EPSILON * (fabs(row->v_c) + fabs(row->v_hat));
  const double e = error * inverse_R + 8 * DBL_EPSILON * fabs(row->y);
  const double above = sap_clamp_impulse(row->y + e, row->lower, row->upper) - row->gamma;
  const double below = row->gamma - sap_clamp_impulse(row->y - e, row->lower, row->upper);
  return sap_larger(above, below);
}

/* |g| times the distance of gamma from its bounds, or from 0, g = v_c - v_hat + R gamma: a row off
 * its bounds has g = 0; at a bound either sign is right for one side. */
static inline double sap_clamp_complementarity(const struct sap_clamped *row, double R) {
  const double residual = row->v_c - row->v_hat + R * row->gamma;
  const double room = sap_lesser(row->gamma - row->lower, row->upper - row->gamma);
  return fabs(residual) * sap_lesser(fabs(row->gamma), room);
}

#endif
