#include "constraints/clamp.h"

#include <float.h>

double sap_clamps_difference(const struct sap_pool *p, int32_t begin, int32_t end, double alpha) {
  double sum = 0;
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = begin; i < end; ++i) {
      const double lower = p->lower[r][i], upper = p->upper[r][i];
      const double y_a = p->y[r][i], dy = -alpha * (p->dv_c[r][i] * p->inverse_R[r][i]);
      const double y_b = y_a + dy;
      const double a = sap_clamp_impulse(y_a, lower, upper);
      const double b = sap_clamp_impulse(y_b, lower, upper);
      /* R int_{y_a}^{y_b} gamma dy: between the bounds, and beyond them */
      const int beyond = a == b && a != y_a && b != y_b;
      const double inside = a == y_a && b == y_b ? 0.5 * dy * (a + b) : 0.5 * (b - a) * (b + a);
      sum += p->R[r][i] * (beyond ? a * dy : inside + (b * (y_b - b) - a * (y_a - a)));
    }
  }
  return sum;
}

void sap_clamps_stick(struct sap_pool *pool, int32_t begin, int32_t end) {
  /* rows stay what they are at y */
  (void)pool, (void)begin, (void)end;
}

void sap_clamps_bound(struct sap_pool *p, int32_t begin, int32_t end, double velocity_error,
                      double impulse_error) {
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = begin; i < end; ++i) {
      /* y is known to e, and where all of y - e to y + e is beyond one bound gamma is exact */
      const double gamma = p->gamma[r][i], lower = p->lower[r][i], upper = p->upper[r][i];
      const double error = velocity_error * p->dv_c[r][i] +
                           4 * DBL_EPSILON * (fabs(p->v_c[r][i]) + fabs(p->v_hat[r][i]));
      const double e = error * p->inverse_R[r][i] + 8 * DBL_EPSILON * fabs(p->y[r][i]);
      const double above = sap_clamp_impulse(p->y[r][i] + e, lower, upper) - gamma;
      const double below = gamma - sap_clamp_impulse(p->y[r][i] - e, lower, upper);
      p->dv_c[r][i] = fmax(above, below) + impulse_error * fabs(gamma);
    }
  }
}

double sap_clamps_complementarity(const struct sap_pool *p, int32_t begin, int32_t end) {
  double sum = 0;
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = begin; i < end; ++i) {
      /* a row off its bounds has v_c - v_hat + R gamma = 0; at a bound either sign is right for one
       * side */
      const double gamma = p->gamma[r][i];
      const double residual = p->v_c[r][i] - p->v_hat[r][i] + p->R[r][i] * gamma;
      const double room = fmin(gamma - p->lower[r][i], p->upper[r][i] - gamma);
      sum += fabs(residual) * fmin(fabs(gamma), room);
    }
  }
  return sum;
}

void sap_clamp(int64_t n, const double *y, const double *R, const double *lower,
               const double *upper, double *gamma, double *G, double *cost) {
  for (int64_t i = 0; i < n; ++i) {
    const double g = sap_clamp_impulse(y[i], lower[i], upper[i]);
    if (gamma) {
      gamma[i] = g;
    }
    if (G) {
      G[i] = sap_clamp_is_free(y[i], g, lower[i], upper[i]) ? 1 / R[i] : 0;
    }
    if (cost) {
      cost[i] = sap_clamp_cost(R[i], y[i], g);
    }
  }
}
