#include "constraints/contact_pool.h"

/* compiled once per instruction set: SAP_ISA names the table */
#ifndef SAP_ISA
#define SAP_ISA baseline
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

/* contacts per round: their intermediate results stay in the first-level cache */
enum { ROUND = 64, LANES = 8 };

/* sum of n <= ROUND terms in LANES partial sums, in an order that does not depend on the compiler */
static double sum_of(const double *x, int32_t n) {
  double lane[LANES] = {0};
  int32_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (int k = 0; k < LANES; ++k) {
      lane[k] += x[i + k];
    }
  }
  double sum = 0;
  for (int k = 0; k < LANES; ++k) {
    sum += lane[k];
  }
  for (; i < n; ++i) {
    sum += x[i];
  }
  return sum;
}

static double law(struct sap_contact_pool *pool, int32_t begin, int32_t end, const double *v_c,
                  double *gamma) {
  double total = 0;
  for (int32_t first = begin; first < end; first += ROUND) {
    const int32_t n = end - first < ROUND ? end - first : ROUND;
    double cost[ROUND], impulse[3][ROUND], code[ROUND];
    for (int r = 0; r < 3; ++r) {
      const double *restrict inverse_R = r < 2 ? pool->inverse_R_t : pool->inverse_R_n;
      double *restrict y = pool->y[r];
      const double *restrict v_hat = pool->v_hat[r];
      for (int32_t i = first; i < first + n; ++i) {
        y[i] = (v_hat[i] - v_c[3 * (int64_t)i + r]) * inverse_R[i];
      }
    }
    const struct sap_contact_pool p = *pool;
#pragma GCC ivdep
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
      p.slip[0][i] = at.t[0];
      p.slip[1][i] = at.t[1];
      for (int r = 0; r < 3; ++r) {
        impulse[r][k] = g[r];
      }
      for (int e = 0; e < SAP_G_ENTRIES; ++e) {
        p.G[e][i] = G[e];
      }
    }
    for (int32_t k = 0; k < n; ++k) {
      for (int r = 0; r < 3; ++r) {
        gamma[3 * (int64_t)(first + k) + r] = impulse[r][k];
      }
      pool->region[first + k] = (int8_t)code[k];
    }
    total += sum_of(cost, n);
  }
  return total;
}

static void line(const struct sap_contact_pool *pool, int32_t begin, int32_t end, double alpha,
                 double *slope, double *curvature) {
  const struct sap_contact_pool p = *pool;
  *slope = *curvature = 0;
  for (int32_t first = begin; first < end; first += ROUND) {
    const int32_t n = end - first < ROUND ? end - first : ROUND;
    double slopes[ROUND], curvatures[ROUND];
#pragma GCC ivdep
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      const struct sap_contact c = sap_pool_get(&p, i);
      const double dy_1 = p.dy[0][i], dy_2 = p.dy[1][i], dy_n = p.dy[2][i];
      const struct sap_contact_state at = sap_contact_at_impulse(
          &c, p.y[0][i] + alpha * dy_1, p.y[1][i] + alpha * dy_2, p.y[2][i] + alpha * dy_n);
      double gamma[3];
      sap_contact_impulse(&c, &at, gamma);
      /* dv_c = -R dy */
      slopes[k] = c.R_t * (dy_1 * gamma[0] + dy_2 * gamma[1]) + c.R_n * dy_n * gamma[2];
      curvatures[k] = sap_contact_curvature(&c, &at, c.R_t * dy_1, c.R_t * dy_2, c.R_n * dy_n);
    }
    *slope += sum_of(slopes, n);
    *curvature += sum_of(curvatures, n);
  }
}

const struct sap_pool_loops JOIN(sap_pool_loops_, SAP_ISA);
const struct sap_pool_loops JOIN(sap_pool_loops_, SAP_ISA) = {law, line};
