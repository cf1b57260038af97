/* Contacts with torsional and rolling friction, from their definition and in long double: what the
 * law of torsional.h is compared with.
 *
 * Rows are (t1, t2, n) and then those about (n, t1, t2), all of them as they are, in N s and N m s:
 * R = diag(R_t, R_t, R_n, R_t (mu/mu_k)^2), and with mu_k = 0 a row that has no part in
 * anything. */
#ifndef SAPWOOD_TESTS_TORSIONAL_H
#define SAPWOOD_TESTS_TORSIONAL_H

#include <math.h>
#include <string.h>

#include "sapwood.h"

/* Friction is that of the convex cone, or bounded by b >= 0. */
struct exact_law {
  long double mu, R_t, R_n, v_hat[3], mu_k[3], b;
  int cone;
};

struct exact {
  sap_region region;
  long double cost, gamma[6], G[6][6];
};

/* Finds y_t with y_k in place of y_k mu/mu_k. Returns |y_t|. */
static inline long double exact_slips(const struct exact_law *law, const double v_c[6],
                                      long double y[6]) {
  for (int r = 0; r < 3; ++r) {
    y[r] = (law->v_hat[r] - v_c[r]) / (r < 2 ? law->R_t : law->R_n);
    y[3 + r] = -(law->mu_k[r] / law->mu) * v_c[3 + r] / law->R_t;
  }
  return sqrtl(y[0] * y[0] + y[1] * y[1] + y[3] * y[3] + y[4] * y[4] + y[5] * y[5]);
}

/* Finds l(y_r, y_n), its gradient by R^-1 and its region. */
static inline sap_region exact_radial(const struct exact_law *law, long double y_r, long double y_n,
                                      long double *cost, long double *gamma_r,
                                      long double *gamma_n) {
  const long double R_t = law->R_t, R_n = law->R_n, b = law->cone ? law->mu * y_n : law->b;
  if (law->cone && y_n + law->mu * R_t / R_n * y_r < 0) {
    *cost = *gamma_r = *gamma_n = 0;
    return SAP_NO_CONTACT;
  }
  if (law->cone && !(y_n >= 0 && y_r <= b)) {
    *gamma_n = (y_n + law->mu * R_t / R_n * y_r) / (1 + law->mu * law->mu * R_t / R_n);
    *gamma_r = law->mu * *gamma_n;
    *cost = (R_n * *gamma_n * *gamma_n + R_t * *gamma_r * *gamma_r) / 2;
    return SAP_SLIDING;
  }
  *gamma_n = y_n > 0 ? y_n : 0;
  *gamma_r = y_r < b ? y_r : b;
  *cost = (R_n * *gamma_n * *gamma_n) / 2 + R_t * *gamma_r * (y_r - *gamma_r / 2);
  return !law->cone && b == 0 && y_n <= 0 ? SAP_NO_CONTACT : y_r <= b ? SAP_STICTION : SAP_SLIDING;
}

/* Finds the impulses without G. */
static inline struct exact exact_impulse(const struct exact_law *law, const double v_c[6]) {
  struct exact at = {0};
  long double y[6], gamma_r;
  const long double y_r = exact_slips(law, v_c, y);
  at.region = exact_radial(law, y_r, y[2], &at.cost, &gamma_r, &at.gamma[2]);
  for (int r = 0; r < 6; ++r) {
    const long double scale = r < 3 ? 1 : law->mu_k[r - 3] / law->mu;
    at.gamma[r] = r == 2 ? at.gamma[2] : y_r > 0 ? scale * gamma_r * y[r] / y_r : 0;
  }
  return at;
}

/* Finds G too, by central differences; the region is 0 where these cross a border. */
static inline struct exact exact_evaluate(const struct exact_law *law, const double v_c[6]) {
  struct exact at = exact_impulse(law, v_c);
  for (int c = 0; c < 6; ++c) {
    double below[6], above[6];
    memcpy(below, v_c, sizeof below);
    memcpy(above, v_c, sizeof above);
    below[c] -= 0x1p-24;
    above[c] += 0x1p-24;
    const struct exact from = exact_impulse(law, below), to = exact_impulse(law, above);
    const int inside = from.region == to.region && from.region == at.region;
    at.region = inside ? at.region : (sap_region)0;
    for (int r = 0; r < 6; ++r) {
      at.G[r][c] = (from.gamma[r] - to.gamma[r]) * 0x1p23L;
    }
  }
  return at;
}

#endif
