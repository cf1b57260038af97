#include "constraints/laws/rigid_core.h"

struct sap_barrier_factors sap_barrier_at(const struct sap_barrier_shape *barrier, double s) {
  if (barrier->kind == SAP_BARRIER_NONE) {
    return (struct sap_barrier_factors){1, 1, 0};
  }
  if (!(s <= sap_barrier_most(barrier))) {
    const double infinite = isnan(s) ? s : INFINITY;
    return (struct sap_barrier_factors){infinite, infinite, infinite};
  }
  return barrier->kind == SAP_BARRIER_LOG   ? sap_barrier_log(s)
         : barrier->kind == SAP_BARRIER_EXP ? sap_barrier_exp(barrier->lambda * s)
                                            : sap_barrier_table_at(barrier->table, s);
}

double sap_barrier_stiffest(const struct sap_barrier_shape *barrier, double s) {
  if (barrier->kind == SAP_BARRIER_TABLE) {
    return sap_barrier_table_stiffest(barrier->table, s);
  }
  /* b'' grows with s */
  const struct sap_barrier_factors f = sap_barrier_at(barrier, s);
  return f.phi + f.rise;
}

double sap_barrier_cost_difference(const struct sap_barrier_shape *barrier, double l_a, double l_b,
                                   double difference) {
  if (barrier->kind == SAP_BARRIER_NONE) {
    return difference;
  }
  const double s_a = sqrt(2 * l_a * barrier->inverse_kappa);
  const double s_b = sqrt(2 * l_b * barrier->inverse_kappa);
  if (!(s_b <= sap_barrier_most(barrier))) {
    return isnan(s_b) ? s_b : INFINITY;
  }
  /* ds = s_b - s_a from s_b^2 - s_a^2 = 2 (l_b - l_a)/kappa */
  const double ds = s_a + s_b > 0 ? 2 * difference * barrier->inverse_kappa / (s_a + s_b) : 0;
  if (barrier->kind == SAP_BARRIER_TABLE) {
    return sap_barrier_table_difference(barrier->table, s_a, s_b, ds) / barrier->inverse_kappa;
  }
  if (barrier->kind == SAP_BARRIER_LOG) {
    /* -kappa/2 [s_b (log(1-s_b) - log(1-s_a)) + ds log(1-s_a)] */
    return -0.5 * (s_b * log1p(-ds / (1 - s_a)) + ds * log1p(-s_a)) / barrier->inverse_kappa;
  }
  /* (l_b - l_a) e^(lambda s_b) + l_a (e^(lambda s_b) - e^(lambda s_a)) */
  return difference * exp(barrier->lambda * s_b) +
         l_a * exp(barrier->lambda * s_a) * expm1(barrier->lambda * ds);
}

double sap_barrier_deepened(const struct sap_barrier_shape *barrier, double kappa, double v_hat_n,
                            double R_n) {
  const int is_log = barrier->kind == SAP_BARRIER_LOG;
  const double most = is_log ? SAP_BARRIER_START : 0.999 * sap_barrier_most(barrier);
  const double s_rest = sap_barrier_rest(v_hat_n, 1 / R_n, barrier->inverse_kappa);
  const double room = fmin(fmax(0.1 * (1 - 1 / s_rest), 1 - SAP_BARRIER_START), 0.01);
  const double scale =
      is_log ? s_rest * (1 + room) : s_rest * (barrier->lambda / SAP_BARRIER_START_EXPONENT);
  return s_rest > most ? kappa * scale * scale : kappa;
}
