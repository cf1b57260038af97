/* This file differentiates the laws of three rows: the cone (contact.h), the cylinder (disk.h), and
 * the cone with a rigid core (rigid_core.h). */
#include "constraints/laws/rigid_core.h"
#include "constraints/laws/disk.h"
#include "constraints/laws.h"
#include "constraints/partials.h"

/* ---- distances ---- */

/* Returns the distance from (x, z) to the ray from the origin along (a, b). */
static double ray_distance(double x, double z, double a, double b) {
  const double length = hypot(a, b);
  if (!(length > 0) || a * x + b * z <= 0) {
    return hypot(x, z);
  }
  return fabs(a * z - b * x) / length;
}

double sap_cone_distance(const struct sap_contact *c, double y_r, double y_n) {
  const double x = c->R_t * y_r, z = c->R_n * y_n;
  return fmin(ray_distance(x, z, c->R_t * c->mu, c->R_n), ray_distance(x, z, 1, -c->mu));
}

double sap_disk_distance(const struct sap_contact *c, double b, int follows, double y_r,
                         double y_n) {
  const double x = c->R_t * y_r, z = c->R_n * y_n, ground = fabs(z);
  if (follows) {
    return z > 0 ? fmin(ground, ray_distance(x, z, c->R_t * c->mu, c->R_n)) : ground;
  }
  return b > 0 ? fmin(ground, fabs(x - c->R_t * b)) : ground;
}

/* ---- by R, through y ---- */

/* Adds dgamma/dR_t = -G_t y_t and dgamma/dR_n = -G_n y_n, from y = R^-1 (v_hat - v_c). */
static void add_by_R(const double G[SAP_G_ENTRIES], const double y[3], struct sap_partials *to) {
  to->by[SAP_BY_R_T][0] -= G[SAP_G_11] * y[0] + G[SAP_G_12] * y[1];
  to->by[SAP_BY_R_T][1] -= G[SAP_G_12] * y[0] + G[SAP_G_22] * y[1];
  to->by[SAP_BY_R_T][2] -= G[SAP_G_1N] * y[0] + G[SAP_G_2N] * y[1];
  to->by[SAP_BY_R_N][0] -= G[SAP_G_1N] * y[2];
  to->by[SAP_BY_R_N][1] -= G[SAP_G_2N] * y[2];
  to->by[SAP_BY_R_N][2] -= G[SAP_G_NN] * y[2];
}

/* ---- the cone ---- */

static void cone(const struct sap_contact *c, const struct sap_contact_state *at,
                 struct sap_partials *to) {
  const struct sap_cone_slopes slopes = sap_cone_slopes(c, at);
  double G[SAP_G_ENTRIES];
  *to = (struct sap_partials){.distance = {sap_cone_distance(c, at->y_r, at->y[2])}};
  for (int k = SAP_BY_MU; k <= SAP_BY_R_N; ++k) {
    to->by[k][0] = slopes.friction[k] * at->t[0];
    to->by[k][1] = slopes.friction[k] * at->t[1];
    to->by[k][2] = slopes.normal[k];
  }
  sap_contact_hessian(c, at, G);
  add_by_R(G, at->y, to);
}

static struct sap_contact_state state_of(const struct sap_pool *p, int32_t i,
                                         const struct sap_contact *c) {
  return sap_contact_at_impulse(c, p->y[0][i], p->y[1][i], p->y[2][i]);
}

void sap_contact_partials(const struct sap_pool *p, int32_t i, struct sap_partials *to) {
  const struct sap_contact c = sap_pool_get(p, i);
  const struct sap_contact_state at = state_of(p, i, &c);
  cone(&c, &at, to);
}

/* ---- the cylinder ---- */

void sap_disk_partials(const struct sap_pool *p, int32_t i, struct sap_partials *to) {
  const struct sap_contact c = sap_pool_get(p, i);
  const int follows = p->friction == SAP_FRICTION_COULOMB;
  const double b = p->contact.bound[i], *y_n = &p->y[2][i];
  const struct sap_contact_state at = sap_disk_at_impulse(&c, b, p->y[0][i], p->y[1][i], *y_n);
  double G[SAP_G_ENTRIES];
  *to = (struct sap_partials){.distance = {sap_disk_distance(&c, b, follows, at.y_r, *y_n)}};
  sap_disk_hessian(&c, &at, b, G);
  add_by_R(G, at.y, to);
  for (int r = 0; r < 2; ++r) {
    to->by[SAP_BY_BOUND][r] = follows ? 0 : at.t[r];
    if (follows && *y_n > 0) {
      /* b = mu y_n */
      to->by[SAP_BY_MU][r] = *y_n * at.t[r];
      to->by[SAP_BY_R_N][r] -= c.mu * c.inverse_R_n * *y_n * at.t[r];
    }
  }
}

/* ---- the core ---- */

/* Finds dl_0/dc at a given v_c; by mu and R_n it is that of max gamma^T (v_hat - v_c) -
 * |gamma|_R^2/2. */
static void cost_slopes(const struct sap_contact *c, const struct sap_contact_state *at,
                        double slope[3]) {
  const double y_t2 = at->y[0] * at->y[0] + at->y[1] * at->y[1], gamma_n = at->gamma_n;
  const double friction = c->mu * gamma_n;
  const double sliding = friction * c->soft * at->inverse_y_r - 0.5 * friction * friction;
  slope[SAP_BY_MU] = at->slides ? c->R_t * gamma_n * (at->y_r - friction) : 0;
  slope[SAP_BY_R_T] = at->sticks ? 0.5 * (c->soft - y_t2) : at->slides ? sliding : 0;
  slope[SAP_BY_R_N] = -0.5 * gamma_n * gamma_n;
}

void sap_barrier_partials(const struct sap_pool *p, int32_t i, struct sap_partials *to) {
  const struct sap_contact c = sap_pool_get(p, i);
  const struct sap_contact_state at = state_of(p, i, &c);
  const double lambda = p->barrier.lambda[i], inverse_kappa = p->barrier.inverse_kappa[i];
  const struct sap_barrier_shape shape = sap_barrier_of(p, i);
  const double l_0 = sap_contact_cost(&c, &at);
  const struct sap_barrier_factors f = sap_barrier_at(&shape, sqrt(2 * l_0 * inverse_kappa));
  const double rise = l_0 > 0 ? f.rise / (2 * l_0) : 0;
  double gamma_0[3], slope[3];
  sap_contact_impulse(&c, &at, gamma_0);
  cost_slopes(&c, &at, slope);
  cone(&c, &at, to);
  for (int r = 0; r < 3; ++r) {
    /* gamma = phi(s) gamma_0, kappa s^2 = 2 l_0 */
    for (int k = SAP_BY_MU; k <= SAP_BY_R_N; ++k) {
      to->by[k][r] = f.phi * to->by[k][r] + rise * slope[k] * gamma_0[r];
    }
    /* a raised kappa also grows with the problem's */
    to->by[SAP_BY_KAPPA][r] = -0.5 * f.rise / p->barrier.kappa_problem[i] * gamma_0[r];
    to->by[SAP_BY_LAMBDA][r] = lambda > 0 ? f.rise / lambda * gamma_0[r] : 0;
  }
}
