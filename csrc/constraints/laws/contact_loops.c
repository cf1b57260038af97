/* This file is compiled once per instruction set. */
#include "constraints/laws/contact_rounds.h"

static int derive(struct sap_pool *pool, int32_t begin, int32_t end) {
  const struct sap_pool p = *pool;
  double wrong = 0;
  for (int32_t first = begin; first < end; first += SAP_ROUND) {
    const int32_t n = sap_round(first, end);
    double bad[SAP_ROUND];
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      const struct sap_contact c =
          sap_contact_make(p.contact.mu[i], p.contact.R_t[i], p.contact.R_n[i], 0, p.v_hat[0][i],
                           p.v_hat[1][i], p.v_hat[2][i]);
      p.contact.inverse_R_t[i] = c.inverse_R_t;
      p.contact.inverse_R_n[i] = c.inverse_R_n;
      p.contact.mu_hat[i] = c.mu_hat;
      p.contact.share[i] = c.share;
      /* 0 x is 0 where x is finite */
      const double zero = 0 * c.v_hat[0] + 0 * c.v_hat[1] + 0 * c.v_hat[2] + 0 * c.inverse_R_t +
                          0 * c.inverse_R_n + 0 * (1 + c.mu * c.mu_hat) + 0 * c.R_t + 0 * c.R_n;
      bad[k] = ((c.mu >= 0) & (c.R_t > 0) & (c.R_n > 0) & (zero == 0)) ? 0 : 1;
    }
    wrong += sap_sum_round(bad, n);
  }
  return wrong == 0;
}

static double evaluate(struct sap_pool *pool, int32_t begin, int32_t end) {
  double total = 0;
  for (int32_t first = begin; first < end; first += SAP_ROUND) {
    const int32_t n = sap_round(first, end);
    double cost[SAP_ROUND], code[SAP_ROUND];
    sap_contact_find_y(pool, first, n);
    const struct sap_pool p = *pool;
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      const struct sap_contact c = sap_pool_get(&p, i);
      const struct sap_contact_state at =
          sap_contact_at_impulse(&c, p.y[0][i], p.y[1][i], p.y[2][i]);
      double g[3], G[SAP_G_ENTRIES];
      sap_contact_impulse(&c, &at, g);
      sap_contact_hessian(&c, &at, G);
      cost[k] = sap_contact_cost(&c, &at);
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
  const struct sap_pool p = *pool;
  *slope = *curvature = 0;
  for (int32_t first = begin; first < end; first += SAP_ROUND) {
    const int32_t n = sap_round(first, end);
    double slopes[SAP_ROUND], curvatures[SAP_ROUND];
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      const struct sap_contact c = sap_pool_get(&p, i);
      const double dv_1 = p.dv_c[0][i], dv_2 = p.dv_c[1][i], dv_n = p.dv_c[2][i];
      const struct sap_contact_state at = sap_pool_at(&p, i, &c, alpha);
      double gamma[3];
      sap_contact_impulse(&c, &at, gamma);
      slopes[k] = -(dv_1 * gamma[0] + dv_2 * gamma[1] + dv_n * gamma[2]);
      curvatures[k] = sap_contact_curvature(&c, &at, dv_1, dv_2, dv_n);
    }
    *slope += sap_sum_round(slopes, n);
    *curvature += sap_sum_round(curvatures, n);
  }
}

static void predict(struct sap_pool *pool, int32_t begin, int32_t end) {
  const struct sap_pool p = *pool;
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    double next[3];
    sap_pool_linearize(&p, i, next);
    const double gamma_1 = next[0], gamma_2 = next[1], gamma_n = next[2] > 0 ? next[2] : 0;
    sap_contact_store_dual(&p, i, gamma_1, gamma_2, p.contact.mu[i] * gamma_n);
    p.dual[2][i] = gamma_n;
  }
}

static void blend(struct sap_pool *pool, int32_t begin, int32_t end) {
  const struct sap_pool p = *pool;
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    const double y_r = sqrt(p.y[0][i] * p.y[0][i] + p.y[1][i] * p.y[1][i] + p.soft);
    const double gamma_n = p.contact.share[i] * (p.y[2][i] + p.contact.mu_hat[i] * y_r);
    /* (1/R_t) min(mu (gamma_n + gamma_n')/(2 y_r), 1) */
    const double friction = 0.5 * p.contact.mu[i] * (gamma_n + p.dual[2][i]);
    const double across = p.contact.inverse_R_t[i] * (friction < y_r ? friction / y_r : 1);
    const double along = p.contact.mu[i] * p.contact.mu[i] * p.G[SAP_G_NN][i];
    sap_pool_turn(&p, i, along, across);
  }
}

const struct sap_law_loops SAP_OF_ISA(sap_contact_loops_);
const struct sap_law_loops SAP_OF_ISA(sap_contact_loops_) = {derive, evaluate, line, predict,
                                                             blend,  NULL,     NULL};
