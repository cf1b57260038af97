/* What the law of compliant frictional contact lends to those that build on it, beside its row of
 * the table. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_CONTACT_LAW_H
#define SAPWOOD_CONSTRAINTS_LAWS_CONTACT_LAW_H

#include "constraints/laws.h"

/* constants of contact i at a place */
void sap_contact_bind(struct sap_pool *pool, int32_t place, int64_t i, const sap_problem *problem);

/* b of contact i, NaN where it is not known or follows from v */
static inline double sap_contact_bound_given(const struct sap_pool *pool, int64_t i,
                                             const sap_problem *problem) {
  const int given = pool->friction == SAP_FRICTION_LAGGED && problem->friction_bound;
  return given ? problem->friction_bound[i] : NAN;
}

/* what laws share whose impulses are projections in the norm of R: columns of sap_laws */
int32_t sap_contact_write(const struct sap_pool *pool, int32_t begin, int32_t end,
                          const struct sap_origin *origin, const sap_solution *solution);
void sap_contact_stick(struct sap_pool *pool, int32_t begin, int32_t end);
void sap_contact_bound(struct sap_pool *pool, int32_t begin, int32_t end, double velocity_error,
                       double impulse_error);

/* error of the impulse of one contact from the error dv_c of its velocity */
void sap_contact_impulse_error(const struct sap_contact *contact, const double v_c[3],
                               const double gamma[3], const double dv_c[3], double dgamma[3]);

/* of one contact: the difference, and the costs at both ends */
double sap_contact_difference(const struct sap_pool *pool, int32_t i, double alpha, double *cost_0,
                              double *cost_alpha);

#endif
