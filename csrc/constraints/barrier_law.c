#include "constraints/barrier_law.h"

#include <float.h>

#include "constraints/contact_law.h"
#include "constraints/barrier.h"

static struct sap_barrier_shape barrier_of(const struct sap_pool *p, int32_t i) {
  const double lambda = p->barrier_lambda[i];
  return (struct sap_barrier_shape){lambda > 0 ? SAP_BARRIER_EXP : SAP_BARRIER_LOG,
                                    p->inverse_kappa[i], lambda};
}

static struct sap_contact_state state_of(const struct sap_pool *p, int32_t i,
                                         const struct sap_contact *contact) {
  return sap_contact_at_impulse(contact, p->y[0][i], p->y[1][i], p->y[2][i]);
}

/* sqrt(2 l_0/kappa) at y, with the given 1/kappa */
static double distance_of(const struct sap_pool *p, int32_t i, double inverse_kappa) {
  const struct sap_contact contact = sap_pool_get(p, i);
  const struct sap_contact_state at = state_of(p, i, &contact);
  return sqrt(2 * sap_contact_cost(&contact, &at) * inverse_kappa);
}

double sap_barriers_difference(const struct sap_pool *p, int32_t begin, int32_t end, double alpha) {
  double sum = 0;
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_barrier_shape barrier = barrier_of(p, i);
    double l_0, l_alpha;
    const double difference = sap_contact_difference(p, i, alpha, &l_0, &l_alpha);
    sum += sap_barrier_cost_difference(&barrier, l_0, l_alpha, difference);
  }
  return sum;
}

void sap_barriers_stick(struct sap_pool *p, int32_t begin, int32_t end) {
  sap_contacts_stick(p, begin, end);
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_barrier_shape barrier = barrier_of(p, i);
    const double phi = sap_barrier_at(&barrier, distance_of(p, i, barrier.inverse_kappa)).phi;
    p->G[SAP_G_11][i] *= phi;
    p->G[SAP_G_22][i] *= phi;
    p->G[SAP_G_NN][i] *= phi;
    for (int r = 0; r < 3; ++r) {
      p->gamma[r][i] *= phi;
    }
  }
}

/* What contact_law.c bounds for the compliant law, times the Lipschitz constant b'' = phi + s phi'
 * of gamma_b at the largest s that the errors allow. Errors of s by round-off count as errors of
 * y. */
void sap_barriers_bound(struct sap_pool *p, int32_t begin, int32_t end, double velocity_error,
                        double impulse_error) {
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_contact c = sap_pool_get(p, i);
    const struct sap_barrier_shape barrier = barrier_of(p, i);
    const struct sap_contact_state at = state_of(p, i, &c);
    double dy_R = 0;
    for (int r = 0; r < 3; ++r) {
      const double error = velocity_error * p->dv_c[r][i] +
                           4 * DBL_EPSILON * (fabs(p->v_c[r][i]) + fabs(c.v_hat[r]));
      dy_R += error * error * (r < 2 ? c.inverse_R_t : c.inverse_R_n);
    }
    const double cost = sap_contact_cost(&c, &at), s = sqrt(2 * cost * barrier.inverse_kappa);
    const double error = sqrt(dy_R) + 16 * DBL_EPSILON * sqrt(2 * cost);
    const double furthest = s + error * sqrt(barrier.inverse_kappa);
    const struct sap_barrier_factors f = sap_barrier_at(&barrier, furthest);
    const double expanded = (f.phi + f.rise) * error;
    for (int r = 0; r < 3; ++r) {
      p->dv_c[r][i] = expanded * sqrt(r < 2 ? c.inverse_R_t : c.inverse_R_n) +
                      (16 * DBL_EPSILON + impulse_error) * fabs(p->gamma[r][i]);
    }
  }
}

/* (25) with g = v_c - v_hat + R gamma_0, which is orthogonal to gamma_b = phi gamma_0 */
double sap_barriers_complementarity(const struct sap_pool *p, int32_t begin, int32_t end) {
  double sum = 0;
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_contact c = sap_pool_get(p, i);
    const struct sap_contact_state at = state_of(p, i, &c);
    double gamma_0[3], product = 0;
    sap_contact_impulse(&c, &at, gamma_0);
    for (int r = 0; r < 3; ++r) {
      const double R = r < 2 ? c.R_t : c.R_n;
      product += (p->v_c[r][i] - c.v_hat[r] + R * gamma_0[r]) * p->gamma[r][i];
    }
    sum += fabs(product);
  }
  return sum;
}

double sap_barriers_wall(const struct sap_pool *p, int32_t begin, int32_t end, double alpha) {
  double wall = alpha;
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_contact c = sap_pool_get(p, i);
    const struct sap_barrier_shape barrier = barrier_of(p, i);
    const double dv[3] = {p->dv_c[0][i], p->dv_c[1][i], p->dv_c[2][i]};
    const struct sap_contact_state at = sap_pool_at(p, i, &c, alpha);
    const double s = sqrt(2 * sap_contact_cost(&c, &at) * barrier.inverse_kappa);
    const double most = sap_barrier_most(&barrier);
    if (s <= most) {
      continue;
    }
    /* ds/dalpha = -dv_c^T gamma_0/(kappa s) */
    double gamma_0[3];
    sap_contact_impulse(&c, &at, gamma_0);
    const double slope = -(dv[0] * gamma_0[0] + dv[1] * gamma_0[1] + dv[2] * gamma_0[2]) *
                         (barrier.inverse_kappa / s);
    const double newton = alpha - (s - most) / slope;
    /* at least by round-off; after overflow anything shorter will do */
    const double found =
        newton > 0 && newton <= alpha ? fmin(newton, (1 - 0x1p-33) * alpha) : 0.5 * alpha;
    wall = found < wall ? found : wall;
  }
  return wall;
}

int32_t sap_barriers_fit(struct sap_pool *p, int32_t begin, int32_t end, double least) {
  int32_t raised = 0;
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_barrier_shape barrier = barrier_of(p, i);
    const double most = sap_barrier_most(&barrier);
    const double s = distance_of(p, i, 1 / p->kappa_given[i]);
    const double factor = s <= least * most ? least : s / (0.9 * fmin(most, 1));
    p->kappa[i] = p->kappa_given[i] * factor * factor;
    p->inverse_kappa[i] = 1 / p->kappa[i];
    raised += factor > 1;
  }
  return raised;
}
