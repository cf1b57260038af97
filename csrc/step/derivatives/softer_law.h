/* The softer law of a linearized step's contacts (linear_step.h). */
#ifndef SAPWOOD_STEP_DERIVATIVES_SOFTER_LAW_H
#define SAPWOOD_STEP_DERIVATIVES_SOFTER_LAW_H

#include "step/gather.h"

struct sap_softer_law {
  double soften;   /* factor of R */
  const double *v; /* (nv) velocity at the end of the centre's step */
  int32_t n_contacts;
  const int32_t *geom; /* (n_contacts, 2) of the centre */
  double *offset;      /* (n_contacts, 3) change of v_hat along (t1, t2, n), m/s */
};

/* Finds `offset` for the contacts of the centre, which `gather` holds. */
void sap_softer_law_find(struct sap_softer_law law, const struct sap_gather *gather);

/* Makes the law of the gathered contacts softer. Contacts of two geoms keep their order. One that
 * the centre lacks has no impulse, and stays as it is. */
void sap_soften(struct sap_softer_law law, struct sap_gather *gather);

#endif
