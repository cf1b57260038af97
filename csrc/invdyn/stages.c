#include "invdyn/stages.h"

#include <math.h>
#include <string.h>

#include "invdyn/holding.h"
#include "invdyn/pyramid.h"

/* weight of rows that are equalities, beside rows that are minimised */
static const double weight_of_held = 1e3;
/* of the largest velocity of a contact, by which the nearest joint velocities open them */
static const double margin = 1e-8;
/* of what velocities are like, what is no opening of an edge, whatever the smoothing */
static const double closed = 1e-8;
/* The method of multipliers takes at most so many passes. */
enum { MOST_PASSES = 100 };
/* Parts of the largest term of a held row: what is missing is round-off below the first, and below
 * the second if it does not fall to nine tenths from one pass to the next. */
static const double round_off = 1e-15, noise = 1e-9, slowest = 0.9;
/* Steps grow by this factor while what is missing does not fall, up to the longest step. */
static const double growth = 2.0, longest_step = 16.0;

void invdyn_stages_carve(struct invdyn_stages *of, const invdyn_settings *settings,
                         const invdyn_problem *most, struct sap_arena *arena) {
  const int32_t n = most->n, n_q = most->n_q, n_b = most->m - n_q;
  const int32_t c = invdyn_is_noslip(settings) ? 3 : settings->edges;
  const int32_t n_F = n + (most->torque_limit ? 2 * n_q : 0);
  const int32_t n_E = most->torque_limit && invdyn_is_noslip(settings) ? 2 * n : 0;
  const int32_t d = n_b + n_q + n_F + n_E + (settings->force_regularization > 0.0 ? 3 * n : 0);
  of->is_limited = sap_arena_take(arena, (size_t)n_q, 1);
  of->edge = sap_arena_take(arena, 3 * (size_t)n * (size_t)c, sizeof(double));
  of->share = sap_arena_take(arena, (size_t)n * (size_t)c, sizeof(double));
  of->map = sap_arena_take(arena, 3 * (size_t)n * (size_t)n_q, sizeof(double));
  of->offset = sap_arena_take(arena, (size_t)n_q, sizeof(double));
  of->y = sap_arena_take(arena, (size_t)n_b, sizeof(double));
  of->u = sap_arena_take(arena, 3 * (size_t)n, sizeof(double));
  of->target = sap_arena_take(arena, (size_t)d, sizeof(double));
  of->reached = sap_arena_take(arena, (size_t)d, sizeof(double));
  of->missing = sap_arena_take(arena, (size_t)d, sizeof(double));
  invdyn_distance_carve(&of->distance, n * c + n_F, d, arena);
  invdyn_recall_carve(&of->one, n, (const int32_t[]){c, 1, 0}, n_F - n, arena);
  invdyn_recall_carve(&of->two, n, (const int32_t[]){c, 0, 0}, n_F - n, arena);
}

/* ---- edges ----------------------------------------------------------------------------------- */

static void set_edges(struct invdyn_stages *of, const invdyn_problem *problem) {
  const int noslip = invdyn_is_noslip(of->settings);
  const int32_t c = of->n_edges = noslip ? 3 : of->settings->edges;
  for (int32_t k = 0; k < c; ++k) {
    double unit[2];
    invdyn_direction(k, c, unit);
    for (int32_t i = 0; i < problem->n; ++i) {
      double *e = of->edge + 3 * ((int64_t)i * c + k);
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

/* may the share of this edge of a contact have any sign? */
static int is_free(const struct invdyn_stages *of, int32_t edge) {
  return edge > 0 && invdyn_is_noslip(of->settings);
}

/* of edge j of all: e^T u */
static double along(const struct invdyn_stages *of, int32_t j, const double *u) {
  const double *e = of->edge + 3 * (int64_t)j, *at = u + 3 * (int64_t)(j / of->n_edges);
  return e[0] * at[0] + e[1] * at[1] + e[2] * at[2];
}

static void impulses(const struct invdyn_stages *of, int32_t n, double *z) {
  memset(z, 0, 3 * (size_t)n * sizeof(double));
  for (int32_t j = 0; j < n * of->n_edges; ++j) {
    for (int32_t a = 0; a < 3; ++a) {
      z[3 * (j / of->n_edges) + a] += of->share[j] * of->edge[3 * (int64_t)j + a];
    }
  }
}

/* ---- rows of X, E and F ---------------------------------------------------------------------- */

/* none yet, of so many edges and slack variables */
static void begin_rows(struct invdyn_stages *of, int32_t n, int32_t n_slack) {
  struct invdyn_distance *distance = &of->distance;
  distance->d = 0;
  distance->negligible = 0.0;
  distance->n = distance->ld = n * of->n_edges + n_slack;
  memset(distance->b, 0, (size_t)distance->n * sizeof(double));
  for (int32_t j = 0; j < distance->n; ++j) {
    distance->equal[j] = j < n * of->n_edges && is_free(of, j % of->n_edges);
  }
}

/* Of contacts without slip, tangential impulses that cancel on the base, whose rows are heavy, and
 * that motors hardly feel: no torques determine them, however large they are. */
static void leave_out_what_is_hardly_felt(struct invdyn_stages *of) {
  if (invdyn_is_noslip(of->settings)) {
    of->distance.negligible = of->settings->rank_tolerance / weight_of_held;
  }
}

static double *next_row(struct invdyn_stages *of, double target) {
  struct invdyn_distance *distance = &of->distance;
  double *row = distance->At + (int64_t)distance->d * distance->ld;
  of->target[distance->d++] = target;
  memset(row, 0, (size_t)distance->n * sizeof(double));
  return row;
}

/* row `at` of width, factor * J e for J (n, 3, width): what shares of edges do */
static void fill_row(const struct invdyn_stages *of, int32_t n, const double *J, int32_t width,
                     int32_t at, double factor, double *row) {
  for (int32_t i = 0; i < n; ++i) {
    const double *J_i = J + 3 * (int64_t)i * width + at;
    for (int32_t k = 0; k < of->n_edges; ++k) {
      const double *e = of->edge + 3 * ((int64_t)i * of->n_edges + k);
      row[i * of->n_edges + k] =
          factor * (e[0] * J_i[0] + e[1] * J_i[width] + e[2] * J_i[2 * (int64_t)width]);
    }
  }
}

/* sqrt(weight) z */
static void add_impulse_rows(struct invdyn_stages *of, int32_t n, double weight) {
  const double factor = sqrt(weight);
  for (int32_t i = 0; i < 3 * n && weight > 0.0; ++i) {
    double *row = next_row(of, 0.0);
    for (int32_t k = 0; k < of->n_edges; ++k) {
      const int64_t j = (int64_t)(i / 3) * (int64_t)of->n_edges + (int64_t)k;
      row[j] = factor * of->edge[3 * j + (int64_t)(i % 3)];
    }
  }
}

/* u_n + phi/dt >= 0, for slack variables from `slack` on, and u_t = 0 if contacts hold */
static void add_velocity_rows(struct invdyn_stages *of, const struct invdyn_reduction *reduction,
                              int holds, int32_t slack) {
  const int32_t n = reduction->problem->n, n_b = reduction->n_b;
  for (int32_t i = 0; i < 3 * n; ++i) {
    const int is_normal = i % 3 == 2;
    if (!is_normal && !holds) {
      continue;
    }
    double *row = next_row(of, -reduction->free_velocity[i]);
    const double *direction = reduction->J_y + (int64_t)i * n_b;
    for (int32_t j = 0; j < n * of->n_edges; ++j) {
      const double *e = of->edge + 3 * (int64_t)j;
      const double *J = reduction->J_y + 3 * (int64_t)(j / of->n_edges) * n_b;
      for (int32_t k = 0; k < n_b; ++k) {
        row[j] += direction[k] * (e[0] * J[k] + e[1] * J[n_b + k] + e[2] * J[2 * n_b + k]);
      }
    }
    if (is_normal) {
      row[slack + i / 3] = -1.0;
    }
  }
}

/* -limit <= offset - map e <= limit where it counts, for slack variables from `slack` on */
static void add_limit_rows(struct invdyn_stages *of, const invdyn_problem *problem,
                           const double *map, int32_t slack) {
  for (int32_t i = 0; of->n_limits > 0 && i < problem->n_q; ++i) {
    const double limit = problem->torque_limit[i] * problem->dt;
    for (int32_t side = -1; side < 2 && of->is_limited[i]; side += 2) {
      double *row = next_row(of, -limit - side * of->offset[i]);
      fill_row(of, problem->n, map, problem->n_q, i, -side, row);
      row[slack++] = -1.0;
    }
  }
}

/* What held rows miss, and the step of the method of multipliers along it. Many passes may miss the
 * same until the active rows are those of the solution, so steps grow meanwhile. */
struct pass {
  double missing, step;
};

/* Moves the targets of held rows by what they miss. Returns 0 at the end: what is missing is
 * round-off, or remains whatever the step, because the rows contradict each other. */
static int multiply(struct invdyn_stages *of, int32_t first_held, double weight,
                    struct pass *pass) {
  const struct invdyn_distance *distance = &of->distance;
  const double before = pass->missing;
  double largest = 0.0;
  pass->missing = 0.0;
  for (int32_t i = first_held; i < distance->d; ++i) {
    const double *row = distance->At + (int64_t)i * distance->ld;
    double missing = of->target[i], size = fabs(missing);
    for (int32_t j = 0; j < distance->n; ++j) {
      missing -= row[j] * distance->u[j] / weight;
      size = fmax(size, fabs(row[j] * distance->u[j] / weight));
    }
    of->missing[i] = missing;
    largest = fmax(largest, size);
    pass->missing = fmax(pass->missing, fabs(missing));
  }
  const int falls = pass->missing < slowest * before;
  if (pass->missing <= (falls ? round_off : noise) * largest ||
      (!falls && pass->step >= longest_step)) {
    return 0;
  }
  pass->step = falls ? 1.0 : growth * pass->step;
  for (int32_t i = first_held; i < distance->d; ++i) {
    of->reached[i] += pass->step * of->missing[i];
  }
  return 1;
}

/* Solves; rows from `first_held` on are equalities. Begins at `start`, of rows, or NULL. Shares are
 * written. */
static enum invdyn_distance_end solve_rows(struct invdyn_stages *of, int32_t first_held,
                                           int32_t n_shares, const int8_t *start) {
  struct invdyn_distance *distance = &of->distance;
  double minimised = 0.0, held = 0.0;
  for (int32_t i = 0; i < distance->d; ++i) {
    const double *row = distance->At + (int64_t)i * distance->ld;
    for (int32_t j = 0; j < n_shares; ++j) {
      *(i < first_held ? &minimised : &held) += row[j] * row[j];
    }
  }
  const double weight =
      weight_of_held * (held > 0.0 && minimised > 0.0 ? sqrt(minimised / held) : 1.0);
  for (int32_t i = first_held; i < distance->d; ++i) {
    double *row = distance->At + (int64_t)i * distance->ld;
    for (int32_t j = 0; j < distance->n; ++j) {
      row[j] *= weight;
    }
  }
  memcpy(of->reached, of->target, (size_t)distance->d * sizeof(double));
  enum invdyn_distance_end end = INVDYN_NEAREST;
  struct pass last = {.missing = INFINITY, .step = 1.0};
  for (int32_t pass = 0; pass < MOST_PASSES && end == INVDYN_NEAREST; ++pass) {
    if (pass > 0 && !multiply(of, first_held, weight, &last)) {
      break;
    }
    for (int32_t i = 0; i < distance->d; ++i) {
      distance->x0[i] = -of->reached[i] * (i < first_held ? 1.0 : weight);
    }
    end = pass == 0 ? invdyn_distance_solve(distance, start) : invdyn_distance_resume(distance);
  }
  if (end == INVDYN_NEAREST) {
    memcpy(of->share, distance->u, (size_t)n_shares * sizeof(double));
  }
  return end;
}

/* the same, from the rows that were active in the last call; those of this one are kept */
static enum invdyn_distance_end solve_stage(struct invdyn_stages *of, const invdyn_problem *problem,
                                            struct invdyn_recall *recall, int32_t first_held) {
  const int32_t n_slack = 2 * of->n_limits;
  const int8_t *start = invdyn_recall(recall, problem, n_slack);
  const enum invdyn_distance_end end = solve_rows(of, first_held, problem->n * of->n_edges, start);
  if (end == INVDYN_NEAREST) {
    memcpy(recall->now, of->distance.is_active, (size_t)(of->distance.n - n_slack));
    invdyn_remember(recall, problem);
  }
  return end;
}

/* ---- Stage I --------------------------------------------------------------------------------- */

static void set_motor_map(struct invdyn_stages *of, const struct invdyn_reduction *reduction) {
  const int32_t n_q = reduction->problem->n_q, n_b = reduction->n_b;
  invdyn_motors(reduction, reduction->y_free, NULL, of->offset);
  for (int32_t i = 0; i < 3 * reduction->problem->n; ++i) {
    double *row = of->map + (int64_t)i * n_q;
    memcpy(row, reduction->J_q + (int64_t)i * n_q, (size_t)n_q * sizeof(double));
    for (int32_t k = 0; k < n_b; ++k) {
      for (int32_t j = 0; j < n_q; ++j) {
        row[j] -= reduction->J_y[(int64_t)i * n_b + k] * reduction->B_y[(int64_t)k * n_q + j];
      }
    }
  }
}

static enum invdyn_distance_end stage_one(struct invdyn_stages *of,
                                          const struct invdyn_reduction *reduction) {
  const invdyn_settings *settings = of->settings;
  const invdyn_problem *problem = reduction->problem;
  const int32_t n = problem->n, n_b = reduction->n_b, n_shares = n * of->n_edges;
  const int is_paper = settings->stage_one == INVDYN_PAPER;
  const int is_one = settings->controller == INVDYN_ONE_STAGE;
  /* without limits no edge of a cone approaches, and what holds does not slip */
  const int opens = is_paper || of->n_limits > 0;
  const int holds = !is_paper && invdyn_is_noslip(settings);
  const double counts = is_one ? settings->torque_regularization : 0.0;
  if (of->n_limits > 0 || counts > 0.0) {
    set_motor_map(of, reduction);
  }
  begin_rows(of, n, (opens ? n : 0) + 2 * of->n_limits);
  for (int32_t j = 0; j < n_b; ++j) {
    double *row = next_row(of, is_paper ? -reduction->y_c[j] : 0.0);
    fill_row(of, n, reduction->J_y, n_b, j, 1.0, row);
  }
  for (int32_t j = 0; j < n_shares && !is_paper; ++j) {
    of->distance.b[j] = -along(of, j, reduction->free_velocity);
  }
  for (int32_t i = 0; i < problem->n_q && counts > 0.0; ++i) {
    double *row = next_row(of, sqrt(counts) * of->offset[i]);
    fill_row(of, n, of->map, problem->n_q, i, sqrt(counts), row);
  }
  add_impulse_rows(of, n, is_one ? settings->force_regularization : 0.0);
  const int32_t first_held = of->distance.d;
  if (opens) {
    add_velocity_rows(of, reduction, holds, n_shares);
  }
  add_limit_rows(of, problem, of->map, n_shares + (opens ? n : 0));
  return solve_stage(of, problem, &of->one, first_held);
}

/* ---- Stage II -------------------------------------------------------------------------------- */

/* The contact-consistent objective is more than a function of R_b z: edges that open must stay
 * without impulse. */
static void leave_out_open_edges(struct invdyn_stages *of,
                                 const struct invdyn_reduction *reduction) {
  const double beyond = fmax(closed * invdyn_velocity_scale(reduction),
                             of->settings->smoothing * reduction->free_scale);
  invdyn_contact_velocity(reduction, of->y, of->u);
  for (int32_t j = 0; j < reduction->problem->n * of->n_edges; ++j) {
    if (!is_free(of, j % of->n_edges) && of->share[j] <= 0.0 && along(of, j, of->u) > beyond) {
      memset(of->edge + 3 * (int64_t)j, 0, 3 * sizeof(double));
    }
  }
}

static enum invdyn_distance_end stage_two(struct invdyn_stages *of,
                                          const struct invdyn_reduction *reduction,
                                          const double *z) {
  const invdyn_problem *problem = reduction->problem;
  const int32_t n = problem->n, n_b = reduction->n_b, n_q = problem->n_q;
  const int32_t n_shares = n * of->n_edges;
  invdyn_base(reduction, z, of->y);
  invdyn_motors(reduction, of->y, NULL, of->offset);
  if (of->settings->stage_one == INVDYN_CONTACT_CONSISTENT) {
    leave_out_open_edges(of, reduction);
  }
  begin_rows(of, n, 2 * of->n_limits);
  leave_out_what_is_hardly_felt(of);
  for (int32_t i = 0; i < n_q; ++i) {
    fill_row(of, n, reduction->J_q, n_q, i, 1.0, next_row(of, of->offset[i]));
  }
  add_impulse_rows(of, n, of->settings->force_regularization);
  const int32_t first_held = of->distance.d;
  for (int32_t j = 0; j < n_b; ++j) {
    double *row = next_row(of, of->y[j] - reduction->y_free[j]);
    fill_row(of, n, reduction->J_y, n_b, j, 1.0, row);
  }
  add_limit_rows(of, problem, reduction->J_q, n_shares);
  return solve_stage(of, problem, &of->two, first_held);
}

void invdyn_stages_begin(struct invdyn_stages *of, int32_t n_q) {
  memset(of->is_limited, 0, (size_t)n_q);
  of->n_limits = 0;
}

int invdyn_stages_add_limits(struct invdyn_stages *of, const struct invdyn_reduction *reduction,
                             const double *z) {
  const invdyn_problem *problem = reduction->problem;
  const int32_t before = of->n_limits;
  invdyn_base(reduction, z, of->y);
  invdyn_motors(reduction, of->y, z, of->offset);
  for (int32_t i = 0; problem->torque_limit && i < problem->n_q; ++i) {
    const double limit = problem->torque_limit[i] * problem->dt;
    if (!of->is_limited[i] && fabs(of->offset[i]) > limit) {
      of->is_limited[i] = 1;
      ++of->n_limits;
    }
  }
  return of->n_limits > before;
}

enum invdyn_distance_end invdyn_stages_solve(struct invdyn_stages *of,
                                             const struct invdyn_reduction *reduction, double *z) {
  const int32_t n = reduction->problem->n;
  memset(z, 0, 3 * (size_t)n * sizeof(double));
  set_edges(of, reduction->problem);
  enum invdyn_distance_end end = stage_one(of, reduction);
  if (end != INVDYN_NEAREST) {
    return end;
  }
  impulses(of, n, z);
  if (of->settings->controller != INVDYN_ONE_STAGE) {
    const int32_t pivots = of->distance.pivots;
    end = stage_two(of, reduction, z);
    of->distance.pivots += pivots;
    if (end == INVDYN_NEAREST) {
      impulses(of, n, z);
    }
  }
  /* Stage II contradicts nothing: what else ended it is a limit */
  return end == INVDYN_NEAREST ? end : INVDYN_PIVOT_LIMIT;
}

/* ---- accelerations that are nearest ---------------------------------------------------------- */

int invdyn_nearest_joints(struct invdyn_stages *of, const struct invdyn_reduction *reduction,
                          double *v_q) {
  const invdyn_problem *problem = reduction->problem;
  const int32_t n = problem->n, n_b = reduction->n_b, n_q = problem->n_q;
  struct invdyn_distance *distance = &of->distance;
  set_edges(of, problem);
  begin_rows(of, n, 0);
  leave_out_what_is_hardly_felt(of);
  for (int32_t j = 0; j < n_b; ++j) { /* the base moves as it likes */
    fill_row(of, n, reduction->J_y, n_b, j, weight_of_held, next_row(of, 0.0));
  }
  for (int32_t i = 0; i < n_q; ++i) {
    fill_row(of, n, reduction->J_q, n_q, i, 1.0, next_row(of, 0.0));
  }
  memset(distance->x0, 0, (size_t)distance->d * sizeof(double));
  double largest = 0.0;
  for (int32_t j = 0; j < distance->n; ++j) {
    distance->b[j] = -along(of, j, reduction->free_velocity);
    largest = fmax(largest, fabs(distance->b[j]));
  }
  /* a little inside, so that what is found stays feasible after rounding */
  for (int32_t j = 0; j < distance->n; ++j) {
    distance->b[j] += distance->equal[j] ? 0.0 : margin * largest;
  }
  if (invdyn_distance_solve(distance, NULL) != INVDYN_NEAREST) {
    return 0;
  }
  for (int32_t i = 0; i < n_q; ++i) {
    v_q[i] = reduction->v_q[i] + distance->x[n_b + i];
  }
  return 1;
}
