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
#ifndef SAPWOOD_CONSTRAINTS_CLAMP_H
#define SAPWOOD_CONSTRAINTS_CLAMP_H

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

#endif
