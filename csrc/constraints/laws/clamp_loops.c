/* compiled once per instruction set */
#include <float.h>
#include <math.h>

#include "constraints/laws/clamp.h"
#include "constraints/laws.h"
#include "constraints/sums.h"

static int derive(struct sap_pool *pool, int32_t begin, int32_t end) {
  double wrong = 0;
  for (int r = 0; r < 3; ++r) {
    const double *R = pool->clamp.R[r], *v_hat = pool->v_hat[r];
    const double *lower = pool->clamp.lower[r], *upper = pool->clamp.upper[r];
    double *inverse_R = pool->clamp.inverse_R[r];
    for (int32_t i = begin; i < end; ++i) {
      inverse_R[i] = 1 / R[i];
      /* 0 x is 0 where x is finite */
      const double zero = 0 * R[i] + 0 * inverse_R[i] + 0 * v_hat[i];
      wrong += ((R[i] > 0) & (zero == 0) & (lower[i] <= upper[i]) & (lower[i] <= DBL_MAX) &
                (upper[i] >= -DBL_MAX))
                   ? 0
                   : 1;
    }
  }
  const int off_diagonal[] = {SAP_G_12, SAP_G_1N, SAP_G_2N};
  for (int e = 0; e < 3; ++e) {
    for (int32_t i = begin; i < end; ++i) {
      pool->G[off_diagonal[e]][i] = 0;
    }
  }
  return wrong == 0;
}

static const int diagonal[3] = {SAP_G_11, SAP_G_22, SAP_G_NN};

static double evaluate(struct sap_pool *pool, int32_t begin, int32_t end) {
  double total = 0;
  for (int r = 0; r < 3; ++r) {
    const double *inverse_R = pool->clamp.inverse_R[r], *R = pool->clamp.R[r];
    const double *lower = pool->clamp.lower[r], *upper = pool->clamp.upper[r];
    const double *v_hat = pool->v_hat[r], *v_c = pool->v_c[r];
    double *y = pool->y[r], *gamma = pool->gamma[r], *G = pool->G[diagonal[r]];
    for (int32_t first = begin; first < end; first += SAP_ROUND) {
      const int32_t n = sap_round(first, end);
      double cost[SAP_ROUND];
      INDEPENDENT
      for (int32_t k = 0; k < n; ++k) {
        const int32_t i = first + k;
        y[i] = (v_hat[i] - v_c[i]) * inverse_R[i];
        gamma[i] = sap_clamp_impulse(y[i], lower[i], upper[i]);
        G[i] = sap_clamp_is_free(y[i], gamma[i], lower[i], upper[i]) ? inverse_R[i] : 0;
        cost[k] = sap_clamp_cost(R[i], y[i], gamma[i]);
      }
      total += sap_sum_round(cost, n);
    }
  }
  return total;
}

static void line(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha,
                 double *slope, double *curvature) {
  *slope = *curvature = 0;
  for (int r = 0; r < 3; ++r) {
    const double *inverse_R = pool->clamp.inverse_R[r], *y_0 = pool->y[r], *dv_c = pool->dv_c[r];
    const double *lower = pool->clamp.lower[r], *upper = pool->clamp.upper[r];
    for (int32_t first = begin; first < end; first += SAP_ROUND) {
      const int32_t n = sap_round(first, end);
      double slopes[SAP_ROUND], curvatures[SAP_ROUND];
      INDEPENDENT
      for (int32_t k = 0; k < n; ++k) {
        const int32_t i = first + k;
        const double dy = dv_c[i] * inverse_R[i], y = y_0[i] - alpha * dy;
        const double gamma = sap_clamp_impulse(y, lower[i], upper[i]);
        slopes[k] = -dv_c[i] * gamma;
        curvatures[k] = sap_clamp_is_free(y, gamma, lower[i], upper[i]) ? dv_c[i] * dy : 0;
      }
      *slope += sap_sum_round(slopes, n);
      *curvature += sap_sum_round(curvatures, n);
    }
  }
}

/* c and b of direction.h; b = 0 where a bound is infinite, which leaves the row alone */
static inline double middle_of(double lower, double upper) {
  return upper - lower <= DBL_MAX ? 0.5 * (lower + upper) : 0;
}

static inline double half_of(double lower, double upper) {
  return upper - lower <= DBL_MAX ? 0.5 * (upper - lower) : 0;
}

static void predict(struct sap_pool *pool, int32_t begin, int32_t end) {
  for (int r = 0; r < 3; ++r) {
    const double *gamma = pool->gamma[r], *G = pool->G[diagonal[r]], *dv_c = pool->dv_c[r];
    const double *lower = pool->clamp.lower[r], *upper = pool->clamp.upper[r];
    double *dual = pool->dual[r];
    INDEPENDENT
    for (int32_t i = begin; i < end; ++i) {
      /* gamma' = gamma - G dv_c,  w = (gamma' - c)/max(b, |gamma' - c|) */
      const double next = gamma[i] - G[i] * dv_c[i] - middle_of(lower[i], upper[i]);
      const double b = half_of(lower[i], upper[i]), size = fabs(next);
      const double divisor = size > b ? size : b;
      dual[i] = divisor > 0 ? next / divisor : 0;
    }
  }
}

static void blend(struct sap_pool *pool, int32_t begin, int32_t end) {
  for (int r = 0; r < 3; ++r) {
    const double *y = pool->y[r], *gamma = pool->gamma[r], *inverse_R = pool->clamp.inverse_R[r];
    const double *lower = pool->clamp.lower[r], *upper = pool->clamp.upper[r],
                 *dual = pool->dual[r];
    double *G = pool->G[diagonal[r]];
    INDEPENDENT
    for (int32_t i = begin; i < end; ++i) {
      /* beyond a bound: (1/R) b/|y - c| (1 - m^2),  m = (t + w)/2 */
      const double b = half_of(lower[i], upper[i]), x = y[i] - middle_of(lower[i], upper[i]);
      const double m = 0.5 * ((x > 0 ? 1 : -1) + dual[i]);
      const double beyond = inverse_R[i] * (b / fabs(x)) * (1 - m * m);
      G[i] = gamma[i] != y[i] && b > 0 ? beyond : G[i];
    }
  }
}

const struct sap_law_loops SAP_OF_ISA(sap_clamp_loops_);
const struct sap_law_loops SAP_OF_ISA(sap_clamp_loops_) = {derive, evaluate, line, predict,
                                                           blend,  NULL,     NULL};
