/* The test of open contacts and limits for the inactive set. A constraint is inactive if it was
 * open h = dt + tau_d ago, with a tenth to spare, and stays open for 2 h:
 *
 *     phi0 > 1.1 h v_0     phi0 + 2 h min(v_0, v*) > 0
 *
 * v_0 is its rate before the step and v* that of the free motion, which ignores all other
 * constraints. The first condition keeps recent contacts active. A foot that has just lifted by
 * some um, and that v* moves up as a knee gives way, comes down on the same points. If it were
 * inactive, every such step would be solved twice. */
#ifndef SAPWOOD_STEP_INACTIVE_FAR_OPEN_H
#define SAPWOOD_STEP_INACTIVE_FAR_OPEN_H

#include "step/step_tuning.h"

static inline int sap_is_far_open(double phi0, double h, double v_0, double v_star) {
  const double slowest = v_0 < v_star ? v_0 : v_star;
  return phi0 > 0.0 && phi0 > sap_open_before * h * v_0 &&
         phi0 + sap_open_after * h * slowest > 0.0;
}

#endif
