#include "invdyn/distance.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"

/* of a row's length, what counts as depending on others; and where it is but expected to be
 * active */
static const double dependent = 1e-9, nearly_dependent = 1e-6;
/* what a row may be violated by, divided by its length, of the largest distance at hand */
static const double violation = 1e-11;
/* what a row that active ones imply may be violated by, the same way, of the distance of x */
static const double implied = 1e-6;
/* and by a row of zeros whatever the others are: a velocity, m/s */
static const double nothing = 1e-13;

void invdyn_distance_carve(struct invdyn_distance *of, int32_t n_max, int32_t d_max,
                           struct sap_arena *arena) {
  const size_t n = (size_t)n_max, d = (size_t)d_max;
  of->At = sap_arena_take(arena, n * d, sizeof(double));
  of->b = sap_arena_take(arena, n, sizeof(double));
  of->x0 = sap_arena_take(arena, d, sizeof(double));
  of->equal = sap_arena_take(arena, n, 1);
  of->x = sap_arena_take(arena, d, sizeof(double));
  of->u = sap_arena_take(arena, n, sizeof(double));
  of->Q = sap_arena_take(arena, d * d, sizeof(double));
  of->R = sap_arena_take(arena, d * d, sizeof(double));
  of->w = sap_arena_take(arena, d, sizeof(double));
  of->r = sap_arena_take(arena, d, sizeof(double));
  of->a = sap_arena_take(arena, d, sizeof(double));
  of->over = sap_arena_take(arena, n, sizeof(double));
  of->length = sap_arena_take(arena, n, sizeof(double));
  of->allowed = sap_arena_take(arena, n, sizeof(double));
  of->active = sap_arena_take(arena, d, sizeof(int32_t));
  of->is_active = sap_arena_take(arena, n, 1);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void read_row(const struct invdyn_distance *of, int32_t row, double *a) {
  for (int32_t i = 0; i < of->d; ++i) {
    a[i] = of->At[(int64_t)i * of->ld + row];
  }
}

/* A x - b */
static void evaluate(struct invdyn_distance *of) {
  for (int32_t j = 0; j < of->n; ++j) {
    of->over[j] = -of->b[j];
  }
  for (int32_t i = 0; i < of->d; ++i) {
    sap_vector_add(of->n, of->x[i], of->At + (int64_t)i * of->ld, of->over);
  }
}

/* lengths of rows and what they may be violated by; a row of zeros says nothing, or what cannot
 * be */
static void measure(struct invdyn_distance *of) {
  memset(of->length, 0, (size_t)of->n * sizeof(double));
  for (int32_t i = 0; i < of->d; ++i) {
    const double *of_unknown = of->At + (int64_t)i * of->ld;
    for (int32_t j = 0; j < of->n; ++j) {
      of->length[j] += of_unknown[j] * of_unknown[j];
    }
  }
  double longest = 0.0, largest = 0.0;
  for (int32_t j = 0; j < of->n; ++j) {
    of->length[j] = sqrt(of->length[j]);
    longest = fmax(longest, of->length[j]);
    largest = fmax(largest, fabs(of->b[j]));
  }
  double scale = sqrt(sap_vector_dot(of->d, of->x0, of->x0));
  for (int32_t j = 0; j < of->n; ++j) {
    if (of->length[j] > 1e-14 * longest) {
      scale = fmax(scale, fabs(of->b[j]) / of->length[j]);
    }
  }
  for (int32_t j = 0; j < of->n; ++j) {
    const int is_long = of->length[j] > 1e-14 * longest;
    of->allowed[j] = is_long ? violation * scale * of->length[j] : violation * largest + nothing;
    of->length[j] = is_long ? of->length[j] : 1.0;
  }
}

/* the inequality that is violated most for its length, or -1 */
static int32_t most_violated(struct invdyn_distance *of) {
  evaluate(of);
  int32_t worst = -1;
  double least = 0.0;
  for (int32_t j = 0; j < of->n; ++j) {
    const double over = (of->over[j] + of->allowed[j]) / of->length[j];
    if (over < least && !of->is_active[j] && !of->equal[j]) {
      least = over;
      worst = j;
    }
  }
  return worst;
}

/* ---- the factors of the active rows ---------------------------------------------------------- */

/* w = Q a */
static void transform(struct invdyn_distance *of) {
  for (int32_t i = 0; i < of->d; ++i) {
    of->w[i] = sap_vector_dot(of->d, of->Q + (int64_t)i * of->d, of->a);
  }
}

/* r <- R^-1 r */
static void solve_upper(const struct invdyn_distance *of, double *r) {
  for (int32_t j = of->n_active - 1; j >= 0; --j) {
    const double *column = of->R + (int64_t)j * of->d;
    r[j] /= column[j];
    sap_vector_add(j, -r[j], column, r);
  }
}

/* r <- R^-T r */
static void solve_lower(const struct invdyn_distance *of, double *r) {
  for (int32_t j = 0; j < of->n_active; ++j) {
    const double *column = of->R + (int64_t)j * of->d;
    r[j] = (r[j] - sap_vector_dot(j, column, r)) / column[j];
  }
}

/* the row whose transform is w enters: a reflection of the rows of Q beside the span */
static void enter(struct invdyn_distance *of, int32_t row) {
  const int32_t k = of->n_active, d = of->d;
  double *v = of->w + k, *sum = of->r;
  const double norm = sqrt(sap_vector_dot(d - k, v, v));
  const double diagonal = v[0] > 0.0 ? -norm : norm;
  double *column = of->R + (int64_t)k * d;
  memcpy(column, of->w, (size_t)k * sizeof(double));
  column[k] = diagonal;
  v[0] -= diagonal;
  const double square = sap_vector_dot(d - k, v, v);
  memset(sum, 0, (size_t)d * sizeof(double));
  for (int32_t i = 0; i < d - k; ++i) {
    sap_vector_add(d, v[i], of->Q + (int64_t)(k + i) * d, sum);
  }
  for (int32_t i = 0; i < d - k; ++i) {
    sap_vector_add(d, -2.0 * v[i] / square, sum, of->Q + (int64_t)(k + i) * d);
  }
  of->active[of->n_active++] = row;
  of->is_active[row] = 1;
}

static void rotate(int32_t n, double c, double s, double *x, double *y) {
  for (int32_t i = 0; i < n; ++i) {
    const double t = c * x[i] + s * y[i];
    y[i] = c * y[i] - s * x[i];
    x[i] = t;
  }
}

/* the active row at this place leaves */
static void leave(struct invdyn_distance *of, int32_t place) {
  const int32_t d = of->d, last = --of->n_active;
  of->is_active[of->active[place]] = 0;
  for (int32_t j = place; j < last; ++j) {
    double *column = of->R + (int64_t)j * d;
    of->active[j] = of->active[j + 1];
    memcpy(column, column + d, (size_t)(j + 2) * sizeof(double));
  }
  for (int32_t j = place; j < last; ++j) {
    double *column = of->R + (int64_t)j * d;
    const double length = hypot(column[j], column[j + 1]);
    const double c = column[j] / length, s = column[j + 1] / length;
    for (int32_t k = j; k < last; ++k) {
      rotate(1, c, s, of->R + (int64_t)k * d + j, of->R + (int64_t)k * d + j + 1);
    }
    rotate(d, c, s, of->Q + (int64_t)j * d, of->Q + (int64_t)(j + 1) * d);
  }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* active rows hold again, and u follows */
static void polish(struct invdyn_distance *of) {
  evaluate(of);
  for (int32_t k = 0; k < of->n_active; ++k) {
    of->r[k] = -of->over[of->active[k]];
  }
  solve_lower(of, of->r);
  for (int32_t k = 0; k < of->n_active; ++k) {
    sap_vector_add(of->d, of->r[k], of->Q + (int64_t)k * of->d, of->x);
  }
  solve_upper(of, of->r);
  for (int32_t k = 0; k < of->n_active; ++k) {
    double *u = &of->u[of->active[k]];
    *u = of->equal[of->active[k]] ? *u + of->r[k] : fmax(0.0, *u + of->r[k]);
  }
}

/* Moves until the row holds and is active, or is found to contradict the others. */
static enum invdyn_distance_end satisfy(struct invdyn_distance *of, int32_t row, int32_t limit) {
  const int32_t d = of->d;
  read_row(of, row, of->a);
  const double sign = of->b[row] >= sap_vector_dot(d, of->a, of->x) ? 1.0 : -1.0;
  while (of->pivots++ < limit) {
    transform(of);
    const int32_t k = of->n_active;
    const double beside = sap_vector_dot(d - k, of->w + k, of->w + k);
    const int is_free = sqrt(beside) > dependent * of->length[row];
    memcpy(of->r, of->w, (size_t)k * sizeof(double));
    solve_upper(of, of->r);

    /* how far until the row holds, and until the multiplier of an inequality is 0 */
    const double full =
        is_free ? fabs(of->b[row] - sap_vector_dot(d, of->a, of->x)) / beside : INFINITY;
    double step = INFINITY;
    int32_t place = -1;
    for (int32_t j = 0; j < k; ++j) {
      const double falls = sign * of->r[j];
      if (!of->equal[of->active[j]] && falls > 1e-14 && of->u[of->active[j]] < step * falls) {
        step = of->u[of->active[j]] / falls;
        place = j;
      }
    }
    const double t = fmin(full, step);
    if (!(t < INFINITY)) {
      return INVDYN_NO_POINT;
    }
    for (int32_t j = 0; j < k; ++j) {
      of->u[of->active[j]] -= sign * t * of->r[j];
    }
    of->u[row] += sign * t;
    if (is_free) {
      for (int32_t i = k; i < d; ++i) {
        sap_vector_add(d, sign * t * of->w[i], of->Q + (int64_t)i * d, of->x);
      }
    }
    if (full <= step) {
      enter(of, row);
      return INVDYN_NEAREST;
    }
    of->u[of->active[place]] = 0.0;
    leave(of, place);
  }
  return INVDYN_PIVOT_LIMIT;
}

/* an equality that active rows imply */
static int is_implied(struct invdyn_distance *of, int32_t row) {
  read_row(of, row, of->a);
  const int32_t k = of->n_active;
  transform(of);
  const double beside = sqrt(sap_vector_dot(of->d - k, of->w + k, of->w + k));
  const double off = fabs(sap_vector_dot(of->d, of->a, of->x) - of->b[row]);
  const double reach = sqrt(sap_vector_dot(of->d, of->x, of->x));
  return beside <= fmax(dependent, of->negligible) * of->length[row] &&
         off <= fmax(of->allowed[row], implied * reach * of->length[row]);
}

/* inequalities, worst first, until all hold */
static enum invdyn_distance_end search(struct invdyn_distance *of) {
  const int32_t limit = of->pivots + 20 * (of->n + of->d) + 50;
  for (int32_t row = most_violated(of); row >= 0; row = most_violated(of)) {
    const enum invdyn_distance_end end = satisfy(of, row, limit);
    if (end != INVDYN_NEAREST) {
      return end;
    }
  }
  polish(of);
  return INVDYN_NEAREST;
}

/* the nearest point where the active rows hold with equality: x = x0 + Q_1^T (s - Q_1 x0) with
 * R^T s = b, and R u = s - Q_1 x0 */
static void to_active_rows(struct invdyn_distance *of) {
  const int32_t k = of->n_active, d = of->d;
  for (int32_t j = 0; j < k; ++j) {
    of->r[j] = of->b[of->active[j]];
  }
  solve_lower(of, of->r);
  memcpy(of->x, of->x0, (size_t)d * sizeof(double));
  for (int32_t j = 0; j < k; ++j) {
    const double *basis = of->Q + (int64_t)j * d;
    of->r[j] -= sap_vector_dot(d, basis, of->x0);
    sap_vector_add(d, of->r[j], basis, of->x);
  }
  solve_upper(of, of->r);
  for (int32_t j = 0; j < k; ++j) {
    of->u[of->active[j]] = of->r[j];
  }
}

enum invdyn_distance_end invdyn_distance_resume(struct invdyn_distance *of) {
  for (;;) {
    to_active_rows(of);
    int32_t place = -1;
    for (int32_t j = 0; j < of->n_active; ++j) {
      const int32_t row = of->active[j];
      if (!of->equal[row] && of->u[row] < 0.0 &&
          (place < 0 || of->u[row] < of->u[of->active[place]])) {
        place = j;
      }
    }
    if (place < 0) {
      return search(of);
    }
    of->u[of->active[place]] = 0.0;
    leave(of, place);
    ++of->pivots;
  }
}

/* inequalities that are expected to be active enter, with none of the steps that would find them */
static void enter_expected(struct invdyn_distance *of, const int8_t *start) {
  for (int32_t j = 0; j < of->n && of->n_active < of->d; ++j) {
    if (!start[j] || of->equal[j]) {
      continue;
    }
    read_row(of, j, of->a);
    transform(of);
    const int32_t k = of->n_active;
    const double beside = sqrt(sap_vector_dot(of->d - k, of->w + k, of->w + k));
    if (beside > nearly_dependent * of->length[j]) {
      enter(of, j);
    }
  }
}

static enum invdyn_distance_end solve_from(struct invdyn_distance *of, const int8_t *start) {
  const int32_t n = of->n, d = of->d, limit = of->pivots + 20 * (n + d) + 50;
  memcpy(of->x, of->x0, (size_t)d * sizeof(double));
  memset(of->u, 0, (size_t)n * sizeof(double));
  memset(of->is_active, 0, (size_t)n);
  memset(of->Q, 0, (size_t)d * (size_t)d * sizeof(double));
  for (int32_t i = 0; i < d; ++i) {
    of->Q[(int64_t)i * (d + 1)] = 1.0;
  }
  of->n_active = 0;
  for (int32_t j = 0; j < n; ++j) {
    if (of->equal[j] && !is_implied(of, j)) {
      const enum invdyn_distance_end end = satisfy(of, j, limit);
      if (end != INVDYN_NEAREST) {
        return end;
      }
    }
  }
  if (!start) {
    return search(of);
  }
  enter_expected(of, start);
  return invdyn_distance_resume(of);
}

enum invdyn_distance_end invdyn_distance_solve(struct invdyn_distance *of, const int8_t *start) {
  measure(of);
  of->pivots = 0;
  const enum invdyn_distance_end end = solve_from(of, start);
  return end == INVDYN_NEAREST || !start ? end : solve_from(of, NULL);
}
