/* Violations of rigid rows, those with an infinite stiffness, that are corrected no faster than
 * asked for.
 *
 * Full correction is v_hat = d/(dt + tau_d) at the depth d. A row that is held back has, with w its
 * inverse mass, no less than one that may be given, and R_nr its near-rigid R,
 *
 *     v_hat' = release,   R' = max(R_nr, w/(4 pi^2)) release/min(v_hat, SAP_RELEASE_LOAD)
 *
 * Up to SAP_RELEASE_LOAD that is the spring of before with the dissipation time d/release - dt, so
 * that a contact that has to carry much at rest lies no deeper. Above, its force at rest grows no
 * further: where two violations cannot both be released, as of a limit and of a weld, a soft row
 * gives way. Of two rigid ones the force would be without bounds, and near a singular position it
 * would drive what can still move. */
#ifndef SAPWOOD_CONSTRAINTS_RELEASE_H
#define SAPWOOD_CONSTRAINTS_RELEASE_H

#include <math.h>

static const double sap_four_pi_squared = 39.478417604357434475;

#define SAP_RELEASE_LOAD 0.5 /* m/s and rad/s */

/* R_1: w/(4 pi^2), or R_nr where that is more */
static inline void sap_hold_back(double release, double R_1, double *R, double *v_hat) {
  const double full = fabs(*v_hat);
  if (full > release) {
    *R = R_1 * release / fmin(full, SAP_RELEASE_LOAD);
    *v_hat = copysign(release, *v_hat);
  }
}

#endif
