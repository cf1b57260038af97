/* What the law of compliant frictional contact lends to those that build on it, beside its row of
 * the table. */
#ifndef SAPWOOD_CONSTRAINTS_CONTACT_LAW_H
#define SAPWOOD_CONSTRAINTS_CONTACT_LAW_H

#include "constraints/laws.h"

/* of one contact: the difference, and the costs at both ends */
double sap_contact_difference(const struct sap_pool *pool, int32_t i, double alpha, double *cost_0,
                              double *cost_alpha);

#endif
