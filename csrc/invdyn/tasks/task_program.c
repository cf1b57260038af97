#include "invdyn/tasks/task_program.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "invdyn/pyramid.h"
#include "lcp/program.h"

/* violation of a row that counts as none, and residual at which active rows hold, over the largest
 * force: gravity's or a limit */
static const double violation = 1e-10, held = 1e-13;
/* residual of the equations of motion over the same, above which a solution is inaccurate */
static const double inaccurate = 1e-8;

static int32_t whole_vectors(int32_t n) { return (n + 7) / 8 * 8; }

void task_program_carve(struct task_program *p, struct sap_arena *arena,
                        const tasks_settings *settings, const tasks_problem *most) {
  const size_t m = (size_t)most->m, n = (size_t)most->n, n_q = (size_t)most->n_q;
  const size_t n_b = m - n_q, ld = (m + 7) / 8 * 8, edges = (size_t)settings->edges;
  const size_t rows = n_b + n * edges + 2 * n_q;
  qp_active_set_carve(&p->set, most->m + 3 * most->n, (int32_t)rows, arena);
  p->b = sap_arena_take(arena, n_b, sizeof *p->b);
  p->at = sap_arena_take(arena, n + 1, sizeof *p->at);
  p->side = sap_arena_take(arena, n + 1, sizeof *p->side);
  p->source = sap_arena_take(arena, rows, sizeof *p->source);
  p->equality = sap_arena_take(arena, rows, sizeof *p->equality);
  p->start = sap_arena_take(arena, rows, sizeof *p->start);
  p->limit = sap_arena_take(arena, rows, sizeof *p->limit);
  p->normal = sap_arena_take(arena, 2 * edges, sizeof *p->normal);
  p->L = sap_arena_take(arena, m * ld, sizeof *p->L);
  p->rows = sap_arena_take(arena, (size_t)most->n_T * ld, sizeof *p->rows);
  double **const by_velocity[] = {&p->a_0, &p->a, &p->g};
  for (size_t i = 0; i < sizeof by_velocity / sizeof *by_velocity; ++i) {
    *by_velocity[i] = sap_arena_take(arena, m, sizeof(double));
  }
  p->force = sap_arena_take(arena, 3 * n, sizeof *p->force);
}

/* ---- the layout ------------------------------------------------------------------------------ */

static void find_unactuated(struct task_program *p) {
  const tasks_problem *problem = p->problem;
  memset(p->g, 0, (size_t)problem->m * sizeof *p->g);
  for (int32_t i = 0; i < problem->n_q; ++i) {
    p->g[problem->actuated[i]] = 1;
  }
  p->n_b = 0;
  for (int32_t j = 0; j < problem->m; ++j) {
    if (p->g[j] <= 0) {
      p->b[p->n_b++] = j;
    }
  }
}

/* Appends a row; `source` is its place among the active rows of the caller. */
static void append(struct task_program *p, int32_t source, double limit, const int8_t *active) {
  p->source[p->n_rows] = source;
  p->limit[p->n_rows] = limit;
  p->equality[p->n_rows] = source < 0;
  p->start[p->n_rows++] = (int8_t)(source >= 0 && isfinite(limit) && active && active[source]);
}

static void lay_out(struct task_program *p, const int8_t *active) {
  const tasks_problem *problem = p->problem;
  const int32_t edges = p->settings->edges, torques = problem->n * edges;
  p->n_rows = 0;
  for (int32_t i = 0; i < p->n_b; ++i) {
    append(p, -1, 0, active);
  }
  p->at[0] = problem->m;
  for (int32_t i = 0; i < problem->n; ++i) {
    const int32_t sides = problem->mu[i] > 0 ? edges : 1;
    p->side[i] = p->n_rows;
    p->at[i + 1] = p->at[i] + (problem->mu[i] > 0 ? 3 : 1);
    for (int32_t k = 0; k < sides; ++k) {
      append(p, i * edges + k, 0, active);
    }
  }
  p->side[problem->n] = p->n_rows;
  for (int32_t i = 0; i < problem->n_q; ++i) {
    append(p, torques + i, problem->lower ? problem->lower[i] : -INFINITY, active);
  }
  for (int32_t i = 0; i < problem->n_q; ++i) {
    append(p, torques + problem->n_q + i, problem->upper ? problem->upper[i] : INFINITY, active);
  }
  for (int32_t k = 0; k < edges; ++k) {
    invdyn_direction(k + 0.5, edges, p->normal + 2 * (int64_t)k);
  }
  p->inner = p->normal[0];
}

/* ---- the cost -------------------------------------------------------------------------------- */

/* Factors H and finds a_0; 0 if a number is not finite. */
static int reduce(struct task_program *p) {
  const tasks_problem *problem = p->problem;
  const int32_t m = problem->m, ld = p->ld;
  memset(p->L, 0, (size_t)m * (size_t)ld * sizeof *p->L);
  memset(p->a_0, 0, (size_t)m * sizeof *p->a_0);
  double largest = 0;
  for (int32_t j = 0; j < m; ++j) {
    p->L[(int64_t)j * (ld + 1)] = p->settings->acceleration_weight;
    largest = sap_larger(problem->M[(int64_t)j * (m + 1)], largest);
  }
  p->s = sqrt(p->settings->force_weight) / largest;
  for (int32_t i = 0; i < problem->n_T; ++i) {
    const double root = sqrt(problem->w[i]);
    const double *T = problem->T + (int64_t)i * m;
    double *row = p->rows + (int64_t)i * ld;
    for (int32_t j = 0; j < m; ++j) {
      row[j] = root * T[j];
      p->a_0[j] += problem->w[i] * problem->t[i] * T[j];
    }
  }
  p->kernels->multiply(m, m, problem->n_T, 1, p->rows, ld, p->rows, ld, p->L, ld, 1);
  if (p->kernels->factor(m, m, p->L, ld) < m) {
    return 0;
  }
  p->kernels->solve_forward(m, m, p->L, ld, p->a_0, NULL);
  p->kernels->solve_backward(m, m, p->L, ld, p->a_0, NULL);
  return isfinite(p->s);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Sets a, force, and g = M a + h - J^T f, which holds the torques and the residuals of the others.
 */
static void read_point(struct task_program *p, const double *y) {
  const tasks_problem *problem = p->problem;
  const int32_t m = problem->m;
  memcpy(p->a, y, (size_t)m * sizeof *p->a);
  p->kernels->solve_backward(m, m, p->L, p->ld, p->a, NULL);
  memcpy(p->g, problem->h, (size_t)m * sizeof *p->g);
  for (int32_t j = 0; j < m; ++j) {
    p->a[j] += p->a_0[j];
  }
  p->kernels->multiply(m, 1, m, 1, problem->M, m, p->a, 1, p->g, m, 0);
  for (int32_t i = 0; i < problem->n; ++i) {
    const double *f = y + p->at[i];
    double *force = p->force + 3 * (int64_t)i;
    const int has_friction = problem->mu[i] > 0;
    force[0] = has_friction ? f[0] / p->s : 0;
    force[1] = has_friction ? f[1] / p->s : 0;
    force[2] = f[has_friction ? 2 : 0] / p->s;
  }
  p->kernels->multiply(m, 1, 3 * problem->n, -1, problem->J, m, p->force, 1, p->g, m, 0);
}

static void evaluate(void *context, const double *y, double *slack) {
  struct task_program *p = context;
  const tasks_problem *problem = p->problem;
  read_point(p, y);
  for (int32_t i = 0; i < p->n_b; ++i) {
    *slack++ = p->g[p->b[i]];
  }
  for (int32_t i = 0; i < problem->n; ++i) {
    const double *force = p->force + 3 * (int64_t)i;
    if (problem->mu[i] <= 0) {
      *slack++ = force[2];
      continue;
    }
    for (int32_t k = 0; k < p->settings->edges; ++k) {
      const double *normal = p->normal + 2 * (int64_t)k;
      *slack++ = problem->mu[i] * p->inner * force[2] - normal[0] * force[0] - normal[1] * force[1];
    }
  }
  const double *limit = p->limit + p->side[problem->n];
  for (int32_t i = 0; i < 2 * problem->n_q; ++i) {
    const int is_upper = i >= problem->n_q;
    const double tau = p->g[problem->actuated[is_upper ? i - problem->n_q : i]];
    *slack++ = is_upper ? limit[i] - tau : tau - limit[i];
  }
}

/* Writes the row of the equation of motion of one velocity, times sign. */
static void read_equation(const struct task_program *p, int32_t velocity, double sign, double *x) {
  const tasks_problem *problem = p->problem;
  const int32_t m = problem->m;
  for (int32_t j = 0; j < m; ++j) {
    x[j] = sign * problem->M[(int64_t)velocity * m + j];
  }
  p->kernels->solve_forward(m, m, p->L, p->ld, x, NULL);
  for (int32_t i = 0; i < problem->n; ++i) {
    const int32_t first = problem->mu[i] > 0 ? 0 : 2;
    for (int32_t k = first; k < 3; ++k) {
      x[p->at[i] + k - first] = -sign / p->s * problem->J[(3 * (int64_t)i + k) * m + velocity];
    }
  }
}

/* Writes side `row` of contact i. */
static void read_side(const struct task_program *p, int32_t i, int32_t row, double *x) {
  memset(x, 0, (size_t)p->set.n * sizeof *x);
  double *f = x + p->at[i];
  if (p->problem->mu[i] <= 0) {
    f[0] = 1 / p->s;
    return;
  }
  const double *normal = p->normal + 2 * (int64_t)(row - p->side[i]);
  f[0] = -normal[0] / p->s;
  f[1] = -normal[1] / p->s;
  f[2] = p->problem->mu[i] * p->inner / p->s;
}

static void read_row(void *context, int32_t row, double *x) {
  const struct task_program *p = context;
  const tasks_problem *problem = p->problem;
  const int32_t torques = p->side[problem->n], n_q = problem->n_q;
  if (row < p->n_b) {
    read_equation(p, p->b[row], 1, x);
  } else if (row >= torques) {
    const int is_upper = row - torques >= n_q;
    const int32_t motor = row - torques - (is_upper ? n_q : 0);
    read_equation(p, problem->actuated[motor], is_upper ? -1 : 1, x);
  } else {
    const int32_t place = p->source[row];
    read_side(p, place / p->settings->edges, row, x);
  }
}

/* ---- the solution ---------------------------------------------------------------------------- */

/* Returns the size of forces by which rows are judged. */
static double force_scale(const struct task_program *p) {
  double largest = qp_largest(p->problem->m, p->problem->h);
  for (int32_t i = p->side[p->problem->n]; i < p->n_rows; ++i) {
    largest = isfinite(p->limit[i]) ? sap_larger(fabs(p->limit[i]), largest) : largest;
  }
  return sap_larger(largest, 1);
}

/* Returns the length of the array of active rows. */
static size_t active_length(const struct task_program *p) {
  return (size_t)p->problem->n * (size_t)p->settings->edges + 2 * (size_t)p->problem->n_q;
}

static void write_active(const struct task_program *p, int8_t *active) {
  memset(active, 0, active_length(p));
  for (int32_t k = 0; k < p->set.n_active; ++k) {
    const int32_t row = p->set.row[k];
    if (p->source[row] >= 0) {
      active[p->source[row]] = 1;
    }
  }
}

/* Writes accelerations, forces and torques, and the residual with torques within their limits. */
static void write_solution(const struct task_program *p, tasks_solution *solution) {
  const tasks_problem *problem = p->problem;
  const double *lower = p->limit + p->side[problem->n], *upper = lower + problem->n_q;
  memcpy(solution->a, p->a, (size_t)problem->m * sizeof *p->a);
  for (int32_t i = 0; i < 3 * problem->n; ++i) {
    solution->forces[i] = p->force[i];
  }
  solution->residual = 0;
  for (int32_t i = 0; i < problem->n_q; ++i) {
    const double tau = p->g[problem->actuated[i]];
    solution->tau[i] = sap_lesser(sap_larger(tau, lower[i]), upper[i]);
    solution->residual = sap_larger(fabs(solution->tau[i] - tau), solution->residual);
  }
  for (int32_t i = 0; i < p->n_b; ++i) {
    solution->residual = sap_larger(fabs(p->g[p->b[i]]), solution->residual);
  }
  if (solution->active) {
    write_active(p, solution->active);
  }
}

static void write_nothing(const struct task_program *p, tasks_outcome outcome,
                          tasks_solution *solution) {
  const tasks_problem *problem = p->problem;
  memset(solution->a, 0, (size_t)problem->m * sizeof *solution->a);
  for (int32_t i = 0; i < problem->n_q; ++i) {
    solution->tau[i] = 0;
  }
  for (int32_t i = 0; i < 3 * problem->n; ++i) {
    solution->forces[i] = 0;
  }
  if (solution->active) {
    memset(solution->active, 0, active_length(p));
  }
  solution->outcome = outcome;
  solution->residual = 0;
}

void task_program_solve(struct task_program *p, const tasks_settings *settings,
                        const tasks_problem *problem, tasks_solution *solution) {
  p->problem = problem;
  p->settings = settings;
  p->ld = whole_vectors(problem->m);
  p->set.kernels = p->kernels;
  find_unactuated(p);
  lay_out(p, solution->active);
  solution->changes = 0;
  if (!reduce(p)) {
    write_nothing(p, TASKS_NON_FINITE, solution);
    return;
  }
  const double scale = force_scale(p);
  const struct qp_active_rows rows = {.context = p,
                                      .n_rows = p->n_rows,
                                      .equality = p->equality,
                                      .evaluate = evaluate,
                                      .read_row = read_row,
                                      .allowed = violation * scale,
                                      .held = held * scale};
  const int32_t n = p->at[problem->n];
  const enum qp_active_end end = qp_active_set_solve(&p->set, n, &rows, p->start);
  solution->changes = p->set.changes;
  if (end != QP_ACTIVE_SOLVED) {
    write_nothing(p, TASKS_ITERATION_LIMIT, solution);
    return;
  }
  if (!isfinite(qp_largest(problem->m, p->g))) {
    write_nothing(p, TASKS_NON_FINITE, solution);
    return;
  }
  write_solution(p, solution);
  solution->outcome = solution->residual > inaccurate * scale ? TASKS_INACCURATE : TASKS_SOLVED;
}
