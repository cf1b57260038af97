/* Which open contacts and limits may wait outside of a problem: those that were open h = dt + tau_d
 * ago already, by a tenth more, and will be for 2 h,
 *
 *     phi0 > 1.1 h v_0     phi0 + 2 h min(v_0, v*) > 0
 *
 * with the rates v_0 before the step and v* of the free motion, which knows nothing of what else
 * holds. A foot that has just lost touch by some um, and that v* would lift as a knee gives way,
 * comes down on its other points of contact, and on this one: if it waited, every step would be
 * solved twice. */
#ifndef SAPWOOD_STEP_INACTIVE_FAR_OPEN_H
#define SAPWOOD_STEP_INACTIVE_FAR_OPEN_H

static inline int sap_is_far_open(double phi0, double h, double v_0, double v_star) {
  static const double since = 1.1, ahead = 2.0;
  const double slowest = v_0 < v_star ? v_0 : v_star;
  return phi0 > 0.0 && phi0 > since * h * v_0 && phi0 + ahead * h * slowest > 0.0;
}

#endif
