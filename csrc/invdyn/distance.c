#include "invdyn/distance.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"

/* A row counts as dependent on others if its part outside their span is below this part of its
 * length; the larger limit holds for rows that are only expected to be active. */
static const double dependent = 1e-9, nearly_dependent = 1e-6;
/* Allowed violation of a row over its length, as a part of the largest distance at hand. */
static const double violation = 1e-11;
/* Allowed violation, in the same measure, of a row that active ones imply, as a part of |x|. */
static const double implied = 1e-6;
/* Allowed violation of a row of zeros: a velocity, m/s. */
static const double nothing = 1e-13;

void invdyn_distance_carve(struct invdyn_distance *dual, int32_t n_max, int32_t d_max,
                           struct sap_arena *arena) {
  const size_t n = (size_t)n_max, d = (size_t)d_max;
  dual->At = sap_arena_take(arena, n * d, sizeof(double));
  dual->b = sap_arena_take(arena, n, sizeof(double));
  dual->x0 = sap_arena_take(arena, d, sizeof(double));
  dual->equal = sap_arena_take(arena, n, 1);
  dual->x = sap_arena_take(arena, d, sizeof(double));
  dual->u = sap_arena_take(arena, n, sizeof(double));
  dual->Q = sap_arena_take(arena, d * d, sizeof(double));
  dual->R = sap_arena_take(arena, d * d, sizeof(double));
  dual->w = sap_arena_take(arena, d, sizeof(double));
  dual->r = sap_arena_take(arena, d, sizeof(double));
  dual->a = sap_arena_take(arena, d, sizeof(double));
  dual->excess = sap_arena_take(arena, n, sizeof(double));
  dual->length = sap_arena_take(arena, n, sizeof(double));
  dual->allowed = sap_arena_take(arena, n, sizeof(double));
  dual->active = sap_arena_take(arena, d, sizeof(int32_t));
  dual->is_active = sap_arena_take(arena, n, 1);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void read_row(const struct invdyn_distance *dual, int32_t row, double *a) {
  for (int32_t i = 0; i < dual->d; ++i) {
    a[i] = dual->At[(int64_t)i * dual->ld + row];
  }
}

/* Sets over = A x - b. */
static void evaluate(struct invdyn_distance *dual) {
  for (int32_t j = 0; j < dual->n; ++j) {
    dual->excess[j] = -dual->b[j];
  }
  for (int32_t i = 0; i < dual->d; ++i) {
    sap_vector_add(dual->n, dual->x[i], dual->At + (int64_t)i * dual->ld, dual->excess);
  }
}

/* Measures lengths and allowed violations of rows. A row of zeros is void or contradictory. */
static void measure(struct invdyn_distance *dual) {
  memset(dual->length, 0, (size_t)dual->n * sizeof(double));
  for (int32_t i = 0; i < dual->d; ++i) {
    const double *column = dual->At + (int64_t)i * dual->ld;
    for (int32_t j = 0; j < dual->n; ++j) {
      dual->length[j] += column[j] * column[j];
    }
  }
  double longest = 0.0, largest = 0.0;
  for (int32_t j = 0; j < dual->n; ++j) {
    dual->length[j] = sqrt(dual->length[j]);
    longest = fmax(longest, dual->length[j]);
    largest = fmax(largest, fabs(dual->b[j]));
  }
  double scale = sqrt(sap_vector_dot(dual->d, dual->x0, dual->x0));
  for (int32_t j = 0; j < dual->n; ++j) {
    if (dual->length[j] > 1e-14 * longest) {
      scale = fmax(scale, fabs(dual->b[j]) / dual->length[j]);
    }
  }
  for (int32_t j = 0; j < dual->n; ++j) {
    const int is_long = dual->length[j] > 1e-14 * longest;
    dual->allowed[j] =
        is_long ? violation * scale * dual->length[j] : violation * largest + nothing;
    dual->length[j] = is_long ? dual->length[j] : 1.0;
  }
}

/* Returns the inequality that is violated most for its length, or -1. */
static int32_t most_violated(struct invdyn_distance *dual) {
  evaluate(dual);
  int32_t worst = -1;
  double least = 0.0;
  for (int32_t j = 0; j < dual->n; ++j) {
    const double excess = (dual->excess[j] + dual->allowed[j]) / dual->length[j];
    if (excess < least && !dual->is_active[j] && !dual->equal[j]) {
      least = excess;
      worst = j;
    }
  }
  return worst;
}

/* ---- the factors of the active rows ---------------------------------------------------------- */

/* w = Q a */
static void transform(struct invdyn_distance *dual) {
  for (int32_t i = 0; i < dual->d; ++i) {
    dual->w[i] = sap_vector_dot(dual->d, dual->Q + (int64_t)i * dual->d, dual->a);
  }
}

/* r <- R^-1 r */
static void solve_upper(const struct invdyn_distance *dual, double *r) {
  for (int32_t j = dual->n_active - 1; j >= 0; --j) {
    const double *column = dual->R + (int64_t)j * dual->d;
    r[j] /= column[j];
    sap_vector_add(j, -r[j], column, r);
  }
}

/* r <- R^-T r */
static void solve_lower(const struct invdyn_distance *dual, double *r) {
  for (int32_t j = 0; j < dual->n_active; ++j) {
    const double *column = dual->R + (int64_t)j * dual->d;
    r[j] = (r[j] - sap_vector_dot(j, column, r)) / column[j];
  }
}

/* Adds the row whose transform is w, by a reflection of the rows of Q outside the span. */
static void enter(struct invdyn_distance *dual, int32_t row) {
  const int32_t k = dual->n_active, d = dual->d;
  double *v = dual->w + k, *sum = dual->r;
  const double norm = sqrt(sap_vector_dot(d - k, v, v));
  const double diagonal = v[0] > 0.0 ? -norm : norm;
  double *column = dual->R + (int64_t)k * d;
  memcpy(column, dual->w, (size_t)k * sizeof(double));
  column[k] = diagonal;
  v[0] -= diagonal;
  const double square = sap_vector_dot(d - k, v, v);
  memset(sum, 0, (size_t)d * sizeof(double));
  for (int32_t i = 0; i < d - k; ++i) {
    sap_vector_add(d, v[i], dual->Q + (int64_t)(k + i) * d, sum);
  }
  for (int32_t i = 0; i < d - k; ++i) {
    sap_vector_add(d, -2.0 * v[i] / square, sum, dual->Q + (int64_t)(k + i) * d);
  }
  dual->active[dual->n_active++] = row;
  dual->is_active[row] = 1;
}

static void rotate(int32_t n, double c, double s, double *x, double *y) {
  for (int32_t i = 0; i < n; ++i) {
    const double t = c * x[i] + s * y[i];
    y[i] = c * y[i] - s * x[i];
    x[i] = t;
  }
}

/* Removes the active row at this place. */
static void leave(struct invdyn_distance *dual, int32_t place) {
  const int32_t d = dual->d, last = --dual->n_active;
  dual->is_active[dual->active[place]] = 0;
  for (int32_t j = place; j < last; ++j) {
    double *column = dual->R + (int64_t)j * d;
    dual->active[j] = dual->active[j + 1];
    memcpy(column, column + d, (size_t)(j + 2) * sizeof(double));
  }
  for (int32_t j = place; j < last; ++j) {
    double *column = dual->R + (int64_t)j * d;
    const double length = hypot(column[j], column[j + 1]);
    const double c = column[j] / length, s = column[j + 1] / length;
    for (int32_t k = j; k < last; ++k) {
      rotate(1, c, s, dual->R + (int64_t)k * d + j, dual->R + (int64_t)k * d + j + 1);
    }
    rotate(d, c, s, dual->Q + (int64_t)j * d, dual->Q + (int64_t)(j + 1) * d);
  }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Corrects x and u so that active rows hold to round-off. */
static void polish(struct invdyn_distance *dual) {
  evaluate(dual);
  for (int32_t k = 0; k < dual->n_active; ++k) {
    dual->r[k] = -dual->excess[dual->active[k]];
  }
  solve_lower(dual, dual->r);
  for (int32_t k = 0; k < dual->n_active; ++k) {
    sap_vector_add(dual->d, dual->r[k], dual->Q + (int64_t)k * dual->d, dual->x);
  }
  solve_upper(dual, dual->r);
  for (int32_t k = 0; k < dual->n_active; ++k) {
    double *u = &dual->u[dual->active[k]];
    *u = dual->equal[dual->active[k]] ? *u + dual->r[k] : fmax(0.0, *u + dual->r[k]);
  }
}

/* Moves x until the row holds and is active, or contradicts the others. */
static enum invdyn_distance_end satisfy(struct invdyn_distance *dual, int32_t row, int32_t limit) {
  const int32_t d = dual->d;
  read_row(dual, row, dual->a);
  const double sign = dual->b[row] >= sap_vector_dot(d, dual->a, dual->x) ? 1.0 : -1.0;
  while (dual->pivots++ < limit) {
    transform(dual);
    const int32_t k = dual->n_active;
    const double outside = sap_vector_dot(d - k, dual->w + k, dual->w + k);
    const int is_free = sqrt(outside) > dependent * dual->length[row];
    memcpy(dual->r, dual->w, (size_t)k * sizeof(double));
    solve_upper(dual, dual->r);

    /* distance until the row holds, and until the multiplier of an inequality is 0 */
    const double full =
        is_free ? fabs(dual->b[row] - sap_vector_dot(d, dual->a, dual->x)) / outside : INFINITY;
    double step = INFINITY;
    int32_t place = -1;
    for (int32_t j = 0; j < k; ++j) {
      const double falls = sign * dual->r[j];
      if (!dual->equal[dual->active[j]] && falls > 1e-14 &&
          dual->u[dual->active[j]] < step * falls) {
        step = dual->u[dual->active[j]] / falls;
        place = j;
      }
    }
    const double t = fmin(full, step);
    if (!(t < INFINITY)) {
      return INVDYN_NO_POINT;
    }
    for (int32_t j = 0; j < k; ++j) {
      dual->u[dual->active[j]] -= sign * t * dual->r[j];
    }
    dual->u[row] += sign * t;
    if (is_free) {
      for (int32_t i = k; i < d; ++i) {
        sap_vector_add(d, sign * t * dual->w[i], dual->Q + (int64_t)i * d, dual->x);
      }
    }
    if (full <= step) {
      enter(dual, row);
      return INVDYN_NEAREST;
    }
    dual->u[dual->active[place]] = 0.0;
    leave(dual, place);
  }
  return INVDYN_PIVOT_LIMIT;
}

/* Do the active rows imply this equality? */
static int is_implied(struct invdyn_distance *dual, int32_t row) {
  read_row(dual, row, dual->a);
  const int32_t k = dual->n_active;
  transform(dual);
  const double outside = sqrt(sap_vector_dot(dual->d - k, dual->w + k, dual->w + k));
  const double off = fabs(sap_vector_dot(dual->d, dual->a, dual->x) - dual->b[row]);
  const double reach = sqrt(sap_vector_dot(dual->d, dual->x, dual->x));
  return outside <= fmax(dependent, dual->negligible) * dual->length[row] &&
         off <= fmax(dual->allowed[row], implied * reach * dual->length[row]);
}

/* Satisfies inequalities, worst first, until all hold. */
static enum invdyn_distance_end search(struct invdyn_distance *dual) {
  const int32_t limit = dual->pivots + 20 * (dual->n + dual->d) + 50;
  for (int32_t row = most_violated(dual); row >= 0; row = most_violated(dual)) {
    const enum invdyn_distance_end end = satisfy(dual, row, limit);
    if (end != INVDYN_NEAREST) {
      return end;
    }
  }
  polish(dual);
  return INVDYN_NEAREST;
}

/* Moves to the nearest point where the active rows hold with equality: x = x0 + Q_1^T (s - Q_1 x0)
 * with R^T s = b, and R u = s - Q_1 x0. */
static void to_active_rows(struct invdyn_distance *dual) {
  const int32_t k = dual->n_active, d = dual->d;
  for (int32_t j = 0; j < k; ++j) {
    dual->r[j] = dual->b[dual->active[j]];
  }
  solve_lower(dual, dual->r);
  memcpy(dual->x, dual->x0, (size_t)d * sizeof(double));
  for (int32_t j = 0; j < k; ++j) {
    const double *basis = dual->Q + (int64_t)j * d;
    dual->r[j] -= sap_vector_dot(d, basis, dual->x0);
    sap_vector_add(d, dual->r[j], basis, dual->x);
  }
  solve_upper(dual, dual->r);
  for (int32_t j = 0; j < k; ++j) {
    dual->u[dual->active[j]] = dual->r[j];
  }
}

enum invdyn_distance_end invdyn_distance_resume(struct invdyn_distance *dual) {
  for (;;) {
    to_active_rows(dual);
    int32_t place = -1;
    for (int32_t j = 0; j < dual->n_active; ++j) {
      const int32_t row = dual->active[j];
      if (!dual->equal[row] && dual->u[row] < 0.0 &&
          (place < 0 || dual->u[row] < dual->u[dual->active[place]])) {
        place = j;
      }
    }
    if (place < 0) {
      return search(dual);
    }
    dual->u[dual->active[place]] = 0.0;
    leave(dual, place);
    ++dual->pivots;
  }
}

/* Adds inequalities that are expected to be active, without the steps that would find them. */
static void enter_expected(struct invdyn_distance *dual, const int8_t *start) {
  for (int32_t j = 0; j < dual->n && dual->n_active < dual->d; ++j) {
    if (!start[j] || dual->equal[j]) {
      continue;
    }
    read_row(dual, j, dual->a);
    transform(dual);
    const int32_t k = dual->n_active;
    const double outside = sqrt(sap_vector_dot(dual->d - k, dual->w + k, dual->w + k));
    if (outside > nearly_dependent * dual->length[j]) {
      enter(dual, j);
    }
  }
}

static enum invdyn_distance_end solve_from(struct invdyn_distance *dual, const int8_t *start) {
  const int32_t n = dual->n, d = dual->d, limit = dual->pivots + 20 * (n + d) + 50;
  memcpy(dual->x, dual->x0, (size_t)d * sizeof(double));
  memset(dual->u, 0, (size_t)n * sizeof(double));
  memset(dual->is_active, 0, (size_t)n);
  memset(dual->Q, 0, (size_t)d * (size_t)d * sizeof(double));
  for (int32_t i = 0; i < d; ++i) {
    dual->Q[(int64_t)i * (d + 1)] = 1.0;
  }
  dual->n_active = 0;
  for (int32_t j = 0; j < n; ++j) {
    if (dual->equal[j] && !is_implied(dual, j)) {
      const enum invdyn_distance_end end = satisfy(dual, j, limit);
      if (end != INVDYN_NEAREST) {
        return end;
      }
    }
  }
  if (!start) {
    return search(dual);
  }
  enter_expected(dual, start);
  return invdyn_distance_resume(dual);
}

enum invdyn_distance_end invdyn_distance_solve(struct invdyn_distance *dual, const int8_t *start) {
  measure(dual);
  dual->pivots = 0;
  const enum invdyn_distance_end end = solve_from(dual, start);
  return end == INVDYN_NEAREST || !start ? end : solve_from(dual, NULL);
}
