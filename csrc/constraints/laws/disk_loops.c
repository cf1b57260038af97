/* This file is compiled once per instruction set. */
#include "constraints/laws/disk.h"
#include "constraints/laws/contact_rounds.h"

extern const struct sap_law_loops SAP_OF_ISA(sap_contact_loops_);

static int derive(struct sap_pool *pool, int32_t begin, int32_t end) {
  return SAP_OF_ISA(sap_contact_loops_).derive(pool, begin, end) &&
         sap_pool_bounds_hold(pool, begin, end);
}

/* Finds y, and the bounds if they follow it. */
static void find_impulses(struct sap_pool *pool, int32_t first, int32_t n) {
  sap_contact_find_y(pool, first, n);
  const double *restrict mu = pool->contact.mu, *restrict y_n = pool->y[2];
  double *restrict bound = pool->contact.bound;
  for (int32_t i = first; pool->friction == SAP_FRICTION_COULOMB && i < first + n; ++i) {
    bound[i] = y_n[i] > 0 ? mu[i] * y_n[i] : 0;
  }
}

static double evaluate(struct sap_pool *pool, int32_t begin, int32_t end) {
  if (pool->friction == SAP_FRICTION_CONVEX) {
    return SAP_OF_ISA(sap_contact_loops_).evaluate(pool, begin, end);
  }
  double total = 0;
  for (int32_t first = begin; first < end; first += SAP_ROUND) {
    const int32_t n = sap_round(first, end);
    double cost[SAP_ROUND], code[SAP_ROUND];
    find_impulses(pool, first, n);
    const struct sap_pool p = *pool;
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      const struct sap_contact c = sap_pool_get(&p, i);
      const double b = p.contact.bound[i];
      const struct sap_contact_state at =
          sap_disk_at_impulse(&c, b, p.y[0][i], p.y[1][i], p.y[2][i]);
      double g[3], G[SAP_G_ENTRIES];
      sap_disk_impulse(&at, b, g);
      sap_disk_hessian(&c, &at, b, G);
      cost[k] = sap_disk_cost(&c, &at, b);
      code[k] = at.sticks ? SAP_STICTION : at.slides ? SAP_SLIDING : SAP_NO_CONTACT;
      sap_contact_store(&p, i, &at, g, G);
    }
    for (int32_t k = 0; k < n; ++k) {
      pool->contact.region[first + k] = (int8_t)code[k];
    }
    total += sap_sum_round(cost, n);
  }
  return total;
}

static void line(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha,
                 double *slope, double *curvature) {
  if (pool->friction == SAP_FRICTION_CONVEX) {
    SAP_OF_ISA(sap_contact_loops_).line(pool, begin, end, alpha, slope, curvature);
    return;
  }
  const struct sap_pool p = *pool;
  *slope = *curvature = 0;
  for (int32_t first = begin; first < end; first += SAP_ROUND) {
    const int32_t n = sap_round(first, end);
    double slopes[SAP_ROUND], curvatures[SAP_ROUND];
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      const struct sap_contact c = sap_pool_get(&p, i);
      const double b = p.contact.bound[i];
      const double dv_1 = p.dv_c[0][i], dv_2 = p.dv_c[1][i], dv_n = p.dv_c[2][i];
      const struct sap_contact_state at = sap_disk_at_impulse(
          &c, b, p.y[0][i] - alpha * (dv_1 * c.inverse_R_t),
          p.y[1][i] - alpha * (dv_2 * c.inverse_R_t), p.y[2][i] - alpha * (dv_n * c.inverse_R_n));
      double gamma[3];
      sap_disk_impulse(&at, b, gamma);
      slopes[k] = -(dv_1 * gamma[0] + dv_2 * gamma[1] + dv_n * gamma[2]);
      curvatures[k] = sap_disk_curvature(&c, &at, b, dv_1, dv_2, dv_n);
    }
    *slope += sap_sum_round(slopes, n);
    *curvature += sap_sum_round(curvatures, n);
  }
}

static int32_t couple(const struct sap_pool *pool, int32_t begin, int32_t end,
                      double *const x_c[3]) {
  const struct sap_pool p = *pool;
  int32_t n = 0;
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    const double t_1 = p.contact.slip[0][i], t_2 = p.contact.slip[1][i];
    const double share = sap_contact_coupling(&p, i), x = share * x_c[2][i];
    n += share * (fabs(t_1) + fabs(t_2)) > 0;
    x_c[0][i] = t_1 * x;
    x_c[1][i] = t_2 * x;
    x_c[2][i] = 0;
  }
  return n;
}

static void depart(const struct sap_pool *pool, int32_t begin, int32_t end,
                   double *const gamma[3]) {
  const struct sap_pool p = *pool;
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_contact c = sap_pool_get(&p, i);
    const double b = p.y[2][i] > 0 ? c.mu * p.y[2][i] : 0;
    const struct sap_contact_state at = sap_disk_at_impulse(&c, b, p.y[0][i], p.y[1][i], p.y[2][i]);
    double g[3];
    sap_disk_impulse(&at, b, g);
    gamma[0][i] = g[0] - p.gamma[0][i];
    gamma[1][i] = g[1] - p.gamma[1][i];
    gamma[2][i] = 0;
  }
}

/* Returns the bound b' at the full step. */
INLINE double next_bound(const struct sap_pool *p, int32_t i) {
  return p->friction == SAP_FRICTION_COULOMB ? p->contact.mu[i] * p->dual[2][i]
                                             : p->contact.bound[i];
}

static void predict(struct sap_pool *pool, int32_t begin, int32_t end) {
  if (pool->friction == SAP_FRICTION_CONVEX) {
    SAP_OF_ISA(sap_contact_loops_).predict(pool, begin, end);
    return;
  }
  const struct sap_pool p = *pool;
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    double next[3];
    sap_pool_linearize(&p, i, next);
    const double coupled = sap_contact_coupling(&p, i) * p.dv_c[2][i];
    const double gamma_1 = next[0] - coupled * p.contact.slip[0][i];
    const double gamma_2 = next[1] - coupled * p.contact.slip[1][i];
    p.dual[2][i] = next[2] > 0 ? next[2] : 0;
    sap_contact_store_dual(&p, i, gamma_1, gamma_2, next_bound(&p, i));
  }
}

static void blend(struct sap_pool *pool, int32_t begin, int32_t end) {
  if (pool->friction == SAP_FRICTION_CONVEX) {
    SAP_OF_ISA(sap_contact_loops_).blend(pool, begin, end);
    return;
  }
  const struct sap_pool p = *pool;
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    const double y_r = sqrt(p.y[0][i] * p.y[0][i] + p.y[1][i] * p.y[1][i] + p.soft);
    /* (1/R_t) min((b + b')/(2 y_r), 1) */
    const double friction = 0.5 * (p.contact.bound[i] + next_bound(&p, i));
    const double across = p.contact.inverse_R_t[i] * (friction < y_r ? friction / y_r : 1);
    sap_pool_turn(&p, i, 0, across);
  }
}

const struct sap_law_loops SAP_OF_ISA(sap_disk_loops_);
const struct sap_law_loops SAP_OF_ISA(sap_disk_loops_) = {derive, evaluate, line,  predict,
                                                          blend,  couple,   depart};
