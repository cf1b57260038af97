/* Violations of rigid rows, those with an infinite stiffness, that are corrected no faster than
 * asked for.
 *
 * Full correction is v_hat = d/(dt + tau_d) at the depth d. With R as it is without a release, a
 * row that is held back has
 *
 *     v_hat' = release     R' = R release/v_hat
 *
 * the line from the full static impulse v_hat/R, at rest, to none at the speed of release: what it
 * carries at rest lies no deeper than without, as only the speed is bounded and not the support. A
 * row may have a bound of its own on the impulse at rest. */
#ifndef SAPWOOD_CONSTRAINTS_KINDS_RELEASE_ROW_H
#define SAPWOOD_CONSTRAINTS_KINDS_RELEASE_ROW_H

#include <math.h>

static const double sap_four_pi_squared = 39.478417604357434475;

/* `most`: bound on the impulse at rest, N s, > 0; INFINITY for none */
static inline void sap_hold_back(double release, double most, double *R, double *v_hat) {
  const double full = fabs(*v_hat);
  if (full > release) {
    *R = fmax(*R * release / full, release / most);
    *v_hat = copysign(release, *v_hat);
  }
}

#endif
