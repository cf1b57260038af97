/* This module differentiates the impulses of a triple by its constants; the derivative by v_hat is
 * that by -v_c:
 *
 *     dgamma = G (dv_hat - dv_c) + sum_c (dgamma/dc) dc
 *
 * at the y, gamma and G of the last evaluation. It also finds the distance of v_c, m/s or rad/s, to
 * the boundary of the region where gamma is smooth, in the plane of |v_t| and v_n, or for the row.
 * A law is differentiated within the region that its formulas chose, also on the boundary. */
#ifndef SAPWOOD_CONSTRAINTS_PARTIALS_H
#define SAPWOOD_CONSTRAINTS_PARTIALS_H

#include "constraints/laws/contact.h"

/* Constants of a contact. */
enum sap_contact_constant {
  SAP_BY_MU,
  SAP_BY_R_T,
  SAP_BY_R_N,
  SAP_BY_BOUND,   /* b of lagged friction */
  SAP_BY_KAPPA,   /* kappa of a core */
  SAP_BY_LAMBDA,  /* lambda of an exp core */
  SAP_BY_SPIN,    /* mu_k about n */
  SAP_BY_ROLL_T1, /* mu_k about t1 */
  SAP_BY_ROLL_T2, /* mu_k about t2 */
  SAP_N_CONTACT_CONSTANTS
};

/* Constants of a clamped row. */
enum sap_row_constant { SAP_BY_R, SAP_BY_LOWER, SAP_BY_UPPER, SAP_N_ROW_CONSTANTS };

struct sap_partials {
  /* dgamma/dc of the rows of the triple, then of the second one of a pair; for clamped rows entry r
   * is the derivative by the constant of row r */
  double by[SAP_N_CONTACT_CONSTANTS][6];
  double distance[3]; /* m/s or rad/s; the first entry for a contact, else one per row */
};

/* Derivatives of gamma_n and mu gamma_n of a sliding contact by mu, R_t and R_n at fixed y. All are
 * 0 unless it slides. */
struct sap_cone_slopes {
  double normal[3], friction[3];
};

static inline struct sap_cone_slopes sap_cone_slopes(const struct sap_contact *c,
                                                     const struct sap_contact_state *at) {
  struct sap_cone_slopes slopes = {{0}, {0}};
  if (!at->slides) {
    return slopes;
  }
  /* gamma_n = (y_n + mu_hat y_r)/(1 + mu mu_hat) */
  const double by_mu_hat = c->share * (at->y_r - c->mu * at->gamma_n);
  const double ratio = c->R_t * c->inverse_R_n; /* mu_hat/mu */
  slopes.normal[SAP_BY_MU] = by_mu_hat * ratio - c->share * c->mu_hat * at->gamma_n;
  slopes.normal[SAP_BY_R_T] = by_mu_hat * c->mu * c->inverse_R_n;
  slopes.normal[SAP_BY_R_N] = -by_mu_hat * c->mu_hat * c->inverse_R_n;
  for (int k = SAP_BY_MU; k <= SAP_BY_R_N; ++k) {
    slopes.friction[k] = c->mu * slopes.normal[k] + (k == SAP_BY_MU ? at->gamma_n : 0);
  }
  return slopes;
}

/* Returns the distance from (y_r, y_n) to the nearer edge, in v_c: of the cone or of its polar. */
double sap_cone_distance(const struct sap_contact *c, double y_r, double y_n);

/* Returns the same for the cylinder y_r <= b, y_n >= 0; if b follows y_n its wall is the cone's. */
double sap_disk_distance(const struct sap_contact *c, double b, int follows, double y_r,
                         double y_n);

struct sap_pool;

/* Differentiate the triple at this place, or the pair that begins there. */
void sap_contact_partials(const struct sap_pool *pool, int32_t place, struct sap_partials *to);
void sap_disk_partials(const struct sap_pool *pool, int32_t place, struct sap_partials *to);
void sap_torsional_partials(const struct sap_pool *pool, int32_t place, struct sap_partials *to);
void sap_barrier_partials(const struct sap_pool *pool, int32_t place, struct sap_partials *to);
void sap_clamp_partials(const struct sap_pool *pool, int32_t place, struct sap_partials *to);

#endif
