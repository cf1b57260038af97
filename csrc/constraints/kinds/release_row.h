/* This module limits the speed at which violations of rigid rows, with infinite stiffness, are
 * corrected.
 *
 * Full correction is v_hat = d/(dt + tau_d) at the depth d. With R and v_hat of full correction, a
 * row that is held back has
 *
 *     v_hat' = release     R' = R release/v_hat
 *
 * This is the line from the full static impulse v_hat/R, at rest, to none at the speed of release.
 * A load at rest lies no deeper than with full correction, as the release bounds only the speed. A
 * row may also have a bound on the impulse at rest. */
#ifndef SAPWOOD_CONSTRAINTS_KINDS_RELEASE_ROW_H
#define SAPWOOD_CONSTRAINTS_KINDS_RELEASE_ROW_H

#include <math.h>

static const double sap_four_pi_squared = 39.478417604357434475;

/* Holds a row back; `most` is a bound on the impulse at rest, N s, > 0; INFINITY for none. */
static inline void sap_hold_back(double release, double most, double *R, double *v_hat) {
  const double full = fabs(*v_hat);
  if (full > release) {
    *R = fmax(*R * release / full, release / most);
    *v_hat = copysign(release, *v_hat);
  }
}

#endif
