#include "invdyn/unactuated.h"

#include <math.h>
#include <string.h>

/* of A_ii (A^-1)_ii, whatever the units: beyond it what A^-1 does to velocities is round-off */
static const double most_condition = 1e10;
/* m/s: what is lost where faster motion cancels is more than round-off */
static const double fast = 1e3;

void invdyn_reduction_carve(struct invdyn_reduction *of, const invdyn_problem *most,
                            struct sap_arena *arena) {
  const size_t m = (size_t)most->m, n_q = (size_t)most->n_q, n = (size_t)most->n, n_b = m - n_q;
  of->b = sap_arena_take(arena, m, sizeof(int32_t));
  of->L = sap_arena_take(arena, n_b * n_b, sizeof(double));
  of->B_y = sap_arena_take(arena, n_b * n_q, sizeof(double));
  of->y_c = sap_arena_take(arena, n_b, sizeof(double));
  of->c = sap_arena_take(arena, m, sizeof(double));
  of->J_y = sap_arena_take(arena, 3 * n * n_b, sizeof(double));
  of->J_q = sap_arena_take(arena, 3 * n * n_q, sizeof(double));
  of->gap_rate = sap_arena_take(arena, n, sizeof(double));
  of->v_q = sap_arena_take(arena, n_q, sizeof(double));
  of->y_free = sap_arena_take(arena, n_b, sizeof(double));
  of->free_velocity = sap_arena_take(arena, 3 * n, sizeof(double));
}

static double entry(const invdyn_problem *problem, int32_t i, int32_t j) {
  return problem->M[(int64_t)i * problem->m + j];
}

/* ---- the factorization of A ------------------------------------------------------------------ */

static int factor(struct invdyn_reduction *of) {
  const int32_t n_b = of->n_b;
  for (int32_t i = 0; i < n_b; ++i) {
    double *row = of->L + (int64_t)i * n_b;
    for (int32_t j = 0; j <= i; ++j) {
      const double *above = of->L + (int64_t)j * n_b;
      double sum = entry(of->problem, of->b[i], of->b[j]);
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

/* x (n_b) <- L^-1 x, its entries `stride` apart */
static void solve_forward(const struct invdyn_reduction *of, double *x, int32_t stride) {
  for (int32_t i = 0; i < of->n_b; ++i) {
    const double *row = of->L + (int64_t)i * of->n_b;
    double sum = x[(int64_t)i * stride];
    for (int32_t j = 0; j < i; ++j) {
      sum -= row[j] * x[(int64_t)j * stride];
    }
    x[(int64_t)i * stride] = sum / row[i];
  }
}

/* is A far enough from singular? (A^-1)_ii is the square of column i of L^-1; y_c is work */
static int is_definite(struct invdyn_reduction *of) {
  const int32_t n_b = of->n_b;
  double *column = of->y_c;
  for (int32_t i = 0; i < n_b; ++i) {
    double square = 0.0;
    memset(column, 0, (size_t)n_b * sizeof(double));
    column[i] = 1.0;
    solve_forward(of, column, 1);
    for (int32_t j = i; j < n_b; ++j) {
      square += column[j] * column[j];
    }
    if (!(entry(of->problem, of->b[i], of->b[i]) * square < most_condition)) {
      return 0;
    }
  }
  return 1;
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* velocities without a motor, in their order */
static void find_unactuated(struct invdyn_reduction *of) {
  const invdyn_problem *problem = of->problem;
  memset(of->b, 0, (size_t)problem->m * sizeof(int32_t));
  for (int32_t i = 0; i < problem->n_q; ++i) {
    of->b[problem->actuated[i]] = 1;
  }
  of->n_b = 0;
  for (int32_t i = 0; i < problem->m; ++i) {
    if (!of->b[i]) {
      of->b[of->n_b++] = i;
    }
  }
}

static void gather_row(struct invdyn_reduction *of, const double *J, int64_t row) {
  const int32_t n_b = of->n_b, n_q = of->problem->n_q;
  double *y = of->J_y + row * (int64_t)n_b, *q = of->J_q + row * (int64_t)n_q;
  for (int32_t j = 0; j < n_b; ++j) {
    y[j] = J[of->b[j]];
  }
  solve_forward(of, y, 1);
  for (int32_t j = 0; j < n_q; ++j) {
    q[j] = J[of->problem->actuated[j]];
  }
}

static void gather_contacts(struct invdyn_reduction *of) {
  const invdyn_problem *problem = of->problem;
  const int64_t m = (int64_t)problem->m;
  for (int32_t i = 0; i < problem->n; ++i) {
    const int64_t at = (int64_t)i;
    gather_row(of, problem->J_t + 2 * at * m, 3 * at);
    gather_row(of, problem->J_t + (2 * at + 1) * m, 3 * at + 1);
    gather_row(of, problem->J_n + at * m, 3 * at + 2);
    of->gap_rate[i] = problem->phi ? problem->phi[i] / problem->dt : 0.0;
  }
}

int invdyn_reduce(struct invdyn_reduction *of, const invdyn_problem *problem) {
  of->problem = problem;
  find_unactuated(of);
  if (!factor(of) || !is_definite(of)) {
    return 0;
  }
  const int32_t m = problem->m, n_q = problem->n_q, n_b = of->n_b;
  of->no_impulse = 0.0;
  for (int32_t i = 0; i < m; ++i) {
    of->c[i] = -problem->dt * problem->h[i];
    for (int32_t j = 0; j < m; ++j) {
      of->c[i] += entry(problem, i, j) * problem->v[j];
    }
  }
  for (int32_t i = 0; i < n_b; ++i) {
    of->no_impulse = fmax(of->no_impulse, 1e-12 * fabs(of->c[of->b[i]]));
    of->y_c[i] = of->c[of->b[i]];
    for (int32_t j = 0; j < n_q; ++j) {
      of->B_y[(int64_t)i * n_q + j] = entry(problem, of->b[i], problem->actuated[j]);
    }
  }
  solve_forward(of, of->y_c, 1);
  for (int32_t j = 0; j < n_q; ++j) {
    solve_forward(of, of->B_y + j, n_q);
    of->v_q[j] = problem->v[problem->actuated[j]] + problem->dt * problem->qdd[j];
  }
  gather_contacts(of);
  invdyn_set_joints(of);
  return 1;
}

/* ---- velocities and impulses ----------------------------------------------------------------- */

void invdyn_set_joints(struct invdyn_reduction *of) {
  const int32_t n = of->problem->n, n_q = of->problem->n_q;
  for (int32_t i = 0; i < of->n_b; ++i) {
    of->y_free[i] = of->y_c[i];
    for (int32_t j = 0; j < n_q; ++j) {
      of->y_free[i] -= of->B_y[(int64_t)i * n_q + j] * of->v_q[j];
    }
  }
  invdyn_contact_velocity(of, of->y_free, of->free_velocity);
  double free = 0.0, joints = 0.0, gap = 0.0;
  for (int32_t i = 0; i < 3 * n; ++i) {
    double sum = 0.0;
    for (int32_t j = 0; j < n_q; ++j) {
      sum += of->J_q[(int64_t)i * n_q + j] * of->v_q[j];
    }
    joints = fmax(joints, fabs(sum));
    gap = fmax(gap, fabs(of->gap_rate[i / 3]));
    free = fmax(free, fabs(of->free_velocity[i] - (i % 3 == 2 ? of->gap_rate[i / 3] : 0.0)));
  }
  of->free_scale = free;
  of->given_scale = joints + gap;
}

double invdyn_allowed_velocity(const struct invdyn_reduction *of, const double *u) {
  double fastest = 0.0;
  for (int32_t i = 0; i < 3 * of->problem->n; ++i) {
    fastest = fmax(fastest, fabs(u[i]));
  }
  return 1e-6 * (fastest + of->given_scale) + 1e-8 * fmin(of->free_scale, fast);
}

void invdyn_base(const struct invdyn_reduction *of, const double *z, double *y) {
  memcpy(y, of->y_free, (size_t)of->n_b * sizeof(double));
  for (int32_t i = 0; i < 3 * of->problem->n; ++i) {
    for (int32_t j = 0; j < of->n_b; ++j) {
      y[j] += of->J_y[(int64_t)i * of->n_b + j] * z[i];
    }
  }
}

void invdyn_contact_velocity(const struct invdyn_reduction *of, const double *y, double *u) {
  const int32_t n_q = of->problem->n_q;
  for (int32_t i = 0; i < 3 * of->problem->n; ++i) {
    double sum = 0.0;
    for (int32_t j = 0; j < of->n_b; ++j) {
      sum += of->J_y[(int64_t)i * of->n_b + j] * y[j];
    }
    for (int32_t j = 0; j < n_q; ++j) {
      sum += of->J_q[(int64_t)i * n_q + j] * of->v_q[j];
    }
    u[i] = i % 3 == 2 ? sum + of->gap_rate[i / 3] : sum;
  }
}

void invdyn_motors(const struct invdyn_reduction *of, const double *y, const double *z,
                   double *lambda) {
  const invdyn_problem *problem = of->problem;
  const int32_t n_q = problem->n_q;
  for (int32_t j = 0; j < n_q; ++j) {
    double sum = -of->c[problem->actuated[j]];
    for (int32_t i = 0; i < of->n_b; ++i) {
      sum += of->B_y[(int64_t)i * n_q + j] * y[i];
    }
    for (int32_t i = 0; i < n_q; ++i) {
      sum += entry(problem, problem->actuated[j], problem->actuated[i]) * of->v_q[i];
    }
    for (int32_t i = 0; z != NULL && i < 3 * problem->n; ++i) {
      sum -= of->J_q[(int64_t)i * n_q + j] * z[i];
    }
    lambda[j] = sum;
  }
}

void invdyn_velocity(const struct invdyn_reduction *of, const double *y, double *v) {
  for (int32_t i = 0; i < of->n_b; ++i) {
    v[of->b[i]] = y[i];
  }
  for (int32_t i = of->n_b - 1; i >= 0; --i) {
    v[of->b[i]] /= of->L[(int64_t)i * of->n_b + i];
    for (int32_t j = 0; j < i; ++j) {
      v[of->b[j]] -= of->L[(int64_t)i * of->n_b + j] * v[of->b[i]];
    }
  }
  for (int32_t j = 0; j < of->problem->n_q; ++j) {
    v[of->problem->actuated[j]] = of->v_q[j];
  }
}
