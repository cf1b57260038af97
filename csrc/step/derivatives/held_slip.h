/* Slip ratios of states near the centre of a linearized step (linear_step.h).
 *
 * sigma = max(1e-6, min(sigma, sigma slip_ratio)) has kinks. The one at the slip 1e-3 V_s, where
 * sigma begins to grow, lies within the differences of velocities of a contact at rest. So
 * differences stay on the branch of the centre. There impulses are in proportion to 1/sigma, which
 * is made linear in the slip, and the slip of a contact is that along the direction of the centre's
 * slip: it may be as small as the differences, where its length bends. Rows of dry friction come
 * before those of limits, of which another state may have others. */
#ifndef SAPWOOD_STEP_DERIVATIVES_HELD_SLIP_H
#define SAPWOOD_STEP_DERIVATIVES_HELD_SLIP_H

#include "step/gather.h"

/* The slip ratios of the centre, 0 where sigma is least, and 1 or more where it is full or held. */
struct sap_held_slip {
  int32_t n_contacts;
  int64_t n_rows;
  const int32_t *geom; /* (n_contacts, 2) */
  double *contact;     /* (n_contacts) */
  double *direction;   /* (n_contacts, 2) unit vectors of the slips of the centre along (t1, t2) */
  double *row;         /* (n_rows), of dry friction */
};

/* Keeps the slip ratios of the centre, or holds those of another state where sigma is constant at
 * the centre. A contact of other geoms than that of the centre at its place stays as it is. */
void sap_hold_slip(const struct sap_held_slip *held, struct sap_gather *gather, int keep);

#endif
