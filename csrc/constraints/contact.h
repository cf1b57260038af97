/* Compliant frictional contact at one point: the cone projection and what follows from it.
 *
 * Rows (t1, t2, n), R = diag(R_t, R_t, R_n), y = R^-1 (v_hat - v_c). With
 *
 *     y_r = |y_t|,  t = y_t/y_r,  mu_hat = mu R_t/R_n,  mu_tilde^2 = mu mu_hat,  s = y_n + mu_hat y_r
 *
 * the impulse gamma = P_F(y) (18), the cost (29) and G = -dgamma/dv_c (App. E) are
 *
 *     I   stiction    y_n >= 0, y_r <= mu y_n   gamma = y                l = (R_t y_r^2 + R_n y_n^2)/2
 *     II  sliding     else, s >= 0              gamma_n = s/(1+mu_tilde^2), gamma_t = mu gamma_n t
 *                                               l = R_n s^2/(2 (1+mu_tilde^2))
 *     III no contact  else                      gamma = 0                l = 0
 *
 * On the boundary of the cone region I's G holds, on that of the polar cone region II's (App. E). The test
 * y_n >= 0 matters for mu = 0, y_t = 0, where y_r <= mu y_n would let a pulling impulse through.
 *
 * The soft norm y_r = sqrt(|y_t|^2 + eps_s^2) of the projection note, where asked for, replaces y_r
 * everywhere: then |t| < 1, the potential stays convex and differentiable, and cost, gamma and G belong
 * together. With eps_s = 0, t = 0 where y_t = 0. */
#ifndef SAPWOOD_CONSTRAINTS_CONTACT_H
#define SAPWOOD_CONSTRAINTS_CONTACT_H

#include <math.h>
#include <stdint.h>

#include "sapwood.h"

/* constants of one contact */
struct sap_contact {
  double mu;
  double R_t, R_n;
  double inverse_R_t, inverse_R_n;
  double mu_hat;   /* mu R_t/R_n */
  double share;    /* 1/(1 + mu_tilde^2) */
  double soft;     /* eps_s^2 */
  double v_hat[3]; /* (t1, t2, n) */
};

/* where y lies, and the quantities that cost, impulse and Hessian share */
struct sap_contact_state {
  double y[3];
  double y_r;
  double t[2];
  double gamma_n;
  sap_region region;
};

struct sap_contact sap_contact_make(double mu, double R_t, double R_n, double soft_norm,
                                    double v_hat_t1, double v_hat_t2, double v_hat_n);

static inline struct sap_contact_state sap_contact_at_impulse(const struct sap_contact *c,
                                                              double y_1, double y_2, double y_n) {
  struct sap_contact_state at = {{y_1, y_2, y_n}, 0, {0, 0}, 0, SAP_NO_CONTACT};
  at.y_r = sqrt(y_1 * y_1 + y_2 * y_2 + c->soft);
  const double s = y_n + c->mu_hat * at.y_r;
  if (y_n >= 0 && at.y_r <= c->mu * y_n) {
    at.region = SAP_STICTION;
    at.gamma_n = y_n;
  } else if (s >= 0) {
    at.region = SAP_SLIDING;
    at.gamma_n = s * c->share;
    if (at.y_r > 0) {
      at.t[0] = y_1 / at.y_r;
      at.t[1] = y_2 / at.y_r;
    }
  }
  return at;
}

static inline struct sap_contact_state sap_contact_at_velocity(const struct sap_contact *c,
                                                               const double v_c[3]) {
  return sap_contact_at_impulse(c, (c->v_hat[0] - v_c[0]) * c->inverse_R_t,
                                (c->v_hat[1] - v_c[1]) * c->inverse_R_t,
                                (c->v_hat[2] - v_c[2]) * c->inverse_R_n);
}

/* (18) */
static inline void sap_contact_impulse(const struct sap_contact *c,
                                       const struct sap_contact_state *at, double gamma[3]) {
  if (at->region == SAP_STICTION) {
    gamma[0] = at->y[0];
    gamma[1] = at->y[1];
  } else {
    gamma[0] = c->mu * at->gamma_n * at->t[0];
    gamma[1] = c->mu * at->gamma_n * at->t[1];
  }
  gamma[2] = at->gamma_n;
}

/* (29) */
static inline double sap_contact_cost(const struct sap_contact *c,
                                      const struct sap_contact_state *at) {
  if (at->region == SAP_STICTION) {
    return 0.5 * (c->R_t * at->y_r * at->y_r + c->R_n * at->y[2] * at->y[2]);
  }
  /* R_n s^2/(2 (1 + mu_tilde^2)); 0 in region III, where gamma_n is 0 */
  return 0.5 * c->R_n * at->gamma_n * at->gamma_n / c->share;
}

/* cost at b minus cost at a, without the cancellation of their difference */
double sap_contact_cost_difference(const struct sap_contact *c, const struct sap_contact_state *a,
                                   const struct sap_contact_state *b);

/* G (3, 3), symmetric (31) */
void sap_contact_hessian(const struct sap_contact *c, const struct sap_contact_state *at,
                         double G[9]);

/* w^T G w for a change w of v_c, without forming G */
static inline double sap_contact_curvature(const struct sap_contact *c,
                                           const struct sap_contact_state *at, const double w[3]) {
  const double w_t2 = w[0] * w[0] + w[1] * w[1];
  if (at->region == SAP_STICTION) {
    return w_t2 * c->inverse_R_t + w[2] * w[2] * c->inverse_R_n;
  }
  if (at->region == SAP_NO_CONTACT) {
    return 0;
  }
  /* along (mu t, 1), and across t */
  const double along = at->t[0] * w[0] + at->t[1] * w[1];
  const double slope = c->mu * along + w[2];
  const double across = at->y_r > 0 ? at->gamma_n / at->y_r * (w_t2 - along * along) : 0;
  return c->share * c->inverse_R_n * slope * slope + c->mu * c->inverse_R_t * across;
}

#endif
