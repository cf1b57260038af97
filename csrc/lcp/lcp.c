/* This file solves complementarity problems: it tries methods, regularized matrices and starts one
 * after the other, and judges their outcomes. */
#include "sapwood/lcp.h"

#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/fail.h"
#include "lcp/pivoting.h"
#include "lcp/lcp_tuning.h"
#include "lcp/scaling.h"

/* Entries up to this part of the largest one are round-off and become 0. */
static const double round_off = 1e-14;

struct lcp_solver {
  sap_allocator allocator;
  struct sap_block block;
  int32_t n_max;
  struct lcp_tableau tableau;
  double *M, *q;         /* (n, n), (n) scaled, with the regularization of the attempt */
  double *D;             /* (n) scale factors of scaling.h */
  double *z, *v;         /* (n) result of the attempt, scaled: v = M z + q */
  double *defect, *best; /* (n) scratch of the refinement */
  int8_t *start;         /* (n) basis at which an attempt begins */
};

/* Input and result of one attempt. */
struct attempt {
  const lcp_settings *settings;
  lcp_method method;
  int32_t n;
  double lambda;
  lcp_outcome outcome;
  int32_t pivots;
  double residual; /* relative residual for the matrix with lambda */
};

/* ---- memory ---- */

static void carve(void *context, struct sap_arena *arena) {
  lcp_solver *s = context;
  const size_t n = (size_t)s->n_max;
  lcp_tableau_carve(&s->tableau, arena, s->n_max);
  s->M = sap_arena_take(arena, n * n, sizeof *s->M);
  double **const vectors[] = {&s->q, &s->D, &s->z, &s->v, &s->defect, &s->best};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    *vectors[i] = sap_arena_take(arena, n, sizeof(double));
  }
  s->start = sap_arena_take(arena, n, sizeof *s->start);
}

sap_status lcp_create(lcp_solver **solver, int32_t n_max, const sap_allocator *allocator,
                      sap_error *error) {
  *solver = NULL;
  if (n_max < 0) {
    return sap_invalid(error, "n_max", -1, n_max, "must be >= 0");
  }
  const sap_allocator memory = sap_allocator_or_default(allocator);
  lcp_solver *s = memory.allocate(sizeof *s, memory.context);
  if (!s) {
    return SAP_OUT_OF_MEMORY;
  }
  *s = (lcp_solver){.allocator = memory, .n_max = n_max};
  s->tableau.kernels = sap_kernels_best();
  if (!sap_block_carve(&s->block, carve, s, &memory)) {
    memory.release(s, memory.context);
    return SAP_OUT_OF_MEMORY;
  }
  *solver = s;
  return SAP_OK;
}

void lcp_destroy(lcp_solver *solver) {
  if (solver) {
    const sap_allocator memory = solver->allocator;
    sap_block_release(&solver->block, &memory);
    memory.release(solver, memory.context);
  }
}

/* ---- one attempt, in scaled variables ---- */

/* Sets v = M z + q; returns the largest |min(z_i, v_i)| over the sum of absolute terms of its row,
 * infinite after an overflow. */
static double evaluate(lcp_solver *s, int32_t n) {
  double largest = 0;
  for (int32_t i = 0; i < n; ++i) {
    double sum = s->q[i], terms = fabs(s->q[i]);
    for (int32_t j = 0; j < n; ++j) {
      const double term = s->M[(int64_t)i * n + j] * s->z[j];
      sum += term;
      terms += fabs(term);
    }
    s->v[i] = sum;
    const double off = fabs(fmin(s->z[i], sum));
    largest = !isfinite(sum) ? INFINITY : off > 0 ? fmax(off / terms, largest) : largest;
  }
  return largest;
}

/* Reads z from the dictionary; negative values are round-off and become 0. */
static void read_basic(lcp_solver *s, int32_t n) {
  const struct lcp_tableau *t = &s->tableau;
  for (int32_t i = 0; i < n; ++i) {
    const int32_t row = t->row[lcp_z(t, i)];
    s->z[i] = row >= 0 && t->q[row] > 0 ? t->q[row] : 0;
  }
}

/* Does one step of iterative refinement: the dictionary gives the response of basic variables to
 * v_i, which must be zero where z_i is basic. */
static void refine(lcp_solver *s, int32_t n) {
  const struct lcp_tableau *t = &s->tableau;
  memset(s->defect, 0, (size_t)n * sizeof(double));
  for (int32_t j = 0; j < n; ++j) {
    if (t->row[lcp_z(t, j)] < 0 || t->column[lcp_w(j)] < 0) {
      continue;
    }
    const double *column = lcp_column(t, t->column[lcp_w(j)]);
    for (int32_t i = 0; i < n; ++i) {
      s->defect[i] += column[i] * s->v[j];
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    const int32_t row = t->row[lcp_z(t, i)];
    if (row >= 0) {
      s->z[i] = fmax(s->z[i] - s->defect[row], 0);
    }
  }
}

/* Sets entries of x (n) >= 0 to 0 that are round-off compared with the largest. */
static void drop_round_off(int32_t n, double *x) {
  double largest = 0;
  for (int32_t i = 0; i < n; ++i) {
    largest = fmax(x[i], largest);
  }
  for (int32_t i = 0; i < n; ++i) {
    x[i] = x[i] > round_off * largest ? x[i] : 0;
  }
}

/* Keeps the better of z and s->best, whose residual is given; returns the residual of that one. */
static double keep_better(lcp_solver *s, int32_t n, double residual) {
  const double other = evaluate(s, n);
  if (other < residual) {
    return other;
  }
  memcpy(s->z, s->best, (size_t)n * sizeof(double));
  return evaluate(s, n);
}

/* Reads the solution of the dictionary's basis, as accurate as refinement makes it. */
static double read_solution(lcp_solver *s, int32_t n, double tolerance) {
  read_basic(s, n);
  double residual = evaluate(s, n);
  for (int k = 0; k < LCP_REFINEMENTS && residual > 0; ++k) {
    memcpy(s->best, s->z, (size_t)n * sizeof(double));
    refine(s, n);
    const double before = residual;
    residual = keep_better(s, n, before);
    if (!(residual < before / 2)) {
      break;
    }
  }
  if (residual > tolerance) {
    memcpy(s->best, s->z, (size_t)n * sizeof(double));
    drop_round_off(n, s->z);
    residual = keep_better(s, n, residual);
  }
  return residual;
}

static void read_basis(const struct lcp_tableau *t, int8_t *basis) {
  for (int32_t i = 0; i < t->n; ++i) {
    basis[i] = t->row[lcp_z(t, i)] >= 0;
  }
}

static lcp_outcome pivot(lcp_solver *s, struct attempt *a, int32_t cover, double feasible) {
  const lcp_settings *settings = a->settings;
  const int32_t many = 50 * a->n < 1000 ? 1000 : 50 * a->n;
  const struct lcp_limits limits = {
      .max_pivots = settings->max_pivots > 0 ? settings->max_pivots : many,
      .least_index_after =
          settings->least_index_after > 0 ? settings->least_index_after : a->n + 10,
      .cover = cover,
      .feasible = feasible};
  int32_t pivots = lcp_tableau_enter(&s->tableau, s->start, 1e-10);
  if (!lcp_tableau_is_complementary(&s->tableau)) {
    /* the start's block is singular */
    lcp_tableau_load(&s->tableau, a->n, s->M, s->q);
  }
  const lcp_outcome outcome = a->method == LCP_LEMKE ? lcp_lemke(&s->tableau, &limits, &pivots)
                                                     : lcp_principal(&s->tableau, &limits, &pivots);
  a->pivots += pivots;
  return outcome;
}

/* Reads the multipliers y >= 0 of w - M z = q in a row of the dictionary into s->defect. */
static void read_multipliers(lcp_solver *s, int32_t n, int32_t row) {
  const struct lcp_tableau *t = &s->tableau;
  for (int32_t i = 0; i < n; ++i) {
    const int32_t column = t->column[lcp_w(i)];
    s->defect[i] = column < 0 ? t->row[lcp_w(i)] == row : fmax(-lcp_column(t, column)[row], 0);
  }
  drop_round_off(n, s->defect);
}

/* Does y prove that no z >= 0 has w >= 0: y^T M <= 0 and y^T q < 0, as y^T w = y^T (M z + q)? Each
 * sum is judged by its absolute terms. */
static int proves_infeasible(const lcp_solver *s, int32_t n, double tolerance) {
  const double *y = s->defect;
  double value = 0, terms = 0;
  for (int32_t i = 0; i < n; ++i) {
    value += y[i] * s->q[i];
    terms += fabs(y[i] * s->q[i]);
  }
  if (!(value < -tolerance * terms)) {
    return 0;
  }
  for (int32_t j = 0; j < n; ++j) {
    double sum = 0, sizes = 0;
    for (int32_t i = 0; i < n; ++i) {
      sum += y[i] * s->M[(int64_t)i * n + j];
      sizes += fabs(y[i] * s->M[(int64_t)i * n + j]);
    }
    if (!(sum <= tolerance * sizes)) {
      return 0;
    }
  }
  return 1;
}

static int is_proved_infeasible(lcp_solver *s, int32_t n, double tolerance) {
  for (int32_t row = 0; row < n; ++row) {
    if (s->tableau.q[row] < 0) {
      read_multipliers(s, n, row);
      if (proves_infeasible(s, n, tolerance)) {
        return 1;
      }
    }
  }
  return 0;
}

/* Pivots from s->start; if round-off has spoilt the dictionary, continues from the last basis. */
static void try_cover(lcp_solver *s, struct attempt *a, int32_t cover) {
  double feasible = fmax(a->settings->tolerance / 100, 1e-13);
  for (int renewals = 0; renewals < LCP_MOST_RENEWALS; ++renewals, feasible *= lcp_finer) {
    lcp_tableau_load(&s->tableau, a->n, s->M, s->q);
    a->outcome = pivot(s, a, cover, feasible);
    a->residual = read_solution(s, a->n, a->settings->tolerance);
    if (!(a->residual < INFINITY)) {
      a->outcome = LCP_NON_FINITE;
      return;
    }
    if (a->residual <= a->settings->tolerance) {
      /* a path may end next to a solution where the artificial variable is round-off */
      a->outcome = LCP_SOLVED;
      return;
    }
    if (a->outcome == LCP_INFEASIBLE && !is_proved_infeasible(s, a->n, a->settings->tolerance)) {
      a->outcome = LCP_SINGULAR;
    }
    if (a->outcome != LCP_SOLVED) {
      return;
    }
    a->outcome = LCP_INACCURATE;
    read_basis(&s->tableau, s->start);
  }
}

/* Tries several artificial columns: a ray may mean that there is no solution, or a bad start. */
static void try_once(lcp_solver *s, struct attempt *a) {
  for (int32_t cover = 0; cover < LCP_MOST_COVERS; ++cover) {
    try_cover(s, a, cover);
    if (a->outcome != LCP_RAY) {
      return;
    }
  }
}

/* ---- attempts ---- */

static void regularize(lcp_solver *s, const lcp_problem *p, double lambda) {
  for (int32_t i = 0; i < p->n; ++i) {
    const int64_t diagonal = (int64_t)i * (p->n + 1);
    s->M[diagonal] = (p->M[diagonal] + lambda) * s->D[i] * s->D[i];
  }
}

/* Tries this method on this matrix, from the start and then without it; 1 if that solves it. */
static int try_method(lcp_solver *s, struct attempt *a, const int8_t *start,
                      lcp_solution *solution) {
  const size_t n = (size_t)a->n;
  for (int with_start = start != NULL; with_start >= 0; --with_start) {
    memset(s->start, 0, n);
    if (with_start) {
      memcpy(s->start, start, n);
    }
    try_once(s, a);
    ++solution->attempts;
    if (a->outcome == LCP_SOLVED) {
      return 1;
    }
  }
  return 0;
}

/* Returns the row, negative now, that reaches 0 last as only z_i grows, if z_j can replace w_j
 * there; else -1. */
static int32_t find_answer(const lcp_solver *s, int32_t n, int32_t i) {
  int32_t last = -1;
  double largest = 0;
  for (int32_t j = 0; j < n; ++j) {
    const double M_ji = s->M[(int64_t)j * n + i];
    if (M_ji > 0 && s->M[(int64_t)i * n + j] > 0 && -s->q[j] > largest * M_ji) {
      largest = -s->q[j] / M_ji;
      last = j;
    }
  }
  return last;
}

/* Solves games of two, M = [0, A; B, 0] > 0 and q < 0, where every artificial column leads to a ray
 * at once: paths begin at a strategy and the answer to it (Lemke and Howson 1964). */
static int try_answers(lcp_solver *s, struct attempt *a, lcp_solution *solution) {
  for (int32_t i = 0; i < a->n; ++i) {
    const int32_t j = s->M[(int64_t)i * (a->n + 1)] == 0 ? find_answer(s, a->n, i) : -1;
    if (j < 0) {
      continue;
    }
    memset(s->start, 0, (size_t)a->n);
    s->start[i] = s->start[j] = 1;
    try_once(s, a);
    ++solution->attempts;
    if (a->outcome == LCP_SOLVED) {
      return 1;
    }
  }
  return 0;
}

static int try_methods(lcp_solver *s, struct attempt *a, const int8_t *start,
                       lcp_solution *solution) {
  const lcp_method asked = a->settings->method;
  a->method = asked == LCP_LEMKE ? LCP_LEMKE : LCP_PPM;
  if (try_method(s, a, start, solution)) {
    return 1;
  }
  if (asked != LCP_AUTO || a->outcome == LCP_INFEASIBLE) {
    return 0;
  }
  a->method = LCP_LEMKE;
  return try_method(s, a, start, solution) || try_answers(s, a, solution);
}

static double largest_entry(const lcp_problem *p) {
  double largest = 0;
  for (int64_t i = 0; i < (int64_t)p->n * p->n; ++i) {
    largest = fmax(largest, fabs(p->M[i]));
  }
  return largest;
}

/* Is the solution of M + lambda I near one of M? It is not if lambda z is as large as q: if M has
 * no solution, z grows like 1/lambda. */
static int is_near_solution(const lcp_solver *s, const struct attempt *a) {
  double off = 0;
  for (int32_t i = 0; i < a->n; ++i) {
    off = fmax(off, a->lambda * s->D[i] * s->D[i] * s->z[i]);
  }
  return off <= sqrt(a->settings->tolerance);
}

/* Tries M + lambda I with growing lambda; 1 if one has a solution that is near one of M. */
static int try_regularized(lcp_solver *s, struct attempt *a, const lcp_problem *p,
                           const int8_t *start, lcp_solution *solution) {
  const lcp_settings *settings = a->settings;
  const double largest = largest_entry(p), scale = largest > 0 ? largest : 1;
  double level = settings->regularization_first;
  while (level <= settings->regularization_last * (1 + 1e-12)) {
    a->lambda = level * scale;
    regularize(s, p, a->lambda);
    if (try_methods(s, a, start, solution) && is_near_solution(s, a)) {
      return 1;
    }
    level *= settings->regularization_factor;
  }
  return 0;
}

/* Writes z in the units of the problem, and w for the matrix of the caller. */
static void report(const lcp_solver *s, const struct attempt *a, const lcp_problem *p,
                   double scale_q, lcp_solution *solution) {
  const int finite = a->outcome != LCP_NON_FINITE;
  for (int32_t i = 0; i < p->n; ++i) {
    solution->z[i] = finite ? s->z[i] * s->D[i] * scale_q : 0;
  }
  solution->residual = 0;
  for (int32_t i = 0; i < p->n; ++i) {
    double sum = p->q[i];
    for (int32_t j = 0; j < p->n; ++j) {
      sum += p->M[(int64_t)i * p->n + j] * solution->z[j];
    }
    solution->w[i] = sum;
    solution->residual = fmax(solution->residual, fabs(fmin(solution->z[i], sum)));
  }
  if (solution->basis) {
    read_basis(&s->tableau, solution->basis);
  }
  solution->outcome = a->outcome;
  solution->method = a->method;
  solution->pivots = a->pivots;
  solution->relative_residual = a->residual;
  solution->regularization = a->lambda;
}

static sap_status check(const lcp_solver *s, const lcp_settings *settings, const lcp_problem *p,
                        sap_error *error) {
  sap_status status = lcp_settings_check(settings, error);
  if (status != SAP_OK) {
    return status;
  }
  if (p->n < 0 || p->n > s->n_max) {
    return sap_invalid(error, "n", -1, p->n, "must be from 0 to n_max of lcp_create()");
  }
  status = sap_check_finite("M", (int64_t)p->n * p->n, p->M, error);
  return status == SAP_OK ? sap_check_finite("q", p->n, p->q, error) : status;
}

sap_status lcp_solve(lcp_solver *s, const lcp_settings *settings, const lcp_problem *problem,
                     const int8_t *start, lcp_solution *solution, sap_error *error) {
  const sap_status status = check(s, settings, problem, error);
  if (status != SAP_OK) {
    return status;
  }
  const double scale_q = lcp_scale(problem->n, problem->M, problem->q, s->D, s->M, s->q);
  struct attempt a = {.settings = settings, .n = problem->n};
  solution->attempts = 0;
  if (!try_methods(s, &a, start, solution) && settings->regularization_first > 0 &&
      !try_regularized(s, &a, problem, start, solution)) {
    /* the outcome for M itself counts */
    a.lambda = 0;
    regularize(s, problem, 0);
    try_methods(s, &a, start, solution);
  }
  report(s, &a, problem, scale_q, solution);
  return SAP_OK;
}
