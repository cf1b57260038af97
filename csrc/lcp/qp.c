/* This file solves quadratic programs: it checks them, calls the parts in order and writes results
 * in the units of the problem. */
#include "sapwood/qp.h"

#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/fail.h"
#include "lcp/definite.h"
#include "lcp/interior.h"
#include "lcp/lcp_tuning.h"
#include "lcp/optimality.h"

/* A negative eigenvalue of H up to this part of its largest entry counts as round-off. */
static const double convexity = 1e-9;

struct qp_solver {
  sap_allocator allocator;
  struct sap_block block;
  struct qp_sizes most;
  struct qp_program program;
  struct qp_condensed condensed;
  struct qp_interior interior;
  struct qp_definite definite;
};

/* ---- settings ---- */

qp_settings qp_settings_default(void) {
  return (qp_settings){.tolerance = 1e-9, .max_iterations = 100, .polish = 1, .check_convex = 1};
}

sap_status qp_settings_check(const qp_settings *s, sap_error *error) {
  const struct sap_scalar_rule rules[] = {
      {"tolerance", s->tolerance, s->tolerance > 0 && s->tolerance < 1, "must be in (0, 1)"},
      {"max_iterations", s->max_iterations, s->max_iterations >= 0, "must be >= 0"},
      {"polish", s->polish, s->polish == 0 || s->polish == 1, "must be 0 or 1"},
      {"check_convex", s->check_convex, s->check_convex == 0 || s->check_convex == 1,
       "must be 0 or 1"},
  };
  return sap_check_rules(rules, sizeof rules / sizeof *rules, error);
}

static const char *const outcome_text[] = {
    "solved",     "infeasible", "unbounded",  "iteration_limit",
    "inaccurate", "not_convex", "non_finite",
};
_Static_assert(sizeof outcome_text / sizeof *outcome_text == QP_NON_FINITE + 1,
               "one text per outcome");

const char *qp_outcome_text(qp_outcome outcome) {
  return outcome <= QP_NON_FINITE ? outcome_text[outcome] : "unknown outcome";
}

/* ---- memory ---- */

static void carve(void *context, struct sap_arena *arena) {
  qp_solver *s = context;
  qp_program_carve(&s->program, arena, &s->most);
  qp_condensed_carve(&s->condensed, arena, &s->most);
  qp_interior_carve(&s->interior, arena, &s->most);
  qp_definite_carve(&s->definite, arena, &s->most);
}

sap_status qp_create(qp_solver **solver, int32_t n_max, int32_t n_equalities_max,
                     int32_t n_inequalities_max, const sap_allocator *allocator, sap_error *error) {
  *solver = NULL;
  if (n_max < 0) {
    return sap_invalid(error, "n_max", -1, n_max, "must be >= 0");
  }
  if (n_equalities_max < 0) {
    return sap_invalid(error, "n_equalities_max", -1, n_equalities_max, "must be >= 0");
  }
  if (n_inequalities_max < 0) {
    return sap_invalid(error, "n_inequalities_max", -1, n_inequalities_max, "must be >= 0");
  }
  const sap_allocator memory = sap_allocator_or_default(allocator);
  qp_solver *s = memory.allocate(sizeof *s, memory.context);
  if (!s) {
    return SAP_OUT_OF_MEMORY;
  }
  *s = (qp_solver){.allocator = memory, .most = {n_max, n_equalities_max, n_inequalities_max}};
  s->program.kernels = sap_kernels_best();
  s->interior.program = &s->program;
  s->interior.condensed = &s->condensed;
  s->definite.program = &s->program;
  s->definite.set.kernels = s->program.kernels;
  if (!sap_block_carve(&s->block, carve, s, &memory)) {
    memory.release(s, memory.context);
    return SAP_OUT_OF_MEMORY;
  }
  *solver = s;
  return SAP_OK;
}

void qp_destroy(qp_solver *solver) {
  if (solver) {
    const sap_allocator memory = solver->allocator;
    sap_block_release(&solver->block, &memory);
    memory.release(solver, memory.context);
  }
}

/* ---- checks ---- */

/* Checks that no value is NaN or equal to the infinity `wrong`. */
static sap_status check_bound(const char *argument, int32_t n, const double *x, double wrong,
                              const char *rule, sap_error *error) {
  for (int32_t i = 0; i < n; ++i) {
    if (isnan(x[i]) || x[i] == wrong) {
      return sap_invalid(error, argument, i, x[i], rule);
    }
  }
  return SAP_OK;
}

static sap_status check_sizes(const qp_solver *s, const qp_problem *p, sap_error *error) {
  const struct {
    const char *name;
    int32_t value, most;
  } sizes[] = {{"n", p->n, s->most.n},
               {"n_equalities", p->n_equalities, s->most.n_equalities},
               {"n_inequalities", p->n_inequalities, s->most.n_inequalities}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    if (sizes[i].value < 0 || sizes[i].value > sizes[i].most) {
      return sap_invalid(error, sizes[i].name, -1, sizes[i].value,
                         "must be from 0 to what qp_create() has made room for");
    }
  }
  return SAP_OK;
}

static sap_status check(const qp_solver *s, const qp_problem *p, sap_error *error) {
  const int64_t n = p->n;
  const struct {
    const char *name;
    int64_t n;
    const double *x;
  } finite[] = {{"H", n * n, p->H},
                {"g", n, p->g},
                {"A", n * p->n_equalities, p->A},
                {"b", p->n_equalities, p->b},
                {"C", n * p->n_inequalities, p->C}};
  sap_status status = check_sizes(s, p, error);
  for (size_t i = 0; i < sizeof finite / sizeof *finite && status == SAP_OK; ++i) {
    status = sap_check_finite(finite[i].name, finite[i].n, finite[i].x, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  if (p->n_inequalities > 0 && !p->d) {
    return sap_invalid(error, "d", -1, NAN, "must be given");
  }
  status = check_bound("d", p->n_inequalities, p->d, INFINITY, "must be finite or -inf", error);
  if (status == SAP_OK && p->lower) {
    status = check_bound("lower", p->n, p->lower, INFINITY, "must be finite or -inf", error);
  }
  if (status == SAP_OK && p->upper) {
    status = check_bound("upper", p->n, p->upper, -INFINITY, "must be finite or inf", error);
  }
  for (int32_t i = 0; i < p->n && status == SAP_OK && p->lower && p->upper; ++i) {
    if (p->lower[i] > p->upper[i]) {
      return sap_invalid(error, "upper", i, p->upper[i], "must be >= lower");
    }
  }
  return status;
}

static sap_status check_start(const qp_problem *p, const qp_start *start, sap_error *error) {
  const struct {
    const char *name;
    int32_t n;
    const double *x;
  } arrays[] = {{"start.x", p->n, start->x},
                {"start.y", p->n_equalities, start->y},
                {"start.lambda", p->n_inequalities, start->lambda},
                {"start.bounds", p->n, start->bounds}};
  sap_status status = SAP_OK;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays && status == SAP_OK; ++i) {
    if (arrays[i].x) {
      status = sap_check_finite(arrays[i].name, arrays[i].n, arrays[i].x, error);
    }
  }
  return status;
}

/* ---- the start ---- */

/* Returns the multiplier of a row in the start, or 0. */
static double given_multiplier(const struct qp_program *p, const qp_problem *q,
                               const qp_start *start, int32_t row) {
  const int32_t given = q->n_equalities + q->n_inequalities, source = p->source[row];
  if (source < q->n_equalities) {
    return start->y ? start->y[source] : 0;
  }
  if (source < given) {
    return start->lambda ? start->lambda[source - q->n_equalities] : 0;
  }
  const double sign = p->sign[row - p->n_dense - p->n_sparse];
  return start->bounds ? sign * start->bounds[(source - given) % q->n] : 0;
}

/* Finds the inequalities that are active in the start, which may be NULL. */
static void find_expected_rows(qp_solver *s, const qp_problem *q, const qp_start *start) {
  const struct qp_program *p = &s->program;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    s->definite.start[i] = start && given_multiplier(p, q, start, i) > 0;
  }
}

/* Loads best_x and best_l from the start, scaled. */
static void load_start(qp_solver *s, const qp_problem *q, const qp_start *start) {
  const struct qp_program *p = &s->program;
  for (int32_t i = 0; i < p->n; ++i) {
    s->interior.best_x[i] = start->x ? start->x[i] / (p->beta * p->E[i]) : 0;
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const double multiplier = given_multiplier(p, q, start, i) * p->k / (p->beta * p->F[i]);
    s->interior.best_l[i] = p->equality[i] ? multiplier : fmax(multiplier, 0);
  }
}

/* ---- results ---- */

/* Writes the multipliers of the rows to the arrays of their sources. */
static void scatter(const qp_solver *s, const qp_problem *q, double scale, double *y,
                    double *lambda, double *bounds) {
  const struct qp_program *p = &s->program;
  const int32_t given = q->n_equalities + q->n_inequalities;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const double multiplier = scale * p->F[i] * s->interior.l[i];
    const int32_t source = p->source[i];
    if (source < q->n_equalities && y) {
      y[source] = multiplier;
    } else if (source >= q->n_equalities && source < given && lambda) {
      lambda[source - q->n_equalities] = multiplier;
    } else if (source >= given && bounds) {
      bounds[(source - given) % q->n] += p->sign[i - p->n_dense - p->n_sparse] * multiplier;
    }
  }
}

static void write_multipliers(const qp_solver *s, const qp_problem *q, double scale,
                              qp_solution *out) {
  double *const array[] = {out->y, out->lambda, out->bounds};
  const int32_t length[] = {q->n_equalities, q->n_inequalities, q->n};
  for (size_t i = 0; i < sizeof array / sizeof *array; ++i) {
    if (array[i]) {
      memset(array[i], 0, (size_t)length[i] * sizeof(double));
    }
  }
  scatter(s, q, scale, out->y, out->lambda, out->bounds);
}

/* Writes the residuals of x and l in the units of the problem. */
static void write_residuals(qp_solver *s, qp_solution *out) {
  struct qp_interior *w = &s->interior;
  const struct qp_program *p = &s->program;
  const double of_cost = p->beta * p->beta / p->k;
  out->relative_residual = qp_relative_residual(p, w->x, w->l, w->f, w->dx, w->h);
  memset(w->Hx, 0, (size_t)p->n * sizeof(double));
  qp_add_hessian(p, 1, w->x, w->Hx);
  out->objective = of_cost * (0.5 * qp_dot(p->n, w->x, w->Hx) + qp_dot(p->n, p->g, w->x));
  memcpy(w->r_x, p->g, (size_t)p->n * sizeof(double));
  qp_add_hessian(p, 1, w->x, w->r_x);
  qp_add_rows(p, -1, w->l, w->r_x);
  qp_rows(p, w->x, w->r_s);
  out->primal_residual = out->dual_residual = 0;
  for (int32_t i = 0; i < p->n; ++i) {
    const double scale = p->beta / (p->k * p->E[i]);
    out->dual_residual = fmax(out->dual_residual, scale * fabs(w->r_x[i]));
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const double r = p->r[i] - w->r_s[i];
    out->primal_residual =
        fmax(out->primal_residual, p->beta / p->F[i] * (p->equality[i] ? fabs(r) : r));
  }
  out->gap = of_cost *
             (qp_dot(p->n, w->x, w->Hx) + qp_dot(p->n, p->g, w->x) - qp_dot(p->n_rows, p->r, w->l));
}

/* Scales the proof l that no point is feasible to r^T l = 1; it holds for any cost. Of the two
 * multipliers of a variable between bounds at most one is not 0. */
static void normalize_proof(qp_solver *s) {
  struct qp_interior *w = &s->interior;
  struct qp_program *p = &s->program;
  const int32_t first = p->n_dense + p->n_sparse;
  for (int32_t i = 0; i + 1 < p->n_bounds; ++i) {
    double *l = w->l + first + i;
    const double both = p->bound[i] == p->bound[i + 1] ? fmin(l[0], l[1]) : 0;
    l[0] -= both;
    l[1] -= both;
  }
  qp_program_drop_cost(p);
  memset(w->x, 0, (size_t)p->n * sizeof(double));
  const double value = p->beta * p->beta * qp_dot(p->n_rows, p->r, w->l);
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->l[i] /= value;
  }
}

/* Moves x onto bounds that it violates by round-off. */
static void move_into_bounds(qp_solver *s) {
  const struct qp_program *p = &s->program;
  const int32_t first = p->n_dense + p->n_sparse;
  for (int32_t i = 0; i < p->n_bounds; ++i) {
    double *x = &s->interior.x[p->bound[i]];
    const double bound = p->sign[i] * p->r[first + i];
    *x = p->equality[first + i] || p->sign[i] * (bound - *x) > 0 ? bound : *x;
  }
}

static void write_solution(qp_solver *s, const qp_problem *q, qp_solution *out) {
  struct qp_interior *w = &s->interior;
  const struct qp_program *p = &s->program;
  if (out->outcome == QP_INFEASIBLE) {
    normalize_proof(s);
  }
  double scale_x = p->beta;
  const double scale_l = p->beta / p->k;
  if (out->outcome == QP_UNBOUNDED) {
    /* the direction has g^T x = -1 */
    memset(w->l, 0, (size_t)p->n_rows * sizeof(double));
    scale_x = -p->k / (p->beta * qp_dot(p->n, p->g, w->x));
  } else if (out->outcome == QP_NON_FINITE || out->outcome == QP_NOT_CONVEX) {
    memset(w->x, 0, (size_t)p->n * sizeof(double));
    memset(w->l, 0, (size_t)p->n_rows * sizeof(double));
  }
  if (out->outcome == QP_SOLVED) {
    move_into_bounds(s);
  }
  write_residuals(s, out);
  for (int32_t i = 0; i < p->n; ++i) {
    out->x[i] = scale_x * p->E[i] * w->x[i];
  }
  write_multipliers(s, q, scale_l, out);
}

static int is_convex(qp_solver *s) {
  const struct qp_program *p = &s->program;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    s->condensed.W[i] = 0;
  }
  return qp_condensed_factor(&s->condensed, p, convexity / 2700);
}

/* Is the outcome in doubt, because nothing is known, or because x is so large compared with the
 * constraints that it hides infeasibility? Uses the results of write_residuals(). */
static int is_in_doubt(const qp_solver *s, const qp_settings *settings, const qp_solution *out) {
  return out->outcome == QP_INACCURATE ||
         (out->outcome == QP_SOLVED &&
          qp_hides_rows(&s->program, s->interior.r_s, settings->tolerance));
}

/* Solves the same program without its cost: if that has no solution, neither has the program. */
static void look_for_proof(qp_solver *s, const qp_settings *settings, const qp_problem *q,
                           qp_solution *out) {
  qp_program_drop_cost(&s->program);
  const qp_outcome outcome = qp_interior_solve(&s->interior, settings, &out->iterations);
  if (outcome == QP_INFEASIBLE) {
    out->outcome = QP_INFEASIBLE;
    out->polished = 0;
    write_solution(s, q, out);
  } else if (outcome != QP_SOLVED) {
    out->outcome = QP_INACCURATE;
  }
}

/* Tries to solve a program with a positive definite H by its active rows. */
static int solve_definite(qp_solver *s, const qp_settings *settings, const qp_problem *q,
                          const qp_start *start) {
  if (!qp_definite_factor(&s->definite)) {
    return 0;
  }
  find_expected_rows(s, q, start);
  if (!qp_definite_solve(&s->definite, qp_polished_share * settings->tolerance)) {
    return 0;
  }
  memcpy(s->interior.x, s->definite.x, (size_t)s->program.n * sizeof(double));
  memcpy(s->interior.l, s->definite.l, (size_t)s->program.n_rows * sizeof(double));
  return 1;
}

static void solve_semidefinite(qp_solver *s, const qp_settings *settings, const qp_problem *q,
                               const qp_start *start, qp_solution *out) {
  out->polished = 0;
  if (settings->check_convex && !is_convex(s)) {
    out->outcome = QP_NOT_CONVEX;
    return;
  }
  const int resumes = start && settings->polish;
  if (resumes) {
    load_start(s, q, start);
  }
  out->outcome = resumes && qp_interior_resume(&s->interior, settings)
                     ? QP_SOLVED
                     : qp_interior_solve(&s->interior, settings, &out->iterations);
  out->polished = s->interior.polished;
}

sap_status qp_solve(qp_solver *s, const qp_settings *settings, const qp_problem *problem,
                    const qp_start *start, qp_solution *solution, sap_error *error) {
  sap_status status = qp_settings_check(settings, error);
  if (status == SAP_OK) {
    status = check(s, problem, error);
  }
  if (status == SAP_OK && start) {
    status = check_start(problem, start, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  qp_program_load(&s->program, problem);
  solution->iterations = 0;
  if (settings->polish && solve_definite(s, settings, problem, start)) {
    solution->outcome = QP_SOLVED;
    solution->polished = 1;
  } else {
    solve_semidefinite(s, settings, problem, start, solution);
  }
  write_solution(s, problem, solution);
  if (is_in_doubt(s, settings, solution)) {
    look_for_proof(s, settings, problem, solution);
  }
  return SAP_OK;
}
