#include "step/dynamics/slopes.h"

#include <string.h>

#include "step/joints/element_rows.h"

void sap_slopes_carve(struct sap_slopes *slopes, struct sap_arena *arena) {
  const struct sap_forest *f = slopes->forest;
  const int some = f->nD > 0;
  slopes->D = sap_arena_take(arena, (size_t)f->nD, sizeof(double));
  slopes->moment = sap_arena_take(arena, some ? (size_t)f->nv : 0, sizeof(double));
  slopes->act = sap_arena_take(arena, some ? (size_t)f->n_trees : 0, 1);
}

/* Removes -Kd m m^T from D, where D has entries. */
static void take_out(const struct sap_slopes *slopes, const struct sap_engine_jacobian *moment,
                     double Kd) {
  const struct sap_forest *f = slopes->forest;
  double *m = slopes->moment;
  for (int32_t i = 0; i < moment->n; ++i) {
    m[moment->column[i]] = moment->value[i];
  }
  for (int32_t i = 0; i < moment->n; ++i) {
    const int32_t row = moment->column[i], start = f->D_rowadr[row];
    for (int32_t p = start; p < start + f->D_rownnz[row]; ++p) {
      slopes->D[p] += Kd * m[row] * m[f->D_colind[p]];
    }
  }
  for (int32_t i = 0; i < moment->n; ++i) {
    m[moment->column[i]] = 0.0;
  }
}

static int any_nonzero(const double *x, int32_t n) {
  int32_t i = 0;
  while (i < n && x[i] == 0.0) {
    ++i;
  }
  return i < n;
}

void sap_slopes_find(struct sap_slopes *slopes, const double *qDeriv,
                     const struct sap_element_gather *elements) {
  const struct sap_forest *f = slopes->forest;
  memcpy(slopes->D, qDeriv, sizeof(double) * (size_t)f->nD);
  for (int32_t c = 0; c < elements->n_acting; ++c) {
    const int32_t controller = elements->controller[c];
    const double Kd = elements->elements->controller_gains[2 * (int64_t)controller + 1];
    if (Kd > 0.0) {
      take_out(slopes, elements->moment + controller, Kd);
    }
  }
  for (int32_t t = 0; t < f->n_trees; ++t) {
    const int32_t first = f->tree_dofadr[t];
    slopes->act[t] = 0;
    for (int32_t i = first; i < first + f->tree_dofnum[t] && !slopes->act[t]; ++i) {
      slopes->act[t] = (uint8_t)any_nonzero(slopes->D + f->D_rowadr[i], f->D_rownnz[i]);
    }
  }
}

void sap_slopes_add(const struct sap_slopes *slopes, int32_t tree, double dt, double *A) {
  const struct sap_forest *f = slopes->forest;
  const int32_t first = f->tree_dofadr[tree], n = f->tree_dofnum[tree];
  for (int32_t i = 0; i < n; ++i) {
    const int32_t start = f->D_rowadr[first + i];
    for (int32_t p = start; p < start + f->D_rownnz[first + i]; ++p) {
      const int64_t j = f->D_colind[p] - first;
      const double half = 0.5 * dt * slopes->D[p];
      A[i * (int64_t)n + j] -= half;
      A[j * n + i] -= half;
    }
  }
}
