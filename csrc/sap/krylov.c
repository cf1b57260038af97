#include "sap/krylov.h"

#include <math.h>
#include <string.h>

/* x^T diag(A) y */
static double product(const struct sap_workspace *w, const struct sap_island *island,
                      const double *x, const double *y) {
  return w->plan->vectors->inner(island->scalar_begin, island->scalar_end, w->diagonal, x, y);
}

/* y += a x */
static void add(const struct sap_workspace *w, const struct sap_island *island, double a,
                const double *x, double *y) {
  w->plan->vectors->advance(island->scalar_begin, island->scalar_end, a, x, y);
}

static void scale(const struct sap_island *island, double a, const double *x, double *y) {
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    y[i] = a * x[i];
  }
}

/* x_c <- U x_c; returns how many contacts slide and touch: of others, and of other laws, it is 0 */
static int32_t couple(const struct sap_workspace *w, const struct sap_island *island,
                      double *const x_c[3]) {
  int32_t n = 0;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t begin = island->law_begin[law], end = island->law_begin[law + 1];
    if (w->plan->laws[law]->couple) {
      n += w->plan->laws[law]->couple(&w->pool, begin, end, x_c);
      continue;
    }
    for (int r = 0; r < 3; ++r) {
      memset(x_c[r] + begin, 0, (size_t)(end - begin) * sizeof(double));
    }
  }
  return n;
}

/* y = H^-1 J^T U J x */
static void apply(struct sap_workspace *w, const struct sap_island *island, const double *x,
                  double *y) {
  double *const *x_c = w->pool.dv_c;
  w->plan->jacobian_loops->multiply(&w->J, island, x, x_c);
  if (couple(w, island, x_c) == 0) {
    scale(island, 0, x, y);
    return;
  }
  w->plan->jacobian_loops->multiply_transposed(&w->J, island, x_c, y);
  sap_factor_solve(&w->plan->factor, island->index, y);
}

/* turns the plane of entries k and k+1 of a column of the Hessenberg matrix */
static void rotate(const double turn[2], double *h) {
  const double a = h[0], b = h[1];
  h[0] = turn[0] * a + turn[1] * b;
  h[1] = turn[0] * b - turn[1] * a;
}

void sap_couple_direction(struct sap_workspace *w, const struct sap_island *island) {
  static const double enough = 1e-2;
  double *q[SAP_KRYLOV + 1];
  double R[SAP_KRYLOV][SAP_KRYLOV + 2]; /* by column: triangular once its rotations are done */
  double turn[SAP_KRYLOV][2], s[SAP_KRYLOV + 1], y[SAP_KRYLOV];
  for (int k = 0; k <= SAP_KRYLOV; ++k) {
    q[k] = w->krylov + (size_t)k * (size_t)w->plan->graph.tree.n_scalars;
  }
  const double begin = sqrt(product(w, island, w->dv, w->dv));
  if (!(begin > 0 && begin < INFINITY)) {
    return;
  }
  scale(island, 1 / begin, w->dv, q[0]);
  s[0] = begin;
  int n = 0;
  while (n < SAP_KRYLOV && fabs(s[n]) > enough * begin) {
    double *h = R[n], *next = q[n + 1];
    apply(w, island, q[n], next);
    add(w, island, 1, q[n], next);
    for (int k = 0; k <= n; ++k) {
      h[k] = product(w, island, q[k], next);
      add(w, island, -h[k], q[k], next);
    }
    h[n + 1] = sqrt(product(w, island, next, next));
    scale(island, h[n + 1] > 0 ? 1 / h[n + 1] : 0, next, next);
    for (int k = 0; k < n; ++k) {
      rotate(turn[k], h + k);
    }
    const double length = hypot(h[n], h[n + 1]);
    if (!(length > 0 && length < INFINITY)) {
      break;
    }
    turn[n][0] = h[n] / length;
    turn[n][1] = h[n + 1] / length;
    rotate(turn[n], h + n);
    s[n + 1] = 0;
    rotate(turn[n], s + n);
    ++n;
  }
  if (n == 0) {
    return; /* overflow */
  }
  for (int k = n - 1; k >= 0; --k) {
    y[k] = s[k];
    for (int l = k + 1; l < n; ++l) {
      y[k] -= R[l][k] * y[l];
    }
    y[k] /= R[k][k];
  }
  scale(island, y[0], q[0], w->dv);
  for (int k = 1; k < n; ++k) {
    add(w, island, y[k], q[k], w->dv);
  }
}
