#include "invdyn/stages.h"

#include <math.h>
#include <string.h>

#include "invdyn/holding.h"
#include "invdyn/invdyn_tuning.h"
#include "invdyn/pyramid.h"

/* Parts of the largest term of a held row: a residual is round-off below the first, and below the
 * second if it does not fall from one pass to the next. */
static const double round_off = 1e-15, noise = 1e-9;

void invdyn_stages_carve(struct invdyn_stages *stages, const invdyn_settings *settings,
                         const invdyn_problem *most, struct sap_arena *arena) {
  const int32_t n = most->n, n_q = most->n_q, n_b = most->m - n_q;
  const int32_t c = invdyn_is_noslip(settings) ? 3 : settings->edges;
  const int32_t n_F = n + (most->torque_limit ? 2 * n_q : 0);
  const int32_t n_E = most->torque_limit && invdyn_is_noslip(settings) ? 2 * n : 0;
  const int32_t d = n_b + n_q + n_F + n_E + (settings->force_regularization > 0.0 ? 3 * n : 0);
  stages->is_limited = sap_arena_take(arena, (size_t)n_q, 1);
  stages->edge = sap_arena_take(arena, 3 * (size_t)n * (size_t)c, sizeof(double));
  stages->share = sap_arena_take(arena, (size_t)n * (size_t)c, sizeof(double));
  stages->map = sap_arena_take(arena, 3 * (size_t)n * (size_t)n_q, sizeof(double));
  stages->offset = sap_arena_take(arena, (size_t)n_q, sizeof(double));
  stages->y = sap_arena_take(arena, (size_t)n_b, sizeof(double));
  stages->u = sap_arena_take(arena, 3 * (size_t)n, sizeof(double));
  stages->target = sap_arena_take(arena, (size_t)d, sizeof(double));
  stages->reached = sap_arena_take(arena, (size_t)d, sizeof(double));
  stages->residual = sap_arena_take(arena, (size_t)d, sizeof(double));
  invdyn_distance_carve(&stages->distance, n * c + n_F, d, arena);
  invdyn_warm_start_carve(&stages->one, n, (const int32_t[]){c, 1, 0}, n_F - n, arena);
  invdyn_warm_start_carve(&stages->two, n, (const int32_t[]){c, 0, 0}, n_F - n, arena);
}

/* ---- edges ----------------------------------------------------------------------------------- */

static void set_edges(struct invdyn_stages *stages, const invdyn_problem *problem) {
  const int noslip = invdyn_is_noslip(stages->settings);
  const int32_t c = stages->n_edges = noslip ? 3 : stages->settings->edges;
  for (int32_t k = 0; k < c; ++k) {
    double unit[2];
    invdyn_direction(k, c, unit);
    for (int32_t i = 0; i < problem->n; ++i) {
      double *e = stages->edge + 3 * ((int64_t)i * c + k);
      if (noslip) { /* normal, tangent, tangent */
        e[0] = k == 1;
        e[1] = k == 2;
        e[2] = k == 0;
      } else {
        e[0] = problem->mu[i] * unit[0];
        e[1] = problem->mu[i] * unit[1];
        e[2] = 1.0;
      }
    }
  }
}

/* May the share of this edge of a contact have any sign? */
static int is_free(const struct invdyn_stages *stages, int32_t edge) {
  return edge > 0 && invdyn_is_noslip(stages->settings);
}

/* Returns e^T u of edge j of all. */
static double along(const struct invdyn_stages *stages, int32_t j, const double *u) {
  const double *e = stages->edge + 3 * (int64_t)j, *at = u + 3 * (int64_t)(j / stages->n_edges);
  return e[0] * at[0] + e[1] * at[1] + e[2] * at[2];
}

static void impulses(const struct invdyn_stages *stages, int32_t n, double *z) {
  memset(z, 0, 3 * (size_t)n * sizeof(double));
  for (int32_t j = 0; j < n * stages->n_edges; ++j) {
    for (int32_t a = 0; a < 3; ++a) {
      z[3 * (j / stages->n_edges) + a] += stages->share[j] * stages->edge[3 * (int64_t)j + a];
    }
  }
}

/* ---- rows of X, E and F ---------------------------------------------------------------------- */

/* Begins without rows, for the edges of n contacts and n_slack slack variables. */
static void begin_rows(struct invdyn_stages *stages, int32_t n, int32_t n_slack) {
  struct invdyn_distance *distance = &stages->distance;
  distance->d = 0;
  distance->negligible = 0.0;
  distance->n = distance->ld = n * stages->n_edges + n_slack;
  memset(distance->b, 0, (size_t)distance->n * sizeof(double));
  for (int32_t j = 0; j < distance->n; ++j) {
    distance->equal[j] = j < n * stages->n_edges && is_free(stages, j % stages->n_edges);
  }
}

/* Neglects impulses that no torques determine: tangential impulses of no-slip contacts that cancel
 * on the base, whose rows are heavy, and that motors hardly feel, however large they are. */
static void neglect_weak_impulses(struct invdyn_stages *stages) {
  if (invdyn_is_noslip(stages->settings)) {
    stages->distance.negligible = stages->settings->rank_tolerance / invdyn_equality_weight;
  }
}

static double *next_row(struct invdyn_stages *stages, double target) {
  struct invdyn_distance *distance = &stages->distance;
  double *row = distance->At + (int64_t)distance->d * distance->ld;
  stages->target[distance->d++] = target;
  memset(row, 0, (size_t)distance->n * sizeof(double));
  return row;
}

/* Fills factor * J e for row `at` of J (n, 3, width), the effect of the shares of edges. */
static void fill_row(const struct invdyn_stages *stages, int32_t n, const double *J, int32_t width,
                     int32_t at, double factor, double *row) {
  for (int32_t i = 0; i < n; ++i) {
    const double *J_i = J + 3 * (int64_t)i * width + at;
    for (int32_t k = 0; k < stages->n_edges; ++k) {
      const double *e = stages->edge + 3 * ((int64_t)i * stages->n_edges + k);
      row[i * stages->n_edges + k] =
          factor * (e[0] * J_i[0] + e[1] * J_i[width] + e[2] * J_i[2 * (int64_t)width]);
    }
  }
}

/* Adds the rows sqrt(weight) z. */
static void add_impulse_rows(struct invdyn_stages *stages, int32_t n, double weight) {
  const double factor = sqrt(weight);
  for (int32_t i = 0; i < 3 * n && weight > 0.0; ++i) {
    double *row = next_row(stages, 0.0);
    for (int32_t k = 0; k < stages->n_edges; ++k) {
      const int64_t j = (int64_t)(i / 3) * (int64_t)stages->n_edges + (int64_t)k;
      row[j] = factor * stages->edge[3 * j + (int64_t)(i % 3)];
    }
  }
}

/* Adds u_n + phi/dt >= 0, for slack variables from `slack` on, and u_t = 0 if contacts hold. */
static void add_velocity_rows(struct invdyn_stages *stages,
                              const struct invdyn_reduction *reduction, int holds, int32_t slack) {
  const int32_t n = reduction->problem->n, n_b = reduction->n_b;
  for (int32_t i = 0; i < 3 * n; ++i) {
    const int is_normal = i % 3 == 2;
    if (!is_normal && !holds) {
      continue;
    }
    double *row = next_row(stages, -reduction->free_velocity[i]);
    const double *direction = reduction->J_y + (int64_t)i * n_b;
    for (int32_t j = 0; j < n * stages->n_edges; ++j) {
      const double *e = stages->edge + 3 * (int64_t)j;
      const double *J = reduction->J_y + 3 * (int64_t)(j / stages->n_edges) * n_b;
      for (int32_t k = 0; k < n_b; ++k) {
        row[j] += direction[k] * (e[0] * J[k] + e[1] * J[n_b + k] + e[2] * J[2 * n_b + k]);
      }
    }
    if (is_normal) {
      row[slack + i / 3] = -1.0;
    }
  }
}

/* Adds -limit <= offset - map e <= limit where limits count, for slack variables from `slack`
 * on. */
static void add_limit_rows(struct invdyn_stages *stages, const invdyn_problem *problem,
                           const double *map, int32_t slack) {
  for (int32_t i = 0; stages->n_limits > 0 && i < problem->n_q; ++i) {
    const double limit = problem->torque_limit[i] * problem->dt;
    for (int32_t side = -1; side < 2 && stages->is_limited[i]; side += 2) {
      double *row = next_row(stages, -limit - side * stages->offset[i]);
      fill_row(stages, problem->n, map, problem->n_q, i, -side, row);
      row[slack++] = -1.0;
    }
  }
}

/* Residual of the held rows, and the step of the method of multipliers along it. Steps grow while
 * the residual stays the same, which may last until the active rows are those of the solution. */
struct pass {
  double residual, step;
};

/* Moves the targets of held rows by their residuals. Returns 0 at the end: the residual is
 * round-off, or remains for any step because the rows contradict each other. */
static int multiply(struct invdyn_stages *stages, int32_t first_equality, double weight,
                    struct pass *pass) {
  const struct invdyn_distance *distance = &stages->distance;
  const double before = pass->residual;
  double largest = 0.0;
  pass->residual = 0.0;
  for (int32_t i = first_equality; i < distance->d; ++i) {
    const double *row = distance->At + (int64_t)i * distance->ld;
    double residual = stages->target[i], size = fabs(residual);
    for (int32_t j = 0; j < distance->n; ++j) {
      residual -= row[j] * distance->u[j] / weight;
      size = fmax(size, fabs(row[j] * distance->u[j] / weight));
    }
    stages->residual[i] = residual;
    largest = fmax(largest, size);
    pass->residual = fmax(pass->residual, fabs(residual));
  }
  const int falls = pass->residual < invdyn_slowest_fall * before;
  if (pass->residual <= (falls ? round_off : noise) * largest ||
      (!falls && pass->step >= invdyn_longest_step)) {
    return 0;
  }
  pass->step = falls ? 1.0 : invdyn_growth * pass->step;
  for (int32_t i = first_equality; i < distance->d; ++i) {
    stages->reached[i] += pass->step * stages->residual[i];
  }
  return 1;
}

/* Solves with rows from `first_equality` on as equalities, from active rows `start` or NULL. Writes
 * shares. */
static enum invdyn_distance_end solve_rows(struct invdyn_stages *stages, int32_t first_equality,
                                           int32_t n_shares, const int8_t *start) {
  struct invdyn_distance *distance = &stages->distance;
  double minimised = 0.0, equalities = 0.0;
  for (int32_t i = 0; i < distance->d; ++i) {
    const double *row = distance->At + (int64_t)i * distance->ld;
    for (int32_t j = 0; j < n_shares; ++j) {
      *(i < first_equality ? &minimised : &equalities) += row[j] * row[j];
    }
  }
  const double weight = invdyn_equality_weight *
                        (equalities > 0.0 && minimised > 0.0 ? sqrt(minimised / equalities) : 1.0);
  for (int32_t i = first_equality; i < distance->d; ++i) {
    double *row = distance->At + (int64_t)i * distance->ld;
    for (int32_t j = 0; j < distance->n; ++j) {
      row[j] *= weight;
    }
  }
  memcpy(stages->reached, stages->target, (size_t)distance->d * sizeof(double));
  enum invdyn_distance_end end = INVDYN_NEAREST;
  struct pass last = {.residual = INFINITY, .step = 1.0};
  for (int32_t pass = 0; pass < INVDYN_MOST_PASSES && end == INVDYN_NEAREST; ++pass) {
    if (pass > 0 && !multiply(stages, first_equality, weight, &last)) {
      break;
    }
    for (int32_t i = 0; i < distance->d; ++i) {
      distance->x0[i] = -stages->reached[i] * (i < first_equality ? 1.0 : weight);
    }
    end = pass == 0 ? invdyn_distance_solve(distance, start) : invdyn_distance_resume(distance);
  }
  if (end == INVDYN_NEAREST) {
    memcpy(stages->share, distance->u, (size_t)n_shares * sizeof(double));
  }
  return end;
}

/* Solves from the active rows of the last call, and stores those of this one. */
static enum invdyn_distance_end solve_stage(struct invdyn_stages *stages,
                                            const invdyn_problem *problem,
                                            struct invdyn_warm_start *warm_start,
                                            int32_t first_equality) {
  const int32_t n_slack = 2 * stages->n_limits;
  const int8_t *start = invdyn_warm_start_load(warm_start, problem, n_slack);
  const enum invdyn_distance_end end =
      solve_rows(stages, first_equality, problem->n * stages->n_edges, start);
  if (end == INVDYN_NEAREST) {
    memcpy(warm_start->current, stages->distance.is_active, (size_t)(stages->distance.n - n_slack));
    invdyn_warm_start_store(warm_start, problem);
  }
  return end;
}

/* ---- Stage I --------------------------------------------------------------------------------- */

static void set_motor_map(struct invdyn_stages *stages, const struct invdyn_reduction *reduction) {
  const int32_t n_q = reduction->problem->n_q, n_b = reduction->n_b;
  invdyn_motors(reduction, reduction->y_free, NULL, stages->offset);
  for (int32_t i = 0; i < 3 * reduction->problem->n; ++i) {
    double *row = stages->map + (int64_t)i * n_q;
    memcpy(row, reduction->J_q + (int64_t)i * n_q, (size_t)n_q * sizeof(double));
    for (int32_t k = 0; k < n_b; ++k) {
      for (int32_t j = 0; j < n_q; ++j) {
        row[j] -= reduction->J_y[(int64_t)i * n_b + k] * reduction->B_y[(int64_t)k * n_q + j];
      }
    }
  }
}

static enum invdyn_distance_end stage_one(struct invdyn_stages *stages,
                                          const struct invdyn_reduction *reduction) {
  const invdyn_settings *settings = stages->settings;
  const invdyn_problem *problem = reduction->problem;
  const int32_t n = problem->n, n_b = reduction->n_b, n_shares = n * stages->n_edges;
  const int is_paper = settings->stage_one == INVDYN_PAPER;
  const int is_one = settings->controller == INVDYN_ONE_STAGE;
  /* without limits no edge of a cone approaches, and holding contacts do not slip */
  const int opens = is_paper || stages->n_limits > 0;
  const int holds = !is_paper && invdyn_is_noslip(settings);
  const double counts = is_one ? settings->torque_regularization : 0.0;
  if (stages->n_limits > 0 || counts > 0.0) {
    set_motor_map(stages, reduction);
  }
  begin_rows(stages, n, (opens ? n : 0) + 2 * stages->n_limits);
  for (int32_t j = 0; j < n_b; ++j) {
    double *row = next_row(stages, is_paper ? -reduction->y_c[j] : 0.0);
    fill_row(stages, n, reduction->J_y, n_b, j, 1.0, row);
  }
  for (int32_t j = 0; j < n_shares && !is_paper; ++j) {
    stages->distance.b[j] = -along(stages, j, reduction->free_velocity);
  }
  for (int32_t i = 0; i < problem->n_q && counts > 0.0; ++i) {
    double *row = next_row(stages, sqrt(counts) * stages->offset[i]);
    fill_row(stages, n, stages->map, problem->n_q, i, sqrt(counts), row);
  }
  add_impulse_rows(stages, n, is_one ? settings->force_regularization : 0.0);
  const int32_t first_equality = stages->distance.d;
  if (opens) {
    add_velocity_rows(stages, reduction, holds, n_shares);
  }
  add_limit_rows(stages, problem, stages->map, n_shares + (opens ? n : 0));
  return solve_stage(stages, problem, &stages->one, first_equality);
}

/* ---- Stage II -------------------------------------------------------------------------------- */

/* Leaves out edges that open, which must stay without impulse: the contact-consistent objective
 * depends on more than R_b z. */
static void leave_out_open_edges(struct invdyn_stages *stages,
                                 const struct invdyn_reduction *reduction) {
  const double beyond = fmax(invdyn_closed_edge * invdyn_velocity_scale(reduction),
                             stages->settings->smoothing * reduction->free_scale);
  invdyn_contact_velocity(reduction, stages->y, stages->u);
  for (int32_t j = 0; j < reduction->problem->n * stages->n_edges; ++j) {
    if (!is_free(stages, j % stages->n_edges) && stages->share[j] <= 0.0 &&
        along(stages, j, stages->u) > beyond) {
      memset(stages->edge + 3 * (int64_t)j, 0, 3 * sizeof(double));
    }
  }
}

static enum invdyn_distance_end stage_two(struct invdyn_stages *stages,
                                          const struct invdyn_reduction *reduction,
                                          const double *z) {
  const invdyn_problem *problem = reduction->problem;
  const int32_t n = problem->n, n_b = reduction->n_b, n_q = problem->n_q;
  const int32_t n_shares = n * stages->n_edges;
  invdyn_base(reduction, z, stages->y);
  invdyn_motors(reduction, stages->y, NULL, stages->offset);
  if (stages->settings->stage_one == INVDYN_CONTACT_CONSISTENT) {
    leave_out_open_edges(stages, reduction);
  }
  begin_rows(stages, n, 2 * stages->n_limits);
  neglect_weak_impulses(stages);
  for (int32_t i = 0; i < n_q; ++i) {
    fill_row(stages, n, reduction->J_q, n_q, i, 1.0, next_row(stages, stages->offset[i]));
  }
  add_impulse_rows(stages, n, stages->settings->force_regularization);
  const int32_t first_equality = stages->distance.d;
  for (int32_t j = 0; j < n_b; ++j) {
    double *row = next_row(stages, stages->y[j] - reduction->y_free[j]);
    fill_row(stages, n, reduction->J_y, n_b, j, 1.0, row);
  }
  add_limit_rows(stages, problem, reduction->J_q, n_shares);
  return solve_stage(stages, problem, &stages->two, first_equality);
}

void invdyn_stages_begin(struct invdyn_stages *stages, int32_t n_q) {
  memset(stages->is_limited, 0, (size_t)n_q);
  stages->n_limits = 0;
}

int invdyn_stages_add_limits(struct invdyn_stages *stages, const struct invdyn_reduction *reduction,
                             const double *z) {
  const invdyn_problem *problem = reduction->problem;
  const int32_t before = stages->n_limits;
  invdyn_base(reduction, z, stages->y);
  invdyn_motors(reduction, stages->y, z, stages->offset);
  for (int32_t i = 0; problem->torque_limit && i < problem->n_q; ++i) {
    const double limit = problem->torque_limit[i] * problem->dt;
    if (!stages->is_limited[i] && fabs(stages->offset[i]) > limit) {
      stages->is_limited[i] = 1;
      ++stages->n_limits;
    }
  }
  return stages->n_limits > before;
}

enum invdyn_distance_end invdyn_stages_solve(struct invdyn_stages *stages,
                                             const struct invdyn_reduction *reduction, double *z) {
  const int32_t n = reduction->problem->n;
  memset(z, 0, 3 * (size_t)n * sizeof(double));
  set_edges(stages, reduction->problem);
  enum invdyn_distance_end end = stage_one(stages, reduction);
  if (end != INVDYN_NEAREST) {
    return end;
  }
  impulses(stages, n, z);
  if (stages->settings->controller != INVDYN_ONE_STAGE) {
    const int32_t pivots = stages->distance.pivots;
    end = stage_two(stages, reduction, z);
    stages->distance.pivots += pivots;
    if (end == INVDYN_NEAREST) {
      impulses(stages, n, z);
    }
  }
  /* Stage II contradicts nothing: only a limit of pivots ends it otherwise */
  return end == INVDYN_NEAREST ? end : INVDYN_PIVOT_LIMIT;
}

/* ---- nearest accelerations ------------------------------------------------------------------- */

int invdyn_nearest_joints(struct invdyn_stages *stages, const struct invdyn_reduction *reduction,
                          double *v_q) {
  const invdyn_problem *problem = reduction->problem;
  const int32_t n = problem->n, n_b = reduction->n_b, n_q = problem->n_q;
  struct invdyn_distance *distance = &stages->distance;
  set_edges(stages, problem);
  begin_rows(stages, n, 0);
  neglect_weak_impulses(stages);
  for (int32_t j = 0; j < n_b; ++j) { /* the base moves freely */
    fill_row(stages, n, reduction->J_y, n_b, j, invdyn_equality_weight, next_row(stages, 0.0));
  }
  for (int32_t i = 0; i < n_q; ++i) {
    fill_row(stages, n, reduction->J_q, n_q, i, 1.0, next_row(stages, 0.0));
  }
  memset(distance->x0, 0, (size_t)distance->d * sizeof(double));
  double largest = 0.0;
  for (int32_t j = 0; j < distance->n; ++j) {
    distance->b[j] = -along(stages, j, reduction->free_velocity);
    largest = fmax(largest, fabs(distance->b[j]));
  }
  /* a little inside, so that the result stays feasible after rounding */
  for (int32_t j = 0; j < distance->n; ++j) {
    distance->b[j] += distance->equal[j] ? 0.0 : invdyn_opening * largest;
  }
  if (invdyn_distance_solve(distance, NULL) != INVDYN_NEAREST) {
    return 0;
  }
  for (int32_t i = 0; i < n_q; ++i) {
    v_q[i] = reduction->v_q[i] + distance->x[n_b + i];
  }
  return 1;
}
