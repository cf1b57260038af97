/* The parts that the hot loops of several laws of contacts share, for files that are compiled once
 * per instruction set. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_CONTACT_ROUNDS_H
#define SAPWOOD_CONSTRAINTS_LAWS_CONTACT_ROUNDS_H

#include "constraints/laws.h"
#include "constraints/sums.h"

/* Sets y = R^-1 (v_hat - v_c) of a round. */
INLINE void sap_contact_find_y(const struct sap_pool *pool, int32_t first, int32_t n) {
  for (int r = 0; r < 3; ++r) {
    const double *restrict inverse_R =
        r < 2 ? pool->contact.inverse_R_t : pool->contact.inverse_R_n;
    double *restrict y = pool->y[r];
    const double *restrict v_hat = pool->v_hat[r], *restrict v_c = pool->v_c[r];
    for (int32_t i = first; i < first + n; ++i) {
      y[i] = (v_hat[i] - v_c[i]) * inverse_R[i];
    }
  }
}

/* Stores the impulse, G and the direction of slip of a contact. */
INLINE void sap_contact_store(const struct sap_pool *p, int32_t i,
                              const struct sap_contact_state *at, const double gamma[3],
                              const double G[SAP_G_ENTRIES]) {
  p->contact.slip[0][i] = at->t[0];
  p->contact.slip[1][i] = at->t[1];
  for (int r = 0; r < 3; ++r) {
    p->gamma[r][i] = gamma[r];
  }
  for (int e = 0; e < SAP_G_ENTRIES; ++e) {
    p->G[e][i] = G[e];
  }
}

/* Stores w = gamma_t'/max(b', |gamma_t'|). */
INLINE void sap_contact_store_dual(const struct sap_pool *p, int32_t i, double gamma_1,
                                   double gamma_2, double bound) {
  const double length = sqrt(gamma_1 * gamma_1 + gamma_2 * gamma_2);
  const double divisor = bound > length ? bound : length;
  const double inverse = divisor > 0 ? 1 / divisor : 0;
  p->dual[0][i] = inverse * gamma_1;
  p->dual[1][i] = inverse * gamma_2;
}

/* Returns mu/R_n if the bound moves with v_n, which makes U_tn = (mu/R_n) t; else 0. */
INLINE double sap_contact_coupling(const struct sap_pool *p, int32_t i) {
  const int follows = (p->friction == SAP_FRICTION_COULOMB) & (p->y[2][i] > 0);
  return follows ? p->contact.mu[i] * p->contact.inverse_R_n[i] : 0;
}

#endif
