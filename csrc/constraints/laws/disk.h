/* Frictional contact whose normal and tangential parts know of each other by one number only, the
 * bound b >= 0 of the friction (N s).
 *
 * Rows and y as in contact.h. With y_r = |y_t| and t = y_t/y_r
 *
 *     normal   gamma_n = max(y_n, 0)                    l_n = R_n gamma_n^2/2
 *     sticks   y_r <= b    gamma_t = y_t                l_t = R_t y_r^2/2
 *     slides   y_r >  b    gamma_t = b t                l_t = R_t (b y_r - b^2/2)
 *
 *     G_nn = 1/R_n where y_n > 0,  G_tn = 0,
 *     G_tt = I/R_t where it sticks, b/(R_t y_r) (I - t t^T) where it slides
 *
 * The cost l_n + l_t is convex and differentiable for every b, and gamma the projection of y onto a
 * cylinder in the norm of R. Coulomb's law is b = mu gamma_n. Held at that of the step before, it
 * is lagged friction: one convex problem. Where b follows gamma_n there is no cost; of the
 * derivative of gamma_t
 *
 *     U_tn = -dgamma_t/dv_n = (mu/R_n) t   where it slides and y_n > 0
 *
 * comes to G, unsymmetric. The soft norm of contact.h replaces y_r here too. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_DISK_H
#define SAPWOOD_CONSTRAINTS_LAWS_DISK_H

#include "constraints/laws/contact.h"

static inline struct sap_contact_state sap_disk_at_impulse(const struct sap_contact *c, double b,
                                                           double y_1, double y_2, double y_n) {
  struct sap_contact_state at = {.y = {y_1, y_2, y_n}};
  at.y_r = sqrt(y_1 * y_1 + y_2 * y_2 + c->soft);
  at.inverse_y_r = at.y_r > 0 ? 1 / at.y_r : 0;
  at.gamma_n = y_n > 0 ? y_n : 0;
  at.sticks = ((b > 0) | (y_n > 0)) & (at.y_r <= b);
  at.slides = ((b > 0) | (y_n > 0)) & !at.sticks;
  at.t[0] = at.slides ? y_1 * at.inverse_y_r : 0;
  at.t[1] = at.slides ? y_2 * at.inverse_y_r : 0;
  return at;
}

static inline void sap_disk_impulse(const struct sap_contact_state *at, double b, double gamma[3]) {
  gamma[0] = at->sticks ? at->y[0] : b * at->t[0];
  gamma[1] = at->sticks ? at->y[1] : b * at->t[1];
  gamma[2] = at->gamma_n;
}

static inline double sap_disk_cost(const struct sap_contact *c, const struct sap_contact_state *at,
                                   double b) {
  /* 0 (y_n + y_r): an overflow must not pass for the absence of contact */
  const double normal = 0.5 * c->R_n * at->gamma_n * at->gamma_n + 0 * (at->y[2] + at->y_r);
  const double sticking = 0.5 * c->R_t * at->y_r * at->y_r;
  return normal + (at->sticks ? sticking : at->slides ? c->R_t * b * (at->y_r - 0.5 * b) : 0);
}

/* as sap_contact_cost_difference() */
double sap_disk_cost_difference(const struct sap_contact *c, double b,
                                const struct sap_contact_state *from,
                                const struct sap_contact_state *to, const double dy[3]);

/* what G_tt has across t */
static inline double sap_disk_across(const struct sap_contact *c,
                                     const struct sap_contact_state *at, double b) {
  return c->inverse_R_t * b * at->inverse_y_r;
}

static inline void sap_disk_hessian(const struct sap_contact *c, const struct sap_contact_state *at,
                                    double b, double G[SAP_G_ENTRIES]) {
  const double *t = at->t, across = sap_disk_across(c, at, b);
  G[SAP_G_11] = at->sticks ? c->inverse_R_t : at->slides ? across * (1 - t[0] * t[0]) : 0;
  G[SAP_G_22] = at->sticks ? c->inverse_R_t : at->slides ? across * (1 - t[1] * t[1]) : 0;
  G[SAP_G_12] = at->slides ? -across * t[0] * t[1] : 0;
  G[SAP_G_1N] = G[SAP_G_2N] = 0;
  G[SAP_G_NN] = at->y[2] > 0 ? c->inverse_R_n : 0;
}

/* (25) of a cylinder: gamma_n (v_n - v_hat_n + R_n gamma_n), and with the slip g_t = v_t - v_hat_t
 * + R_t gamma_t, opposite to friction of size b wherever there is any, g_t^T gamma_t + b |g_t| */
static inline double sap_disk_complementarity(const struct sap_contact *c, double b,
                                              const double v_c[3], const double gamma[3]) {
  double g[3], product[3];
  for (int r = 0; r < 3; ++r) {
    g[r] = v_c[r] - c->v_hat[r] + (r < 2 ? c->R_t : c->R_n) * gamma[r];
    product[r] = g[r] * gamma[r];
  }
  const double slip = sqrt(g[0] * g[0] + g[1] * g[1]);
  return fabs(product[2]) + fabs(product[0] + product[1] + b * slip);
}

/* w^T G w for a change w of v_c */
static inline double sap_disk_curvature(const struct sap_contact *c,
                                        const struct sap_contact_state *at, double b, double w_1,
                                        double w_2, double w_n) {
  const double w_t2 = w_1 * w_1 + w_2 * w_2;
  const double along = at->t[0] * w_1 + at->t[1] * w_2;
  const double normal = at->y[2] > 0 ? c->inverse_R_n * w_n * w_n : 0;
  const double sliding = sap_disk_across(c, at, b) * (w_t2 - along * along);
  return normal + (at->sticks ? c->inverse_R_t * w_t2 : at->slides ? sliding : 0);
}

#endif
