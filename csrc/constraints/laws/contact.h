/* Compliant frictional contact at one point: the cone projection and what follows from it.
 *
 * Rows (t1, t2, n), R = diag(R_t, R_t, R_n), y = R^-1 (v_hat - v_c). With
 *
 *     y_r = |y_t|,  t = y_t/y_r,  mu_hat = mu R_t/R_n,  mu_tilde^2 = mu mu_hat,
 *     s = y_n + mu_hat y_r
 *
 * the impulse gamma = P_F(y) (18), the cost (29) and G = -dgamma/dv_c (App. E) are
 *
 *     I   stiction    y_n >= 0, y_r <= mu y_n   gamma = y            l = (R_t y_r^2 + R_n y_n^2)/2
 *     II  sliding     else, s >= 0              gamma_n = s/(1+mu_tilde^2), gamma_t = mu gamma_n t
 *                                               l = R_n s^2/(2 (1+mu_tilde^2))
 *     III no contact  else                      gamma = 0                l = 0
 *
 * On the boundary of the cone region I's G holds, on that of the polar cone region II's (App. E).
 * The test y_n >= 0 matters for mu = 0, y_t = 0, where y_r <= mu y_n would let a pulling impulse
 * through.
 *
 * The soft norm y_r = sqrt(|y_t|^2 + eps_s^2) of the projection note, where asked for, replaces y_r
 * everywhere: then |t| < 1, the potential stays convex and differentiable, and cost, gamma and G
 * belong together. With eps_s = 0, t = 0 where y_t = 0. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_CONTACT_H
#define SAPWOOD_CONSTRAINTS_LAWS_CONTACT_H

#include <math.h>
#include <stdint.h>

#include "sapwood.h"

/* constants of one contact */
struct sap_contact {
  double mu;
  double R_t, R_n;
  double inverse_R_t, inverse_R_n;
  double mu_hat;
  double share;         /* 1/(1 + mu_tilde^2) */
  double inverse_share; /* 1 + mu_tilde^2 */
  double soft;          /* eps_s^2 */
  double v_hat[3];      /* (t1, t2, n) */
};

/* where y lies, and the quantities that cost, impulse and Hessian share. All functions below select
 * instead of branching, so that loops over contacts turn into vector instructions. */
struct sap_contact_state {
  double y[3];
  double y_r, inverse_y_r; /* inverse_y_r = 0 where y_r = 0 */
  double t[2];             /* 0 unless it slides */
  double gamma_n;
  int sticks, slides;
};

static inline struct sap_contact sap_contact_make(double mu, double R_t, double R_n,
                                                  double soft_norm, double v_hat_t1,
                                                  double v_hat_t2, double v_hat_n) {
  const double mu_hat = mu * R_t / R_n;
  return (struct sap_contact){
      .mu = mu,
      .R_t = R_t,
      .R_n = R_n,
      .inverse_R_t = 1 / R_t,
      .inverse_R_n = 1 / R_n,
      .mu_hat = mu_hat,
      .share = 1 / (1 + mu * mu_hat),
      .inverse_share = 1 + mu * mu_hat,
      .soft = soft_norm * soft_norm,
      .v_hat = {v_hat_t1, v_hat_t2, v_hat_n},
  };
}

static inline struct sap_contact_state sap_contact_at_impulse(const struct sap_contact *c,
                                                              double y_1, double y_2, double y_n) {
  struct sap_contact_state at = {.y = {y_1, y_2, y_n}};
  at.y_r = sqrt(y_1 * y_1 + y_2 * y_2 + c->soft);
  at.inverse_y_r = at.y_r > 0 ? 1 / at.y_r : 0;
  const double s = y_n + c->mu_hat * at.y_r;
  at.sticks = (y_n >= 0) & (at.y_r <= c->mu * y_n);
  at.slides = !at.sticks & (s >= 0);
  at.t[0] = at.slides ? y_1 * at.inverse_y_r : 0;
  at.t[1] = at.slides ? y_2 * at.inverse_y_r : 0;
  at.gamma_n = at.sticks ? y_n : at.slides ? s * c->share : 0;
  return at;
}

static inline int8_t sap_contact_region(const struct sap_contact_state *at) {
  return at->sticks ? SAP_STICTION : at->slides ? SAP_SLIDING : SAP_NO_CONTACT;
}

/* (18) */
static inline void sap_contact_impulse(const struct sap_contact *c,
                                       const struct sap_contact_state *at, double gamma[3]) {
  const double sliding = c->mu * at->gamma_n;
  gamma[0] = at->sticks ? at->y[0] : sliding * at->t[0];
  gamma[1] = at->sticks ? at->y[1] : sliding * at->t[1];
  gamma[2] = at->gamma_n;
}

/* (29): R_n s^2/(2 (1 + mu_tilde^2)) = R_n gamma_n^2/(2 share) in region II, and 0 in region III,
 * where gamma_n is 0 */
static inline double sap_contact_cost(const struct sap_contact *c,
                                      const struct sap_contact_state *at) {
  /* 0 (y_n + y_r) is 0, or NaN: an overflow must not pass for the absence of contact */
  const double normal = 0.5 * c->R_n * at->gamma_n * at->gamma_n + 0 * (at->y[2] + at->y_r);
  return at->sticks ? 0.5 * c->R_t * at->y_r * at->y_r + normal : normal * c->inverse_share;
}

/* cost at b minus cost at a, without the cancellation of their difference: dy = y_b - y_a as it was
 * formed, not by subtraction */
double sap_contact_cost_difference(const struct sap_contact *c, const struct sap_contact_state *a,
                                   const struct sap_contact_state *b, const double dy[3]);

/* (mu/R_t) gamma_n/y_r: what G_tt has across t */
static inline double sap_contact_across(const struct sap_contact *c,
                                        const struct sap_contact_state *at) {
  return c->mu * c->inverse_R_t * at->gamma_n * at->inverse_y_r;
}

/* entries of the symmetric G (31): 11, 12, 22 of the tangents, 1n, 2n, nn */
enum { SAP_G_11, SAP_G_12, SAP_G_22, SAP_G_1N, SAP_G_2N, SAP_G_NN, SAP_G_ENTRIES };

static inline void sap_contact_hessian(const struct sap_contact *c,
                                       const struct sap_contact_state *at,
                                       double G[SAP_G_ENTRIES]) {
  /* G_tt = (mu/R_t) [mu_hat/(1+mu_tilde^2) P + (gamma_n/y_r) (I - P)],  P = t t^T */
  const double *t = at->t;
  const double along = c->mu * c->inverse_R_t * c->mu_hat * c->share;
  const double across = sap_contact_across(c, at);
  const double G_11 = across + (along - across) * t[0] * t[0];
  const double G_22 = across + (along - across) * t[1] * t[1];
  const double G_12 = (along - across) * t[0] * t[1];
  /* G_tn = mu t/((1+mu_tilde^2) R_n),  G_nn = 1/((1+mu_tilde^2) R_n) */
  const double G_nn = at->slides ? c->share * c->inverse_R_n : 0;
  G[SAP_G_11] = at->sticks ? c->inverse_R_t : at->slides ? G_11 : 0;
  G[SAP_G_22] = at->sticks ? c->inverse_R_t : at->slides ? G_22 : 0;
  G[SAP_G_12] = at->slides ? G_12 : 0;
  G[SAP_G_1N] = c->mu * t[0] * G_nn;
  G[SAP_G_2N] = c->mu * t[1] * G_nn;
  G[SAP_G_NN] = at->sticks ? c->inverse_R_n : G_nn;
}

/* w^T G w for a change w of v_c, without forming G */
static inline double sap_contact_curvature(const struct sap_contact *c,
                                           const struct sap_contact_state *at, double w_1,
                                           double w_2, double w_n) {
  const double w_t2 = w_1 * w_1 + w_2 * w_2;
  const double sticking = w_t2 * c->inverse_R_t + w_n * w_n * c->inverse_R_n;
  /* along (mu t, 1), and across t */
  const double along = at->t[0] * w_1 + at->t[1] * w_2;
  const double slope = c->mu * along + w_n;
  const double sliding = c->share * c->inverse_R_n * slope * slope +
                         sap_contact_across(c, at) * (w_t2 - along * along);
  return at->sticks ? sticking : at->slides ? sliding : 0;
}

#endif
