/* Applies K = G + U, and solves systems with A + J^T K J.
 *
 * U is not 0 where friction follows the normal impulse: there U x_c = u x_n. Restarted GMRES (Saad
 * and Schultz 1986) solves (I + H_s^-1 J^T U J) x = H_s^-1 b, and its transpose with U^T, from the
 * factor of H_s = A + J^T G J. Without rounding it takes one vector more than contacts slide. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "solver/derivatives/linearize.h"
#include "solver/derivatives/sensitivity_object.h"
#include "solver/solver_tuning.h"

/* ---- K ---- */

/* Computes y_c = G x_c; the arrays are different. */
static void apply_symmetric(const struct sap_pool *p, int32_t begin, int32_t end,
                            double *const x_c[3], double *const y_c[3]) {
  static const int entry[3][3] = {{SAP_G_11, SAP_G_12, SAP_G_1N},
                                  {SAP_G_12, SAP_G_22, SAP_G_2N},
                                  {SAP_G_1N, SAP_G_2N, SAP_G_NN}};
  const double *x_1 = x_c[0], *x_2 = x_c[1], *x_n = x_c[2];
  for (int row = 0; row < 3; ++row) {
    const double *G_1 = p->G[entry[row][0]], *G_2 = p->G[entry[row][1]];
    const double *G_n = p->G[entry[row][2]];
    double *restrict y = y_c[row];
    for (int32_t i = begin; i < end; ++i) {
      y[i] = G_1[i] * x_1[i] + G_2[i] * x_2[i] + G_n[i] * x_n[i];
    }
  }
}

/* Adds the products with the blocks of G between the two triples of each pair. */
static void add_cross(const struct sap_pool *p, int32_t begin, int32_t end, double *const x_c[3],
                      double *const y_c[3]) {
  for (int32_t i = begin; i < end; i += 2) {
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) {
        y_c[r][i] += p->wide.cross[3 * r + c][i] * x_c[c][i + 1];
        y_c[c][i + 1] += p->wide.cross[3 * r + c][i] * x_c[r][i];
      }
    }
  }
}

/* Computes y_c += U x_c, or U^T x_c, for contacts of so many places each. */
static void add_coupling(const struct sap_sensitivity *s, int32_t begin, int32_t end,
                         int32_t places, int transposed, double *const x_c[3],
                         double *const y_c[3]) {
  for (int32_t i = begin; i < end; i += places) {
    const double x_n = x_c[2][i];
    double sum = 0;
    for (int32_t k = i; k < i + places; ++k) {
      for (int r = 0; r < 3; ++r) {
        sum += s->u[r][k] * x_c[r][k];
        y_c[r][k] += transposed ? 0 : s->u[r][k] * x_n;
      }
    }
    y_c[2][i] += transposed ? sum : 0;
  }
}

void sap_apply_slope(const struct sap_sensitivity *s, const struct sap_island *island,
                     int transposed, double *const x_c[3], double *const y_c[3]) {
  const struct sap_workspace *w = sap_sensitivity_work(s);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t begin = island->law_begin[law], end = island->law_begin[law + 1];
    const int pairs = sap_laws[law]->takes_pairs;
    apply_symmetric(&w->pool, begin, end, x_c, y_c);
    if (pairs) {
      add_cross(&w->pool, begin, end, x_c, y_c);
    }
    if (s->n_coupled[island->index] > 0) {
      add_coupling(s, begin, end, 1 + pairs, transposed, x_c, y_c);
    }
  }
}

void sap_apply_coupling(const struct sap_sensitivity *s, const struct sap_island *island,
                        int transposed, double *const x_c[3]) {
  double *const *y_c = sap_sensitivity_work(s)->pool.dual;
  for (int r = 0; r < 3; ++r) {
    memset(y_c[r] + island->triple_begin, 0,
           sizeof(double) * (size_t)(island->triple_end - island->triple_begin));
  }
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    add_coupling(s, island->law_begin[law], island->law_begin[law + 1],
                 1 + sap_laws[law]->takes_pairs, transposed, x_c, y_c);
  }
  for (int r = 0; r < 3; ++r) {
    memcpy(x_c[r] + island->triple_begin, y_c[r] + island->triple_begin,
           sizeof(double) * (size_t)(island->triple_end - island->triple_begin));
  }
}

/* ---- GMRES ---- */

/* Computes y = x + H_s^-1 J^T U J x. */
static void apply(struct sap_sensitivity *s, const struct sap_island *island, int transposed,
                  const double *x, double *y) {
  struct sap_workspace *w = sap_sensitivity_work(s);
  w->plan->jacobian_loops->multiply(&w->J, island, x, w->pool.dv_c);
  sap_apply_coupling(s, island, transposed, w->pool.dv_c);
  w->plan->jacobian_loops->multiply_transposed(&w->J, island, w->pool.dv_c, y);
  sap_linearized_solve(w, island, y);
  sap_island_add(w, island, 1, x, y);
  ++s->coupling.products;
}

/* Runs one cycle from the residual in s->product, of norm `length`. Adds to s->solution. */
static void cycle(struct sap_sensitivity *s, const struct sap_island *island, int transposed,
                  double length, double enough) {
  const struct sap_workspace *w = sap_sensitivity_work(s);
  double *const *q = s->krylov;
  struct sap_arnoldi k;
  double y[SAP_ARNOLDI_MOST];
  sap_arnoldi_begin(&k, island, length, s->product, q);
  while (k.n < SAP_ARNOLDI_MOST && fabs(k.t[k.n]) > enough) {
    apply(s, island, transposed, q[k.n], q[k.n + 1]);
    if (!sap_arnoldi_advance(&k, w, island, q)) {
      break;
    }
  }
  sap_arnoldi_solve(&k, y);
  for (int i = k.n - 1; i >= 0; --i) {
    sap_island_add(w, island, y[i], q[i], s->solution);
  }
}

void sap_unsymmetric_solve(struct sap_sensitivity *s, const struct sap_island *island,
                           int transposed, double *b) {
  const struct sap_workspace *w = sap_sensitivity_work(s);
  sap_linearized_solve(w, island, b);
  const double whole = sqrt(sap_island_inner(w, island, b, b));
  if (s->n_coupled[island->index] == 0 || whole == 0) {
    return;
  }
  /* cycles go on while the residual b - (I + H_s^-1 J^T U J) x falls */
  double last = INFINITY, length = whole;
  sap_island_scale(island, 1, b, s->target);
  sap_island_scale(island, 0, s->target, s->solution);
  sap_island_scale(island, 1, b, s->product);
  for (int k = 0; k < SAP_MOST_CYCLES && length > sap_unsymmetric_tolerance * whole &&
                  length < sap_useful_cycle * last;
       ++k) {
    sap_island_scale(island, 1, s->solution, b); /* the best so far */
    last = length;
    cycle(s, island, transposed, length, sap_unsymmetric_tolerance * whole);
    apply(s, island, transposed, s->solution, s->product);
    sap_island_scale(island, -1, s->product, s->product);
    sap_island_add(w, island, 1, s->target, s->product);
    length = sqrt(sap_island_inner(w, island, s->product, s->product));
  }
  if (length < last) {
    sap_island_scale(island, 1, s->solution, b);
    last = length;
  }
  s->coupling.residual = fmax(s->coupling.residual, isnan(last) ? INFINITY : last / whole);
}
