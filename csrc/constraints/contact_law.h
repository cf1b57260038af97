/* The row of compliant frictional contact in the table of laws. */
#ifndef SAPWOOD_CONSTRAINTS_CONTACT_LAW_H
#define SAPWOOD_CONSTRAINTS_CONTACT_LAW_H

#include "constraints/pool.h"

/* of one contact: the difference, and the costs at both ends */
double sap_contact_difference(const struct sap_pool *pool, int32_t i, double alpha, double *cost_0,
                              double *cost_alpha);

double sap_contacts_difference(const struct sap_pool *pool, int32_t begin, int32_t end,
                               double alpha);
void sap_contacts_stick(struct sap_pool *pool, int32_t begin, int32_t end);
void sap_contacts_bound(struct sap_pool *pool, int32_t begin, int32_t end, double velocity_error,
                        double impulse_error);
double sap_contacts_complementarity(const struct sap_pool *pool, int32_t begin, int32_t end);

#endif
