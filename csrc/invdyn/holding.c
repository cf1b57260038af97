#include "invdyn/holding.h"

#include <math.h>
#include <string.h>

void invdyn_holding_carve(struct invdyn_holding *of, const invdyn_problem *most,
                          struct sap_arena *arena) {
  const size_t n = (size_t)most->n, n_b = (size_t)(most->m - most->n_q);
  of->rest = sap_arena_take(arena, 2 * n * n_b, sizeof(double));
  of->span = sap_arena_take(arena, n_b * n_b, sizeof(double));
  of->open = sap_arena_take(arena, n, 1);
}

/* the row that is longest beside the span; -1 where there is nothing */
static int32_t longest_beside(const struct invdyn_holding *of, int32_t n_rows, int32_t n_b,
                              double *length) {
  int32_t next = -1;
  double longest = 0.0;
  for (int32_t i = 0; i < n_rows; ++i) {
    const double *row = of->rest + (int64_t)i * n_b;
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

/* Gram-Schmidt: the row that is longest beside the span comes next */
static void find_span(struct invdyn_holding *of, const struct invdyn_reduction *reduction) {
  const int32_t n_rows = 2 * reduction->problem->n, n_b = reduction->n_b;
  for (int32_t i = 0; i < n_rows; ++i) {
    memcpy(of->rest + (int64_t)i * n_b, invdyn_tangent(reduction, i), (size_t)n_b * sizeof(double));
  }
  double first = 0.0, length;
  for (of->rank = 0; of->rank < n_b; ++of->rank) {
    const int32_t next = longest_beside(of, n_rows, n_b, &length);
    first = fmax(first, length);
    if (next < 0 || length <= of->tolerance * first) {
      break;
    }
    double *unit = of->span + (int64_t)of->rank * n_b;
    memcpy(unit, of->rest + (int64_t)next * n_b, (size_t)n_b * sizeof(double));
    invdyn_beside(of, n_b, unit);
    double square = 0.0;
    for (int32_t j = 0; j < n_b; ++j) {
      square += unit[j] * unit[j];
    }
    for (int32_t j = 0; j < n_b; ++j) {
      unit[j] /= sqrt(square);
    }
    for (int32_t i = 0; i < n_rows; ++i) {
      invdyn_remove_part(n_b, unit, of->rest + (int64_t)i * n_b);
    }
  }
}

/* T <- T span^T span */
static void keep_span(struct invdyn_holding *of, struct invdyn_reduction *reduction) {
  const int32_t n_rows = 2 * reduction->problem->n, n_b = reduction->n_b;
  find_span(of, reduction);
  for (int32_t i = 0; i < n_rows; ++i) {
    double *row = invdyn_tangent(reduction, i);
    for (int32_t j = 0; j < n_b; ++j) {
      row[j] -= of->rest[(int64_t)i * n_b + j];
    }
  }
  invdyn_set_joints(reduction);
}

void invdyn_hold_all(struct invdyn_holding *of, struct invdyn_reduction *reduction,
                     double tolerance) {
  memset(of->open, 0, (size_t)reduction->problem->n);
  of->tolerance = tolerance;
  keep_span(of, reduction);
}

int invdyn_let_go(struct invdyn_holding *of, struct invdyn_reduction *reduction, const double *z,
                  const double *u, double still) {
  const int32_t n = reduction->problem->n, n_b = reduction->n_b, n_q = reduction->problem->n_q;
  double fastest = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    if (!of->open[i] && z[3 * i + 2] <= 0.0) {
      fastest = fmax(fastest, u[3 * i + 2]);
    }
  }
  if (fastest <= still) {
    return 0;
  }
  for (int32_t i = 0; i < n; ++i) {
    if (!of->open[i] && z[3 * i + 2] <= 0.0 && u[3 * i + 2] >= 0.5 * fastest) {
      memset(invdyn_tangent(reduction, 2 * i), 0, 2 * (size_t)n_b * sizeof(double));
      memset(reduction->J_q + 3 * (int64_t)i * n_q, 0, 2 * (size_t)n_q * sizeof(double));
      of->open[i] = 1;
    }
  }
  keep_span(of, reduction);
  return 1;
}

int invdyn_pushes_open(const struct invdyn_holding *of, int32_t n, const double *z) {
  int any = 0;
  for (int32_t i = 0; i < n; ++i) {
    any |= of->open[i] && z[3 * i + 2] > 0.0;
  }
  return any;
}
