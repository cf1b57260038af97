/* This module offers functions of the law of compliant frictional contact to laws built on it. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_CONTACT_LAW_H
#define SAPWOOD_CONSTRAINTS_LAWS_CONTACT_LAW_H

#include "constraints/laws.h"

/* Reads the constants of contact i into a place. */
void sap_contact_bind(struct sap_pool *pool, int32_t place, int64_t i, const sap_problem *problem);

/* Returns b of contact i, NaN if it is unknown or follows from v. */
static inline double sap_contact_bound_given(const struct sap_pool *pool, int64_t i,
                                             const sap_problem *problem) {
  const int given = pool->friction == SAP_FRICTION_LAGGED && problem->friction_bound;
  return given ? problem->friction_bound[i] : NAN;
}

/* Laws whose impulses are projections in the norm of R share these columns of sap_laws. */
int32_t sap_contact_write(const struct sap_pool *pool, int32_t begin, int32_t end,
                          const struct sap_origin *origin, const sap_solution *solution);
void sap_contact_stick(struct sap_pool *pool, int32_t begin, int32_t end);
void sap_contact_bound(struct sap_pool *pool, int32_t begin, int32_t end, double velocity_error,
                       double impulse_error);

/* Returns the cost difference of one contact, and the costs at both ends. */
double sap_contact_difference(const struct sap_pool *pool, int32_t i, double alpha, double *cost_0,
                              double *cost_alpha);

#endif
