#include "solver/coulomb/arnoldi.h"

#include <math.h>

void sap_arnoldi_begin(struct sap_arnoldi *k, const struct sap_island *island, double length,
                       const double *r, double *const *q) {
  sap_island_scale(island, 1 / length, r, q[0]);
  k->n = 0;
  k->t[0] = length;
}

/* Rotates the plane of two successive entries h of a column. */
static void rotate(const double turn[2], double *h) {
  const double a = h[0], b = h[1];
  h[0] = turn[0] * a + turn[1] * b;
  h[1] = turn[0] * b - turn[1] * a;
}

int sap_arnoldi_advance(struct sap_arnoldi *k, const struct sap_workspace *w,
                        const struct sap_island *island, double *const *q) {
  const int n = k->n;
  double *h = k->R[n], *next = q[n + 1];
  for (int i = 0; i <= n; ++i) {
    h[i] = sap_island_inner(w, island, q[i], next);
    sap_island_add(w, island, -h[i], q[i], next);
  }
  h[n + 1] = sqrt(sap_island_inner(w, island, next, next));
  sap_island_scale(island, h[n + 1] > 0 ? 1 / h[n + 1] : 0, next, next);

  for (int i = 0; i < n; ++i) {
    rotate(k->turn[i], h + i);
  }
  const double pivot = hypot(h[n], h[n + 1]);
  if (!(pivot > 0 && pivot < INFINITY)) {
    return 0;
  }
  k->turn[n][0] = h[n] / pivot;
  k->turn[n][1] = h[n + 1] / pivot;
  rotate(k->turn[n], h + n);
  k->t[n + 1] = 0;
  rotate(k->turn[n], k->t + n);
  ++k->n;
  return 1;
}

void sap_arnoldi_solve(const struct sap_arnoldi *k, double *y) {
  for (int i = k->n - 1; i >= 0; --i) {
    y[i] = k->t[i];
    for (int j = i + 1; j < k->n; ++j) {
      y[i] -= k->R[j][i] * y[j];
    }
    y[i] /= k->R[i][i];
  }
}
