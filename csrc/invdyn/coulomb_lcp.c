#include "invdyn/coulomb_lcp.h"

#include <string.h>

#include "invdyn/pyramid.h"

void invdyn_coulomb_carve(struct invdyn_coulomb *coulomb, const invdyn_settings *settings,
                          const invdyn_problem *most, struct sap_arena *arena) {
  const size_t n = (size_t)most->n, edges = (size_t)settings->edges, size = n * (edges + 2);
  coulomb->Q = sap_arena_take(arena, size * size, sizeof(double));
  coulomb->r = sap_arena_take(arena, size, sizeof(double));
  coulomb->z = sap_arena_take(arena, size, sizeof(double));
  coulomb->w = sap_arena_take(arena, size, sizeof(double));
  coulomb->row =
      sap_arena_take(arena, n * (edges + 1) * (size_t)(most->m - most->n_q), sizeof(double));
  invdyn_warm_start_carve(&coulomb->warm_start, most->n, (const int32_t[]){1, settings->edges, 1},
                          0, arena);
}

/* Sets the rows of N and F, and their free velocities. */
static void set_rows(struct invdyn_coulomb *coulomb, const struct invdyn_reduction *reduction,
                     int32_t edges) {
  const int32_t n = reduction->problem->n, n_b = reduction->n_b;
  for (int32_t k = -1; k < edges; ++k) {
    double unit[3] = {0.0, 0.0, 1.0};
    if (k >= 0) {
      invdyn_direction(k, edges, unit);
      unit[2] = 0.0;
    }
    for (int32_t i = 0; i < n; ++i) {
      const int32_t at = k < 0 ? i : n + i * edges + k;
      const double *J = reduction->J_y + 3 * (int64_t)i * n_b;
      const double *u = reduction->free_velocity + 3 * (int64_t)i;
      double *row = coulomb->row + (int64_t)at * n_b;
      for (int32_t j = 0; j < n_b; ++j) {
        row[j] = unit[0] * J[j] + unit[1] * J[n_b + j] + unit[2] * J[2 * (int64_t)n_b + j];
      }
      coulomb->r[at] = unit[0] * u[0] + unit[1] * u[1] + unit[2] * u[2];
    }
  }
}

static void set_matrix(struct invdyn_coulomb *coulomb, const struct invdyn_reduction *reduction,
                       int32_t edges) {
  const int32_t n = reduction->problem->n, n_b = reduction->n_b, n_rows = n * (edges + 1);
  const int64_t size = (int64_t)n * (int64_t)(edges + 2);
  memset(coulomb->Q, 0, (size_t)(size * size) * sizeof(double));
  for (int32_t a = 0; a < n_rows; ++a) {
    for (int32_t b = 0; b <= a; ++b) {
      double sum = 0.0;
      for (int32_t j = 0; j < n_b; ++j) {
        sum += coulomb->row[(int64_t)a * n_b + j] * coulomb->row[(int64_t)b * n_b + j];
      }
      coulomb->Q[(int64_t)a * size + b] = coulomb->Q[(int64_t)b * size + a] = sum;
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    const int64_t lambda = n_rows + i;
    coulomb->r[lambda] = 0.0;
    coulomb->Q[lambda * size + i] = reduction->problem->mu[i];
    for (int32_t k = 0; k < edges; ++k) {
      const int64_t at = n + i * edges + k;
      coulomb->Q[at * size + lambda] = 1.0;
      coulomb->Q[lambda * size + at] = -1.0;
    }
  }
}

void invdyn_coulomb_set(struct invdyn_coulomb *coulomb, const struct invdyn_reduction *reduction,
                        int32_t edges) {
  set_rows(coulomb, reduction, edges);
  set_matrix(coulomb, reduction, edges);
}

void invdyn_coulomb_impulses(const double *x, int32_t n, int32_t edges, double *z) {
  for (int32_t i = 0; i < n; ++i) {
    z[3 * i] = z[3 * i + 1] = 0.0;
    z[3 * i + 2] = x[i];
    for (int32_t k = 0; k < edges; ++k) {
      double unit[2];
      invdyn_direction(k, edges, unit);
      z[3 * i] += unit[0] * x[n + i * edges + k];
      z[3 * i + 1] += unit[1] * x[n + i * edges + k];
    }
  }
}

struct invdyn_answer invdyn_coulomb_solve(struct invdyn_coulomb *coulomb, lcp_solver *lcp,
                                          const struct invdyn_reduction *reduction, int32_t edges,
                                          int regularize, double *z) {
  const int32_t n = reduction->problem->n;
  invdyn_coulomb_set(coulomb, reduction, edges);
  lcp_settings settings = lcp_settings_default();
  settings.regularization_first = regularize ? 1e-14 : 0.0;
  settings.regularization_last = 1e-6;
  const int8_t *start = invdyn_warm_start_load(&coulomb->warm_start, reduction->problem, 0);
  lcp_solution found = {.z = coulomb->z, .w = coulomb->w, .basis = coulomb->warm_start.current};
  const lcp_problem problem = {n * (edges + 2), coulomb->Q, coulomb->r};
  struct invdyn_answer answer = {.outcome = LCP_NON_FINITE};
  if (lcp_solve(lcp, &settings, &problem, start, &found, NULL) != SAP_OK) {
    return answer; /* an entry overflowed */
  }
  answer.outcome = found.outcome;
  answer.pivots = found.pivots;
  answer.regularization = found.regularization;
  if (found.outcome == LCP_SOLVED) {
    invdyn_warm_start_store(&coulomb->warm_start, reduction->problem);
  }
  invdyn_coulomb_impulses(coulomb->z, n, edges, z);
  return answer;
}
