/* This file is compiled once per instruction set. */
#include <math.h>

#include "constraints/laws/contact_rounds.h"
#include "constraints/laws/torsional_law.h"

/* Loops of the compliant law, for the same instruction set. */
extern const struct sap_law_loops SAP_OF_ISA(sap_contact_loops_);

/* Both triples of a pair have the constants of the contact. */
static int derive(struct sap_pool *pool, int32_t begin, int32_t end) {
  int valid = SAP_OF_ISA(sap_contact_loops_).derive(pool, begin, end) &&
              sap_pool_bounds_hold(pool, begin, end);
  for (int32_t i = begin; i < end; i += 2) {
    for (int r = 0; r < 3; ++r) {
      const double scale = pool->torsional.scale[r][i];
      valid &= (scale >= 0) & isfinite(scale * scale * pool->contact.inverse_R_t[i]);
    }
  }
  return valid;
}

/* Stores G_tt = along e e^T + across (I - m m^T) of the five components in both triples. */
INLINE void store_tangential(const struct sap_pool *p, int32_t i, double along, double across,
                             const double e[SAP_TORSIONAL], const double m[SAP_TORSIONAL]) {
  const double s[SAP_TORSIONAL] = {1, 1, p->torsional.scale[0][i], p->torsional.scale[1][i],
                                   p->torsional.scale[2][i]};
  double G[SAP_TORSIONAL][SAP_TORSIONAL], s_e[SAP_TORSIONAL], s_m[SAP_TORSIONAL];
  for (int k = 0; k < SAP_TORSIONAL; ++k) {
    s_e[k] = s[k] * e[k];
    s_m[k] = s[k] * m[k];
  }
  for (int k = 0; k < SAP_TORSIONAL; ++k) {
    for (int l = k; l < SAP_TORSIONAL; ++l) {
      G[k][l] = along * s_e[k] * s_e[l] - across * s_m[k] * s_m[l];
    }
    G[k][k] += across * s[k] * s[k];
  }
  p->G[SAP_G_11][i] = G[0][0];
  p->G[SAP_G_12][i] = G[0][1];
  p->G[SAP_G_22][i] = G[1][1];
  for (int r = 0; r < 3; ++r) {
    p->torsional.cross[r][i] = G[0][2 + r];
    p->torsional.cross[3 + r][i] = G[1][2 + r];
  }
  p->G[SAP_G_11][i + 1] = G[2][2];
  p->G[SAP_G_12][i + 1] = G[2][3];
  p->G[SAP_G_1N][i + 1] = G[2][4];
  p->G[SAP_G_22][i + 1] = G[3][3];
  p->G[SAP_G_2N][i + 1] = G[3][4];
  p->G[SAP_G_NN][i + 1] = G[4][4];
}

/* Stores G_tn = G_1n e, and G_nn. */
INLINE void store_normal(const struct sap_pool *p, int32_t i, double G_1n, double G_nn,
                         const double e[SAP_TORSIONAL]) {
  p->G[SAP_G_1N][i] = G_1n * e[0];
  p->G[SAP_G_2N][i] = G_1n * e[1];
  p->G[SAP_G_NN][i] = G_nn;
  for (int r = 0; r < 3; ++r) {
    p->torsional.cross[6 + r][i] = p->torsional.scale[r][i] * (G_1n * e[2 + r]);
  }
}

INLINE void store_impulse(const struct sap_pool *p, int32_t i, const double gamma_t[SAP_TORSIONAL],
                          double gamma_n) {
  p->gamma[0][i] = gamma_t[0];
  p->gamma[1][i] = gamma_t[1];
  p->gamma[2][i] = gamma_n;
  for (int r = 0; r < 3; ++r) {
    p->gamma[r][i + 1] = p->torsional.scale[r][i] * gamma_t[2 + r];
  }
}

/* Finds y, and the bound if it follows y_n. */
INLINE void find_impulse(const struct sap_pool *p, int32_t i) {
  const double inverse_R_t = p->contact.inverse_R_t[i];
  for (int r = 0; r < 2; ++r) {
    p->y[r][i] = (p->v_hat[r][i] - p->v_c[r][i]) * inverse_R_t;
  }
  p->y[2][i] = (p->v_hat[2][i] - p->v_c[2][i]) * p->contact.inverse_R_n[i];
  for (int r = 0; r < 3; ++r) {
    const double speed = p->v_hat[r][i + 1] - p->v_c[r][i + 1];
    p->y[r][i + 1] = p->torsional.scale[r][i] * speed * inverse_R_t;
  }
  if (p->friction == SAP_FRICTION_COULOMB) {
    p->contact.bound[i] = p->y[2][i] > 0 ? p->contact.mu[i] * p->y[2][i] : 0;
  }
}

/* Evaluates one contact; returns the cost. */
INLINE double evaluate_one(const struct sap_pool *p, const int cone, int32_t i) {
  find_impulse(p, i);
  const struct sap_radial law = sap_torsional_get(p, cone, i);
  const struct sap_torsional_state at = sap_torsional_state(p, &law, i);
  double gamma_t[SAP_TORSIONAL], gamma_n, G[SAP_G_ENTRIES];
  sap_torsional_impulse(&law, &at, gamma_t, &gamma_n);
  sap_torsional_hessian(&law, &at, G);
  store_impulse(p, i, gamma_t, gamma_n);
  store_tangential(p, i, G[SAP_G_11], G[SAP_G_22], at.e, at.e);
  store_normal(p, i, G[SAP_G_1N], G[SAP_G_NN], at.e);
  p->contact.slip[0][i] = at.radial.t[0] * at.e[0];
  p->contact.slip[1][i] = at.radial.t[0] * at.e[1];
  for (int r = 0; r < 3; ++r) {
    p->torsional.slip[r][i] = at.radial.t[0] * at.e[2 + r];
  }
  p->contact.region[i] = sap_contact_region(&at.radial);
  return sap_torsional_cost(&law, &at);
}

INLINE double evaluate_all(const struct sap_pool *p, const int cone, int32_t begin, int32_t end) {
  double total = 0;
  for (int32_t i = begin; i < end; i += 2) {
    total += evaluate_one(p, cone, i);
  }
  return total;
}

static double evaluate(struct sap_pool *pool, int32_t begin, int32_t end) {
  const struct sap_pool p = *pool;
  return p.friction == SAP_FRICTION_CONVEX ? evaluate_all(&p, 1, begin, end)
                                           : evaluate_all(&p, 0, begin, end);
}

INLINE void add_line(const struct sap_pool *p, const int cone, int32_t begin, int32_t end,
                     double alpha, double *slope, double *curvature) {
  for (int32_t i = begin; i < end; i += 2) {
    const struct sap_radial law = sap_torsional_get(p, cone, i);
    double dv_t[SAP_TORSIONAL], y_t[SAP_TORSIONAL], gamma_t[SAP_TORSIONAL], gamma_n;
    const double dv_n = p->dv_c[2][i];
    sap_torsional_gather(p, i, p->dv_c, dv_t);
    for (int k = 0; k < SAP_TORSIONAL; ++k) {
      const double y_k = k < 2 ? p->y[k][i] : p->y[k - 2][i + 1];
      y_t[k] = y_k - alpha * (dv_t[k] * law.contact.inverse_R_t);
    }
    const struct sap_torsional_state at =
        sap_torsional_at_impulse(&law, y_t, p->y[2][i] - alpha * (dv_n * law.contact.inverse_R_n));
    sap_torsional_impulse(&law, &at, gamma_t, &gamma_n);
    *slope -= sap_torsional_dot(dv_t, gamma_t) + dv_n * gamma_n;
    *curvature += sap_torsional_curvature(&law, &at, dv_t, dv_n);
  }
}

static void line(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha,
                 double *slope, double *curvature) {
  const struct sap_pool p = *pool;
  double sums[2] = {0, 0};
  if (p.friction == SAP_FRICTION_CONVEX) {
    add_line(&p, 1, begin, end, alpha, &sums[0], &sums[1]);
  } else {
    add_line(&p, 0, begin, end, alpha, &sums[0], &sums[1]);
  }
  *slope = sums[0];
  *curvature = sums[1];
}

INLINE void load_slip(const struct sap_pool *p, int32_t i, double t[SAP_TORSIONAL]) {
  t[0] = p->contact.slip[0][i];
  t[1] = p->contact.slip[1][i];
  for (int r = 0; r < 3; ++r) {
    t[2 + r] = p->torsional.slip[r][i];
  }
}

static int32_t couple(const struct sap_pool *pool, int32_t begin, int32_t end,
                      double *const x_c[3]) {
  int32_t n = 0;
  for (int32_t i = begin; i < end; i += 2) {
    double t[SAP_TORSIONAL];
    const double share = sap_contact_coupling(pool, i), x = share * x_c[2][i];
    load_slip(pool, i, t);
    n += share * sap_torsional_dot(t, t) > 0;
    x_c[0][i] = t[0] * x;
    x_c[1][i] = t[1] * x;
    x_c[2][i] = 0;
    for (int r = 0; r < 3; ++r) {
      x_c[r][i + 1] = pool->torsional.scale[r][i] * (t[2 + r] * x);
    }
  }
  return n;
}

static void depart(const struct sap_pool *pool, int32_t begin, int32_t end,
                   double *const gamma[3]) {
  const struct sap_pool *p = pool;
  for (int32_t i = begin; i < end; i += 2) {
    struct sap_radial law = sap_torsional_get(p, 0, i);
    law.b = p->y[2][i] > 0 ? p->contact.mu[i] * p->y[2][i] : 0;
    const struct sap_torsional_state at = sap_torsional_state(p, &law, i);
    double gamma_t[SAP_TORSIONAL], gamma_n;
    sap_torsional_impulse(&law, &at, gamma_t, &gamma_n);
    gamma[0][i] = gamma_t[0] - p->gamma[0][i];
    gamma[1][i] = gamma_t[1] - p->gamma[1][i];
    gamma[2][i] = 0;
    for (int r = 0; r < 3; ++r) {
      gamma[r][i + 1] = p->torsional.scale[r][i] * gamma_t[2 + r] - p->gamma[r][i + 1];
    }
  }
}

/* Entries of a triple's G, and of the 3 x 3 block between the triples of a pair, by row. */
static const int entry[3][3] = {
    {SAP_G_11, SAP_G_12, SAP_G_1N}, {SAP_G_12, SAP_G_22, SAP_G_2N}, {SAP_G_1N, SAP_G_2N, SAP_G_NN}};

/* Finds gamma' = gamma - (G + U) dv_c, as the five components and gamma_n'. */
INLINE void linearize(const struct sap_pool *p, int32_t i, double next_t[SAP_TORSIONAL],
                      double *next_n) {
  const double coupled = sap_contact_coupling(p, i) * p->dv_c[2][i];
  double own[3], spin[3];
  for (int r = 0; r < 3; ++r) {
    own[r] = p->gamma[r][i];
    spin[r] = p->gamma[r][i + 1];
    for (int c = 0; c < 3; ++c) {
      own[r] -= p->G[entry[r][c]][i] * p->dv_c[c][i] +
                p->torsional.cross[3 * r + c][i] * p->dv_c[c][i + 1];
      spin[r] -= p->G[entry[r][c]][i + 1] * p->dv_c[c][i + 1] +
                 p->torsional.cross[3 * c + r][i] * p->dv_c[c][i];
    }
  }
  next_t[0] = own[0] - coupled * p->contact.slip[0][i];
  next_t[1] = own[1] - coupled * p->contact.slip[1][i];
  for (int r = 0; r < 3; ++r) {
    next_t[2 + r] = sap_torsional_unscale(p->torsional.scale[r][i], spin[r]) -
                    coupled * p->torsional.slip[r][i];
  }
  *next_n = own[2] > 0 ? own[2] : 0;
}

/* Returns b at the full step: of the cone, of Coulomb's law, or unchanged for lagged friction. */
INLINE double next_bound(const struct sap_pool *p, int32_t i) {
  return p->friction == SAP_FRICTION_LAGGED ? p->contact.bound[i]
                                            : p->contact.mu[i] * p->dual[2][i];
}

static void predict(struct sap_pool *pool, int32_t begin, int32_t end) {
  const struct sap_pool *p = pool;
  for (int32_t i = begin; i < end; i += 2) {
    double next_t[SAP_TORSIONAL];
    linearize(p, i, next_t, &p->dual[2][i]);
    /* w = gamma_t'/max(b', |gamma_t'|) */
    const double length = sqrt(sap_torsional_dot(next_t, next_t)), bound = next_bound(p, i);
    const double divisor = bound > length ? bound : length;
    const double inverse = divisor > 0 ? 1 / divisor : 0;
    p->dual[0][i] = inverse * next_t[0];
    p->dual[1][i] = inverse * next_t[1];
    for (int r = 0; r < 3; ++r) {
      p->dual[r][i + 1] = inverse * next_t[2 + r];
    }
  }
}

static void blend(struct sap_pool *pool, int32_t begin, int32_t end) {
  const struct sap_pool *p = pool;
  const int cone = p->friction == SAP_FRICTION_CONVEX;
  for (int32_t i = begin; i < end; i += 2) {
    double t[SAP_TORSIONAL];
    load_slip(p, i, t);
    if (!(sap_torsional_dot(t, t) > 0)) {
      continue;
    }
    const double w[SAP_TORSIONAL] = {p->dual[0][i], p->dual[1][i], p->dual[0][i + 1],
                                     p->dual[1][i + 1], p->dual[2][i + 1]};
    double m[SAP_TORSIONAL];
    for (int k = 0; k < SAP_TORSIONAL; ++k) {
      m[k] = 0.5 * (t[k] + w[k]);
    }
    const struct sap_radial law = sap_torsional_get(p, cone, i);
    const struct sap_torsional_state at = sap_torsional_state(p, &law, i);
    /* (1/R_t) min((b + b')/(2 y_r), 1) */
    const double b = cone ? law.contact.mu * at.radial.gamma_n : law.b;
    const double friction = 0.5 * (b + next_bound(p, i)), y_r = at.radial.y_r;
    const double across = law.contact.inverse_R_t * (friction < y_r ? friction / y_r : 1);
    const double along = cone ? law.contact.mu * law.contact.mu * p->G[SAP_G_NN][i] : 0;
    store_tangential(p, i, along, across, t, m);
  }
}

const struct sap_law_loops SAP_OF_ISA(sap_torsional_loops_);
const struct sap_law_loops SAP_OF_ISA(sap_torsional_loops_) = {derive, evaluate, line,  predict,
                                                               blend,  couple,   depart};
