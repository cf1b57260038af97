#include "solver/dense/condensation.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "linalg/junction_tree.h"

/* Returns the stride of arrays over all unknowns. */
static int32_t most_unknowns(void) {
  return sap_impulses_stride(SAP_DENSE_IMPULSES + SAP_DENSE_UNKNOWN_ROWS);
}

void sap_condensed_carve(struct sap_condensed *condensed, struct sap_arena *arena, int32_t widest) {
  const size_t rows = SAP_DENSE_UNKNOWN_ROWS, ld = (size_t)most_unknowns();
  condensed->activated = sap_arena_take(arena, rows, sizeof *condensed->activated);
  condensed->Y = sap_arena_take(arena, rows * (size_t)widest, sizeof(double));
  condensed->Z = sap_arena_take(arena, rows * ld, sizeof(double));
  condensed->u_0 = sap_arena_take(arena, ld, sizeof(double));
}

int sap_condensed_begin(struct sap_condensed *condensed, struct sap_dense_unknowns *unknowns,
                        int32_t n, const double *b, const struct sap_kernels *kernels) {
  struct sap_impulses *p = &unknowns->impulses;
  const int32_t m = sap_impulses_size(p), ld = unknowns->ld;
  const struct sap_supernode panel = {.n_cols = n, .ld = ld};
  const double *Y = unknowns->J; /* J, until the panel is factored */
  condensed->n = n;
  condensed->n_impulses = m;
  condensed->n_activated = 0;
  for (int32_t j = 0; j < n; ++j) {
    double *column = unknowns->panel + (size_t)j * (size_t)ld;
    column[n + m] = b[j];
    memset(column + n + m + 1, 0, (size_t)(ld - n - m - 1) * sizeof *column);
  }
  if (kernels->panels[SAP_DOUBLE].factor(&panel, unknowns->panel) < n) {
    return 0;
  }
  kernels->multiply(m + 1, m, n, 1, Y, ld, Y, ld, p->W, p->ld, 0);
  for (int32_t k = 0; k < m; ++k) {
    condensed->u_0[k] = p->u[k] - p->W[(size_t)k * (size_t)p->ld + (size_t)m];
  }
  return 1;
}

/* ---- activation of a row --------------------------------------------------------------------- */

static double *column_of(const struct sap_impulses *p, int32_t k) {
  return p->W + (size_t)k * (size_t)p->ld;
}

static double *column_of_Z(const struct sap_condensed *c, int32_t i) {
  return c->Z + (size_t)i * (size_t)most_unknowns();
}

/* Makes room in W for column k; entries behind row k stay finite. */
static void widen(struct sap_impulses *p, int32_t k) {
  const int32_t before = p->ld, ld = sap_impulses_stride(k + 1);
  for (int32_t j = k; ld > before && j-- > 0;) {
    double *column = p->W + (size_t)j * (size_t)ld;
    memmove(column, p->W + (size_t)j * (size_t)before, (size_t)before * sizeof *column);
    memset(column + before, 0, (size_t)(ld - before) * sizeof *column);
  }
  p->ld = ld;
}

/* Fills column k of W from y, without the activated rows that were free. Returns q of the row in
 * J dv = q. */
static double fill_column(const struct sap_condensed *c, const struct sap_dense_unknowns *unknowns,
                          const double *y, int32_t first, const struct sap_kernels *kernels,
                          const struct sap_vector_loops *loops) {
  const struct sap_impulses *p = &unknowns->impulses;
  const int32_t n = c->n, m = c->n_impulses, k = m + c->n_activated, ld = unknowns->ld;
  double *column = column_of(p, k);
  memset(column, 0, (size_t)p->ld * sizeof *column);
  kernels->multiply(m + 1, 1, n - first, 1, unknowns->J + (size_t)first * (size_t)ld, ld, y + first,
                    1, column, p->ld, 0);
  double q = column[m];
  loops->multiply_rows(c->n_activated + 1, n, c->Y, y, column + m);
  for (int32_t i = 0; i < c->n_activated; ++i) {
    const struct sap_activated *activated = &c->activated[i];
    double *z = column_of_Z(c, i);
    if (activated->was_free) {
      z[k] = column[m + i] * activated->inverse_root;
      sap_vector_add(k + 1, z[k], z, column);
      q += z[k] * activated->asks;
    }
  }
  for (int32_t j = 0; j < k; ++j) {
    column_of(p, j)[k] = column[j];
  }
  return q;
}

/* Removes the last row, unknown k, which was free, from W and from the right-hand side. */
static void leave_out(const struct sap_condensed *c, const struct sap_impulses *p, int32_t k,
                      double q, double d) {
  struct sap_activated *activated = &c->activated[c->n_activated];
  const double *column = column_of(p, k);
  double *z = column_of_Z(c, c->n_activated);
  activated->inverse_root = 1 / sqrt(d);
  activated->asks = q * activated->inverse_root;
  for (int32_t j = 0; j <= k; ++j) {
    z[j] = column[j] * activated->inverse_root;
  }
  for (int32_t j = 0; j <= k; ++j) {
    sap_vector_add(k + 1, z[j], z, column_of(p, j));
  }
  sap_vector_add(k + 1, -activated->asks, z, c->u_0);
}

int sap_condensed_add(struct sap_condensed *condensed, struct sap_dense_unknowns *unknowns,
                      const struct sap_condensed_row *row, double gamma,
                      const struct sap_kernels *kernels, const struct sap_vector_loops *loops) {
  struct sap_impulses *p = &unknowns->impulses;
  const int32_t n = condensed->n, i = condensed->n_activated, k = condensed->n_impulses + i;
  const int32_t first = row->first, ld = unknowns->ld, was_free = row->was_free;
  if (i == SAP_DENSE_UNKNOWN_ROWS) {
    return 0;
  }
  double *y = condensed->Y + (size_t)i * (size_t)n;
  widen(p, k);
  memcpy(y, row->J, (size_t)n * sizeof *y); /* y = J L^-T */
  kernels->solve_forward(n - first, n - first, unknowns->panel + (size_t)first * (size_t)(ld + 1),
                         ld, y + first, NULL);
  const double q = fill_column(condensed, unknowns, y, first, kernels, loops);
  double *diagonal = column_of(p, k) + k;
  const double d = row->R - *diagonal;
  if (was_free && !(d > sap_least_remainder * row->R)) {
    return 0;
  }
  condensed->activated[i] = (struct sap_activated){was_free, row->R, row->gamma, 0, 0};
  condensed->u_0[k] = row->velocity_error - q;
  if (was_free) {
    leave_out(condensed, p, k, q, d);
  }
  *diagonal += row->R;
  p->lower[i] = row->lower;
  p->upper[i] = row->upper;
  p->gamma[k] = gamma;
  p->n_rows = condensed->n_activated = i + 1;
  return 1;
}

/* ---- the step -------------------------------------------------------------------------------- */

void sap_condensed_find(const struct sap_condensed *condensed, struct sap_dense_unknowns *unknowns,
                        const struct sap_kernels *kernels, sap_impulses_function *find,
                        double *dv) {
  struct sap_impulses *p = &unknowns->impulses;
  const int32_t n = condensed->n, m = condensed->n_impulses, n_activated = condensed->n_activated;
  double *weight = unknowns->Y;
  memcpy(p->u, condensed->u_0, (size_t)(m + n_activated) * sizeof *p->u);
  memset(p->u + m + n_activated, 0, (size_t)(p->ld - m - n_activated) * sizeof *p->u);
  for (int32_t i = 0; i < n_activated; ++i) {
    const struct sap_activated *activated = &condensed->activated[i];
    sap_vector_add(m + n_activated, activated->gamma_0, column_of(p, m + i), p->u);
    p->u[m + i] -= activated->R * activated->gamma_0;
  }
  if (m + n_activated > 0) {
    find(p);
  }
  memset(dv, 0, (size_t)n * sizeof *dv);
  for (int32_t i = 0; i < n_activated; ++i) {
    const struct sap_activated *activated = &condensed->activated[i];
    const double g =
        activated->was_free ? -p->u[m + i] / activated->R : p->gamma[m + i] - activated->gamma_0;
    sap_vector_add(n, g, condensed->Y + (size_t)i * (size_t)n, dv);
  }
  for (int32_t k = 0; k < m; ++k) {
    weight[k] = -p->gamma[k];
  }
  weight[m] = -1; /* weight of b */
  kernels->solve_backward(n + m + 1, n, unknowns->panel, unknowns->ld, dv, weight);
}
