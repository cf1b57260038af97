#include "invdyn/holding.h"

#include <math.h>
#include <string.h>

void invdyn_holding_carve(struct invdyn_holding *holding, const invdyn_problem *most,
                          struct sap_arena *arena) {
  const size_t n = (size_t)most->n, n_b = (size_t)(most->m - most->n_q);
  holding->remainder = sap_arena_take(arena, 2 * n * n_b, sizeof(double));
  holding->span = sap_arena_take(arena, n_b * n_b, sizeof(double));
  holding->open = sap_arena_take(arena, n, 1);
}

/* Returns the row with the longest remainder outside the span; -1 if all are 0. */
static int32_t find_longest(const struct invdyn_holding *holding, int32_t n_rows, int32_t n_b,
                            double *length) {
  int32_t next = -1;
  double longest = 0.0;
  for (int32_t i = 0; i < n_rows; ++i) {
    const double *row = holding->remainder + (int64_t)i * n_b;
    double square = 0.0;
    for (int32_t j = 0; j < n_b; ++j) {
      square += row[j] * row[j];
    }
    if (square > longest) {
      longest = square;
      next = i;
    }
  }
  *length = sqrt(longest);
  return next;
}

/* Finds the span by Gram-Schmidt: the row with the longest remainder comes next. */
static void find_span(struct invdyn_holding *holding, const struct invdyn_reduction *reduction) {
  const int32_t n_rows = 2 * reduction->problem->n, n_b = reduction->n_b;
  for (int32_t i = 0; i < n_rows; ++i) {
    memcpy(holding->remainder + (int64_t)i * n_b, invdyn_tangent(reduction, i),
           (size_t)n_b * sizeof(double));
  }
  double first = 0.0, length;
  for (holding->rank = 0; holding->rank < n_b; ++holding->rank) {
    const int32_t next = find_longest(holding, n_rows, n_b, &length);
    first = fmax(first, length);
    if (next < 0 || length <= holding->tolerance * first) {
      break;
    }
    double *unit = holding->span + (int64_t)holding->rank * n_b;
    memcpy(unit, holding->remainder + (int64_t)next * n_b, (size_t)n_b * sizeof(double));
    invdyn_remove_span(holding, n_b, unit);
    double square = 0.0;
    for (int32_t j = 0; j < n_b; ++j) {
      square += unit[j] * unit[j];
    }
    for (int32_t j = 0; j < n_b; ++j) {
      unit[j] /= sqrt(square);
    }
    for (int32_t i = 0; i < n_rows; ++i) {
      invdyn_remove_part(n_b, unit, holding->remainder + (int64_t)i * n_b);
    }
  }
}

/* Sets T <- T span^T span. */
static void keep_span(struct invdyn_holding *holding, struct invdyn_reduction *reduction) {
  const int32_t n_rows = 2 * reduction->problem->n, n_b = reduction->n_b;
  find_span(holding, reduction);
  for (int32_t i = 0; i < n_rows; ++i) {
    double *row = invdyn_tangent(reduction, i);
    for (int32_t j = 0; j < n_b; ++j) {
      row[j] -= holding->remainder[(int64_t)i * n_b + j];
    }
  }
  invdyn_set_joints(reduction);
}

void invdyn_hold_all(struct invdyn_holding *holding, struct invdyn_reduction *reduction,
                     double tolerance) {
  memset(holding->open, 0, (size_t)reduction->problem->n);
  holding->tolerance = tolerance;
  keep_span(holding, reduction);
}

int invdyn_let_go(struct invdyn_holding *holding, struct invdyn_reduction *reduction,
                  const double *z, const double *u, double still) {
  const int32_t n = reduction->problem->n, n_b = reduction->n_b, n_q = reduction->problem->n_q;
  double fastest = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    if (!holding->open[i] && z[3 * i + 2] <= 0.0) {
      fastest = fmax(fastest, u[3 * i + 2]);
    }
  }
  if (fastest <= still) {
    return 0;
  }
  for (int32_t i = 0; i < n; ++i) {
    if (!holding->open[i] && z[3 * i + 2] <= 0.0 && u[3 * i + 2] >= 0.5 * fastest) {
      memset(invdyn_tangent(reduction, 2 * i), 0, 2 * (size_t)n_b * sizeof(double));
      memset(reduction->J_q + 3 * (int64_t)i * n_q, 0, 2 * (size_t)n_q * sizeof(double));
      holding->open[i] = 1;
    }
  }
  keep_span(holding, reduction);
  return 1;
}

int invdyn_pushes_open(const struct invdyn_holding *holding, int32_t n, const double *z) {
  int any = 0;
  for (int32_t i = 0; i < n; ++i) {
    any |= holding->open[i] && z[3 * i + 2] > 0.0;
  }
  return any;
}
