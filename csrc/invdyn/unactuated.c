#include "invdyn/unactuated.h"

#include <math.h>
#include <string.h>

/* Largest A_ii (A^-1)_ii, in any units: beyond it velocities from A^-1 are round-off. */
static const double most_condition = 1e10;
/* m/s; if faster motion cancels, more than round-off is lost */
static const double fast = 1e3;

void invdyn_reduction_carve(struct invdyn_reduction *reduction, const invdyn_problem *most,
                            struct sap_arena *arena) {
  const size_t m = (size_t)most->m, n_q = (size_t)most->n_q, n = (size_t)most->n, n_b = m - n_q;
  reduction->b = sap_arena_take(arena, m, sizeof(int32_t));
  reduction->L = sap_arena_take(arena, n_b * n_b, sizeof(double));
  reduction->B_y = sap_arena_take(arena, n_b * n_q, sizeof(double));
  reduction->y_c = sap_arena_take(arena, n_b, sizeof(double));
  reduction->c = sap_arena_take(arena, m, sizeof(double));
  reduction->J_y = sap_arena_take(arena, 3 * n * n_b, sizeof(double));
  reduction->J_q = sap_arena_take(arena, 3 * n * n_q, sizeof(double));
  reduction->gap_rate = sap_arena_take(arena, n, sizeof(double));
  reduction->v_q = sap_arena_take(arena, n_q, sizeof(double));
  reduction->y_free = sap_arena_take(arena, n_b, sizeof(double));
  reduction->free_velocity = sap_arena_take(arena, 3 * n, sizeof(double));
}

static double entry(const invdyn_problem *problem, int32_t i, int32_t j) {
  return problem->M[(int64_t)i * problem->m + j];
}

/* ---- the factorization of A ------------------------------------------------------------------ */

static int factor(struct invdyn_reduction *reduction) {
  const int32_t n_b = reduction->n_b;
  for (int32_t i = 0; i < n_b; ++i) {
    double *row = reduction->L + (int64_t)i * n_b;
    for (int32_t j = 0; j <= i; ++j) {
      const double *above = reduction->L + (int64_t)j * n_b;
      double sum = entry(reduction->problem, reduction->b[i], reduction->b[j]);
      for (int32_t k = 0; k < j; ++k) {
        sum -= row[k] * above[k];
      }
      if (j < i) {
        row[j] = sum / above[j];
      } else if (!(sum > 0.0 && sum < INFINITY)) {
        return 0;
      } else {
        row[i] = sqrt(sum);
      }
    }
  }
  return 1;
}

/* Sets x (n_b) <- L^-1 x, with entries `stride` apart. */
static void solve_forward(const struct invdyn_reduction *reduction, double *x, int32_t stride) {
  for (int32_t i = 0; i < reduction->n_b; ++i) {
    const double *row = reduction->L + (int64_t)i * reduction->n_b;
    double sum = x[(int64_t)i * stride];
    for (int32_t j = 0; j < i; ++j) {
      sum -= row[j] * x[(int64_t)j * stride];
    }
    x[(int64_t)i * stride] = sum / row[i];
  }
}

/* Is A far enough from singular? (A^-1)_ii is the square of column i of L^-1; y_c is scratch. */
static int is_definite(struct invdyn_reduction *reduction) {
  const int32_t n_b = reduction->n_b;
  double *column = reduction->y_c;
  for (int32_t i = 0; i < n_b; ++i) {
    double square = 0.0;
    memset(column, 0, (size_t)n_b * sizeof(double));
    column[i] = 1.0;
    solve_forward(reduction, column, 1);
    for (int32_t j = i; j < n_b; ++j) {
      square += column[j] * column[j];
    }
    if (!(entry(reduction->problem, reduction->b[i], reduction->b[i]) * square < most_condition)) {
      return 0;
    }
  }
  return 1;
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* Lists the velocities without a motor, in their order. */
static void find_unactuated(struct invdyn_reduction *reduction) {
  const invdyn_problem *problem = reduction->problem;
  memset(reduction->b, 0, (size_t)problem->m * sizeof(int32_t));
  for (int32_t i = 0; i < problem->n_q; ++i) {
    reduction->b[problem->actuated[i]] = 1;
  }
  reduction->n_b = 0;
  for (int32_t i = 0; i < problem->m; ++i) {
    if (!reduction->b[i]) {
      reduction->b[reduction->n_b++] = i;
    }
  }
}

static void gather_row(struct invdyn_reduction *reduction, const double *J, int64_t row) {
  const int32_t n_b = reduction->n_b, n_q = reduction->problem->n_q;
  double *y = reduction->J_y + row * (int64_t)n_b, *q = reduction->J_q + row * (int64_t)n_q;
  for (int32_t j = 0; j < n_b; ++j) {
    y[j] = J[reduction->b[j]];
  }
  solve_forward(reduction, y, 1);
  for (int32_t j = 0; j < n_q; ++j) {
    q[j] = J[reduction->problem->actuated[j]];
  }
}

static void gather_contacts(struct invdyn_reduction *reduction) {
  const invdyn_problem *problem = reduction->problem;
  const int64_t m = (int64_t)problem->m;
  for (int32_t i = 0; i < problem->n; ++i) {
    const int64_t at = (int64_t)i;
    gather_row(reduction, problem->J_t + 2 * at * m, 3 * at);
    gather_row(reduction, problem->J_t + (2 * at + 1) * m, 3 * at + 1);
    gather_row(reduction, problem->J_n + at * m, 3 * at + 2);
    reduction->gap_rate[i] = problem->phi ? problem->phi[i] / problem->dt : 0.0;
  }
}

int invdyn_reduce(struct invdyn_reduction *reduction, const invdyn_problem *problem) {
  reduction->problem = problem;
  find_unactuated(reduction);
  if (!factor(reduction) || !is_definite(reduction)) {
    return 0;
  }
  const int32_t m = problem->m, n_q = problem->n_q, n_b = reduction->n_b;
  reduction->no_impulse = 0.0;
  for (int32_t i = 0; i < m; ++i) {
    reduction->c[i] = -problem->dt * problem->h[i];
    for (int32_t j = 0; j < m; ++j) {
      reduction->c[i] += entry(problem, i, j) * problem->v[j];
    }
  }
  for (int32_t i = 0; i < n_b; ++i) {
    reduction->no_impulse =
        fmax(reduction->no_impulse, 1e-12 * fabs(reduction->c[reduction->b[i]]));
    reduction->y_c[i] = reduction->c[reduction->b[i]];
    for (int32_t j = 0; j < n_q; ++j) {
      reduction->B_y[(int64_t)i * n_q + j] = entry(problem, reduction->b[i], problem->actuated[j]);
    }
  }
  solve_forward(reduction, reduction->y_c, 1);
  for (int32_t j = 0; j < n_q; ++j) {
    solve_forward(reduction, reduction->B_y + j, n_q);
    reduction->v_q[j] = problem->v[problem->actuated[j]] + problem->dt * problem->qdd[j];
  }
  gather_contacts(reduction);
  invdyn_set_joints(reduction);
  return 1;
}

/* ---- velocities and impulses ----------------------------------------------------------------- */

void invdyn_set_joints(struct invdyn_reduction *reduction) {
  const int32_t n = reduction->problem->n, n_q = reduction->problem->n_q;
  for (int32_t i = 0; i < reduction->n_b; ++i) {
    reduction->y_free[i] = reduction->y_c[i];
    for (int32_t j = 0; j < n_q; ++j) {
      reduction->y_free[i] -= reduction->B_y[(int64_t)i * n_q + j] * reduction->v_q[j];
    }
  }
  invdyn_contact_velocity(reduction, reduction->y_free, reduction->free_velocity);
  double free = 0.0, joints = 0.0, gap = 0.0;
  for (int32_t i = 0; i < 3 * n; ++i) {
    double sum = 0.0;
    for (int32_t j = 0; j < n_q; ++j) {
      sum += reduction->J_q[(int64_t)i * n_q + j] * reduction->v_q[j];
    }
    joints = fmax(joints, fabs(sum));
    gap = fmax(gap, fabs(reduction->gap_rate[i / 3]));
    free = fmax(
        free, fabs(reduction->free_velocity[i] - (i % 3 == 2 ? reduction->gap_rate[i / 3] : 0.0)));
  }
  reduction->free_scale = free;
  reduction->given_scale = joints + gap;
}

double invdyn_allowed_velocity(const struct invdyn_reduction *reduction, const double *u) {
  double fastest = 0.0;
  for (int32_t i = 0; i < 3 * reduction->problem->n; ++i) {
    fastest = fmax(fastest, fabs(u[i]));
  }
  return 1e-6 * (fastest + reduction->given_scale) + 1e-8 * fmin(reduction->free_scale, fast);
}

void invdyn_base(const struct invdyn_reduction *reduction, const double *z, double *y) {
  memcpy(y, reduction->y_free, (size_t)reduction->n_b * sizeof(double));
  for (int32_t i = 0; i < 3 * reduction->problem->n; ++i) {
    for (int32_t j = 0; j < reduction->n_b; ++j) {
      y[j] += reduction->J_y[(int64_t)i * reduction->n_b + j] * z[i];
    }
  }
}

void invdyn_contact_velocity(const struct invdyn_reduction *reduction, const double *y, double *u) {
  const int32_t n_q = reduction->problem->n_q;
  for (int32_t i = 0; i < 3 * reduction->problem->n; ++i) {
    double sum = 0.0;
    for (int32_t j = 0; j < reduction->n_b; ++j) {
      sum += reduction->J_y[(int64_t)i * reduction->n_b + j] * y[j];
    }
    for (int32_t j = 0; j < n_q; ++j) {
      sum += reduction->J_q[(int64_t)i * n_q + j] * reduction->v_q[j];
    }
    u[i] = i % 3 == 2 ? sum + reduction->gap_rate[i / 3] : sum;
  }
}

void invdyn_motors(const struct invdyn_reduction *reduction, const double *y, const double *z,
                   double *lambda) {
  const invdyn_problem *problem = reduction->problem;
  const int32_t n_q = problem->n_q;
  for (int32_t j = 0; j < n_q; ++j) {
    double sum = -reduction->c[problem->actuated[j]];
    for (int32_t i = 0; i < reduction->n_b; ++i) {
      sum += reduction->B_y[(int64_t)i * n_q + j] * y[i];
    }
    for (int32_t i = 0; i < n_q; ++i) {
      sum += entry(problem, problem->actuated[j], problem->actuated[i]) * reduction->v_q[i];
    }
    for (int32_t i = 0; z != NULL && i < 3 * problem->n; ++i) {
      sum -= reduction->J_q[(int64_t)i * n_q + j] * z[i];
    }
    lambda[j] = sum;
  }
}

void invdyn_velocity(const struct invdyn_reduction *reduction, const double *y, double *v) {
  for (int32_t i = 0; i < reduction->n_b; ++i) {
    v[reduction->b[i]] = y[i];
  }
  for (int32_t i = reduction->n_b - 1; i >= 0; --i) {
    v[reduction->b[i]] /= reduction->L[(int64_t)i * reduction->n_b + i];
    for (int32_t j = 0; j < i; ++j) {
      v[reduction->b[j]] -= reduction->L[(int64_t)i * reduction->n_b + j] * v[reduction->b[i]];
    }
  }
  for (int32_t j = 0; j < reduction->problem->n_q; ++j) {
    v[reduction->problem->actuated[j]] = reduction->v_q[j];
  }
}
