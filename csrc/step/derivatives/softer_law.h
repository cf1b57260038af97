/* The softer law of a linearized step's contacts (`soften` of linear_step.h). */
#ifndef SAPWOOD_STEP_DERIVATIVES_SOFTER_LAW_H
#define SAPWOOD_STEP_DERIVATIVES_SOFTER_LAW_H

#include "step/derivatives/linear_step.h"

/* Keeps the change of the targets of the centre's contacts. */
void sap_softer_law_keep(const struct sap_linear_step *linear, const struct sap_gather *gather);

/* Makes the law of the gathered contacts softer. Contacts of two geoms keep their order. One that
 * the centre lacks has no impulse, and stays as it is. */
void sap_softer_law_set(const struct sap_linear_step *linear, struct sap_gather *gather);

#endif
