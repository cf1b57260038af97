#include "constraints/contact.h"

#include <stddef.h>

double sap_contact_cost_difference(const struct sap_contact *c, const struct sap_contact_state *a,
                                   const struct sap_contact_state *b, const double dy[3]) {
  const int both_stick = a->sticks && b->sticks, both_slide = a->slides && b->slides;
  if (!both_stick && !both_slide) {
    return sap_contact_cost(c, b) - sap_contact_cost(c, a);
  }
  /* x_b^2 - x_a^2 = (x_b - x_a)(x_b + x_a), for y_t first */
  const double y_t2 = dy[0] * (b->y[0] + a->y[0]) + dy[1] * (b->y[1] + a->y[1]);
  if (both_stick) {
    return 0.5 * (c->R_t * y_t2 + c->R_n * dy[2] * (b->y[2] + a->y[2]));
  }
  const double y_r_sum = b->y_r + a->y_r;
  const double s = dy[2] + (y_r_sum > 0 ? c->mu_hat * y_t2 / y_r_sum : 0);
  return 0.5 * c->R_n * s * (b->gamma_n + a->gamma_n);
}

void sap_project(int64_t n, const double *y, const double *mu, const double *R_t, const double *R_n,
                 double soft_norm, double *gamma, double *G, double *cost, int8_t *region) {
  for (int64_t i = 0; i < n; ++i) {
    const struct sap_contact c = sap_contact_make(mu[i], R_t[i], R_n[i], soft_norm, 0, 0, 0);
    const struct sap_contact_state at =
        sap_contact_at_impulse(&c, y[3 * i], y[3 * i + 1], y[3 * i + 2]);
    if (gamma) {
      sap_contact_impulse(&c, &at, gamma + 3 * i);
    }
    if (G) {
      double g[SAP_G_ENTRIES];
      sap_contact_hessian(&c, &at, g);
      const int entry[9] = {SAP_G_11, SAP_G_12, SAP_G_1N, SAP_G_12, SAP_G_22,
                            SAP_G_2N, SAP_G_1N, SAP_G_2N, SAP_G_NN};
      for (int k = 0; k < 9; ++k) {
        G[9 * i + k] = g[entry[k]];
      }
    }
    if (cost) {
      cost[i] = sap_contact_cost(&c, &at);
    }
    if (region) {
      region[i] = sap_contact_region(&at);
    }
  }
}
