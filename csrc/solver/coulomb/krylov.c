#include "solver/coulomb/krylov.h"

#include <math.h>
#include <string.h>

#include "solver/coulomb/arnoldi.h"
#include "solver/solver_tuning.h"

/* Computes x_c <- U x_c. Returns the number of contacts that slide and touch; U of others is 0. */
static int32_t couple(struct sap_workspace *w, const struct sap_island *island,
                      double *const x_c[3]) {
  struct sap_pool view;
  const struct sap_pool *pool = sap_pool_with(&w->pool, SAP_FRICTION_COULOMB, &view);
  int32_t n = 0;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t begin = island->law_begin[law], end = island->law_begin[law + 1];
    if (w->plan->laws[law]->couple) {
      n += w->plan->laws[law]->couple(pool, begin, end, x_c);
      continue;
    }
    for (int r = 0; r < 3; ++r) {
      memset(x_c[r] + begin, 0, (size_t)(end - begin) * sizeof(double));
    }
  }
  return n;
}

/* Computes y = H^-1 J^T U J x. */
static void apply(struct sap_workspace *w, const struct sap_island *island, const double *x,
                  double *y) {
  double *const *x_c = w->pool.dv_c;
  w->plan->jacobian_loops->multiply(&w->J, island, x, x_c);
  if (couple(w, island, x_c) == 0) {
    sap_island_scale(island, 0, x, y);
    return;
  }
  w->plan->jacobian_loops->multiply_transposed(&w->J, island, x_c, y);
  sap_factor_solve(&w->plan->factor, island->index, y);
}

void sap_couple_direction(struct sap_workspace *w, const struct sap_island *island) {
  struct sap_arnoldi k;
  double *q[SAP_KRYLOV + 1], y[SAP_KRYLOV];
  for (int i = 0; i <= SAP_KRYLOV; ++i) {
    q[i] = w->krylov + (size_t)i * (size_t)w->graph->tree.n_scalars;
  }
  const double length = sqrt(sap_island_inner(w, island, w->dv, w->dv));
  if (!(length > 0 && length < INFINITY)) {
    return;
  }
  sap_arnoldi_begin(&k, island, length, w->dv, q);
  while (k.n < SAP_KRYLOV && fabs(k.t[k.n]) > sap_krylov_share * length) {
    const double *last = q[k.n];
    apply(w, island, last, q[k.n + 1]);
    sap_island_add(w, island, 1, last, q[k.n + 1]);
    if (!sap_arnoldi_advance(&k, w, island, q)) {
      break;
    }
  }
  if (k.n == 0) {
    return; /* overflow */
  }
  sap_arnoldi_solve(&k, y);
  sap_island_scale(island, y[0], q[0], w->dv);
  for (int i = 1; i < k.n; ++i) {
    sap_island_add(w, island, y[i], q[i], w->dv);
  }
}
