#include "lcp/active_set.h"
#include "lcp/lcp_tuning.h"

#include <math.h>
#include <string.h>

#include "lcp/program.h"

/* A row depends on active ones if the square of its part outside their span is below this part of
 * the square of its length: the Gram matrix has no more digits. */
static const double dependent = 1e-15;
/* Below this the difference of two squares has too few digits for the same. */
static const double cancelled = 1e-4;

void qp_active_set_carve(struct qp_active_set *set, int32_t n_max, int32_t n_rows,
                         struct sap_arena *arena) {
  const size_t n = (size_t)n_max, ld = (n + 7) / 8 * 8, rows = (size_t)n_rows;
  set->V = sap_arena_take(arena, (n + 1) * ld, sizeof *set->V);
  set->G = sap_arena_take(arena, n * ld, sizeof *set->G);
  double **const by_unknown[] = {&set->y,      &set->u,      &set->outside,
                                 &set->target, &set->column, &set->correction};
  for (size_t i = 0; i < sizeof by_unknown / sizeof *by_unknown; ++i) {
    *by_unknown[i] = sap_arena_take(arena, n, sizeof(double));
  }
  set->row = sap_arena_take(arena, n, sizeof *set->row);
  set->is_active = sap_arena_take(arena, rows, sizeof *set->is_active);
  set->slack = sap_arena_take(arena, rows, sizeof *set->slack);
}

/* ---- the factor ------------------------------------------------------------------------------ */

void qp_active_set_solve_gram(const struct qp_active_set *set, double *x) {
  const int32_t k = set->n_active;
  set->kernels->solve_forward(k, k, set->G, set->ld, x, NULL);
  set->kernels->solve_backward(k, k, set->G, set->ld, x, NULL);
}

/* Sets z (n_active) = L^-1 V x. */
static void project(const struct qp_active_set *set, const double *x, double *z) {
  for (int32_t j = 0; j < set->n_active; ++j) {
    z[j] = qp_dot(set->n, set->V + (int64_t)j * set->ld, x);
  }
  set->kernels->solve_forward(set->n_active, set->n_active, set->G, set->ld, z, NULL);
}

/* Subtracts V^T L^-T z, the vector in the span of active rows with the projection z. */
static void subtract_span(struct qp_active_set *set, const double *z, double *x) {
  const int32_t k = set->n_active;
  memcpy(set->target, z, (size_t)k * sizeof(double));
  set->kernels->solve_backward(k, k, set->G, set->ld, set->target, NULL);
  set->kernels->multiply(set->n, 1, k, -1, set->V, set->ld, set->target, 1, x, set->ld, 0);
}

/* Finds the part of row a outside the span of active rows, whose projection is `column`; returns
 * its square. A second projection moves the round-off in the span to `column`: without it the
 * factor loses its digits with nearly dependent rows, and keeps the error when these leave. */
static double measure_outside(struct qp_active_set *set, const double *a) {
  memcpy(set->outside, a, (size_t)set->n * sizeof(double));
  subtract_span(set, set->column, set->outside);
  project(set, set->outside, set->correction);
  subtract_span(set, set->correction, set->outside);
  for (int32_t j = 0; j < set->n_active; ++j) {
    set->column[j] += set->correction[j];
  }
  return qp_dot(set->n, set->outside, set->outside);
}

/* Reads a row behind the active ones; returns the square of its part outside their span over the
 * square of its length. Sets column (n_active) = L^-1 V a. */
static double read_candidate(struct qp_active_set *set, const struct qp_active_rows *rows,
                             int32_t row) {
  const int32_t k = set->n_active;
  double *a = set->V + (int64_t)k * set->ld;
  rows->read_row(rows->context, row, a);
  project(set, a, set->column);
  const double square = qp_dot(set->n, a, a);
  const double outside = square > 0 ? 1 - qp_dot(k, set->column, set->column) / square : 0;
  return outside > cancelled || square <= 0 ? outside : measure_outside(set, a) / square;
}

/* Adds the row that read_candidate() has read; `outside` is what it returned. */
static void enter(struct qp_active_set *set, int32_t row, double outside, double u) {
  const int32_t k = set->n_active++;
  const double *a = set->V + (int64_t)k * set->ld;
  const double diagonal = sqrt(outside * qp_dot(set->n, a, a));
  for (int32_t j = 0; j < k; ++j) {
    set->G[(int64_t)j * set->ld + k] = set->column[j];
  }
  set->G[(int64_t)k * (set->ld + 1)] = 1 / diagonal;
  set->row[k] = row;
  set->u[k] = u;
  set->is_active[row] = 1;
}

/* Updates the factor's columns from `first` on, moved there from one place further, by the column
 * `l` of the row that leaves (Gill, Golub, Murray and Saunders 1974, C1). */
static void update_factor(struct qp_active_set *set, int32_t first, double *l) {
  const int32_t k = set->n_active;
  for (int32_t j = first; j < k; ++j) {
    double *to = set->G + (int64_t)j * set->ld;
    const double *from = to + set->ld + 1;
    const double inverse = from[j], sine = l[j] * inverse, cosine = sqrt(1 + sine * sine);
    to[j] = inverse / cosine;
    for (int32_t i = j + 1; i < k; ++i) {
      to[i] = (from[i] + sine * l[i]) / cosine;
      l[i] = cosine * l[i] - sine * to[i];
    }
  }
}

/* Removes the active row at this place. */
static void leave(struct qp_active_set *set, int32_t place) {
  const int32_t ld = set->ld, k = --set->n_active, after = k - place;
  const size_t bytes = (size_t)after * sizeof(double);
  double *V = set->V + (int64_t)place * ld, *l = set->column;
  set->is_active[set->row[place]] = 0;
  memmove(V, V + ld, bytes * (size_t)ld);
  memmove(set->row + place, set->row + place + 1, (size_t)after * sizeof *set->row);
  memmove(set->u + place, set->u + place + 1, bytes);
  memcpy(l + place, set->G + (int64_t)place * ld + place + 1, bytes);
  for (int32_t j = 0; j < place; ++j) {
    double *column = set->G + (int64_t)j * ld + place;
    memmove(column, column + 1, bytes);
  }
  update_factor(set, place, l);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Moves u along target (n_active) until the multiplier of an inequality is 0, or by `most`. Returns
 * the length of the step, and the place of that inequality or -1. */
static double move(struct qp_active_set *set, const struct qp_active_rows *rows, double most,
                   int32_t *place) {
  double step = most;
  *place = -1;
  for (int32_t j = 0; j < set->n_active; ++j) {
    if (!rows->equality[set->row[j]] && set->target[j] < 0 &&
        set->u[j] + step * set->target[j] < 0) {
      step = set->u[j] / -set->target[j];
      *place = j;
    }
  }
  if (step < INFINITY) {
    for (int32_t j = 0; j < set->n_active; ++j) {
      set->u[j] += step * set->target[j];
    }
  }
  return step;
}

/* Moves to the optimum of the active rows, without those whose multipliers would be negative. */
static void to_active_rows(struct qp_active_set *set, const struct qp_active_rows *rows) {
  for (int32_t place = 0; place >= 0;) {
    for (int32_t j = 0; j < set->n_active; ++j) {
      set->target[j] = -set->slack[set->row[j]];
    }
    qp_active_set_solve_gram(set, set->target);
    const double step = move(set, rows, 1, &place);
    set->kernels->multiply(set->n, 1, set->n_active, step, set->V, set->ld, set->target, 1, set->y,
                           set->ld, 0);
    if (place >= 0) {
      leave(set, place);
      ++set->changes;
      for (int32_t j = 0; j < set->n_active; ++j) {
        set->slack[set->row[j]] *= 1 - step;
      }
    }
  }
}

/* Is the violation of a row round-off? A row that is the sum of active ones also contains their
 * residuals, times the factors `target` (n_active). */
static int is_round_off(const struct qp_active_set *set, const struct qp_active_rows *rows,
                        int32_t row) {
  double most = rows->allowed;
  for (int32_t j = 0; j < set->n_active; ++j) {
    const double residual = qp_larger(fabs(set->slack[set->row[j]]), rows->held);
    most += fabs(set->target[j]) * residual;
  }
  return fabs(set->slack[row]) <= most;
}

/* Makes a violated row active, in exchange for others where it depends on them; 0 if it contradicts
 * them. A contradiction by round-off is allowed from then on. */
static int activate(struct qp_active_set *set, const struct qp_active_rows *rows, int32_t row) {
  double u = 0, outside = read_candidate(set, rows, row);
  while (set->n_active == set->n || !(outside > dependent)) {
    const int32_t k = set->n_active;
    int32_t place;
    for (int32_t j = 0; j < k; ++j) {
      set->target[j] = -set->column[j];
    }
    set->kernels->solve_backward(k, k, set->G, set->ld, set->target, NULL);
    const double step = move(set, rows, INFINITY, &place);
    if (place < 0) {
      if (!is_round_off(set, rows, row)) {
        return 0;
      }
      set->allowed = fabs(set->slack[row]);
      return 1;
    }
    u += step;
    for (int32_t j = 0; j < set->n; ++j) {
      set->y[j] += step * set->outside[j];
    }
    leave(set, place);
    ++set->changes;
    outside = read_candidate(set, rows, row);
  }
  enter(set, row, outside, u);
  ++set->changes;
  return 1;
}

/* Sets slack from y; returns the largest residual of an active row. */
static double evaluate(struct qp_active_set *set, const struct qp_active_rows *rows) {
  rows->evaluate(rows->context, set->y, set->slack);
  double largest = 0;
  for (int32_t k = 0; k < set->n_active; ++k) {
    largest = qp_larger(fabs(set->slack[set->row[k]]), largest);
  }
  return largest;
}

/* Moves to the optimum of the active rows, and again from there as long as that removes round-off.
 * Returns whether they hold. */
static int hold_active_rows(struct qp_active_set *set, const struct qp_active_rows *rows) {
  double before, residual = INFINITY;
  do {
    to_active_rows(set, rows);
    before = residual;
    residual = evaluate(set, rows);
  } while (residual > rows->held && residual < before / 2);
  return residual <= rows->allowed;
}

/* Returns the row that is violated most, -1 if all hold. */
static int32_t find_violated(const struct qp_active_set *set, const struct qp_active_rows *rows) {
  int32_t worst = -1;
  double least = -set->allowed;
  for (int32_t i = 0; i < rows->n_rows; ++i) {
    const double slack = rows->equality[i] ? -fabs(set->slack[i]) : set->slack[i];
    if (slack < least && !set->is_active[i]) {
      least = slack;
      worst = i;
    }
  }
  return worst;
}

/* Begins with all equalities that do not depend on each other, and with the expected rows. */
static void begin(struct qp_active_set *set, const struct qp_active_rows *rows,
                  const int8_t *start) {
  set->n_active = set->changes = 0;
  set->allowed = rows->allowed;
  memset(set->is_active, 0, (size_t)rows->n_rows);
  memset(set->y, 0, (size_t)set->n * sizeof(double));
  rows->evaluate(rows->context, set->y, set->slack);
  for (int equalities = 1; equalities >= 0; --equalities) {
    for (int32_t i = 0; i < rows->n_rows && set->n_active < set->n; ++i) {
      if (equalities ? rows->equality[i] : !rows->equality[i] && start && start[i]) {
        const double outside = read_candidate(set, rows, i);
        if (outside > dependent) {
          enter(set, i, outside, 0);
        }
      }
    }
  }
}

enum qp_active_end qp_active_set_solve(struct qp_active_set *set, int32_t n,
                                       const struct qp_active_rows *rows, const int8_t *start) {
  const int32_t limit = QP_MOST_CHANGES * (n + rows->n_rows);
  set->n = n;
  set->ld = (n + 7) / 8 * 8;
  begin(set, rows, start);
  while (set->changes <= limit) {
    const int holds = hold_active_rows(set, rows);
    const int32_t row = find_violated(set, rows);
    if (row < 0) {
      return holds ? QP_ACTIVE_SOLVED : QP_ACTIVE_LIMIT;
    }
    /* an equality that depends on active ones and does not hold contradicts them */
    if (rows->equality[row] || !activate(set, rows, row)) {
      return QP_ACTIVE_NO_POINT;
    }
  }
  return QP_ACTIVE_LIMIT;
}
