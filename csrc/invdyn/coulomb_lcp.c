#include "invdyn/coulomb_lcp.h"

#include <string.h>

#include "invdyn/pyramid.h"

void invdyn_coulomb_carve(struct invdyn_coulomb *of, const invdyn_settings *settings,
                          const invdyn_problem *most, struct sap_arena *arena) {
  const size_t n = (size_t)most->n, edges = (size_t)settings->edges, size = n * (edges + 2);
  of->Q = sap_arena_take(arena, size * size, sizeof(double));
  of->r = sap_arena_take(arena, size, sizeof(double));
  of->z = sap_arena_take(arena, size, sizeof(double));
  of->w = sap_arena_take(arena, size, sizeof(double));
  of->row = sap_arena_take(arena, n * (edges + 1) * (size_t)(most->m - most->n_q), sizeof(double));
  invdyn_recall_carve(&of->recall, most->n, (const int32_t[]){1, settings->edges, 1}, 0, arena);
}

/* rows of N and F, and their free velocities */
static void set_rows(struct invdyn_coulomb *of, const struct invdyn_reduction *reduction,
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
      double *row = of->row + (int64_t)at * n_b;
      for (int32_t j = 0; j < n_b; ++j) {
        row[j] = unit[0] * J[j] + unit[1] * J[n_b + j] + unit[2] * J[2 * (int64_t)n_b + j];
      }
      of->r[at] = unit[0] * u[0] + unit[1] * u[1] + unit[2] * u[2];
    }
  }
}

static void set_matrix(struct invdyn_coulomb *of, const struct invdyn_reduction *reduction,
                       int32_t edges) {
  const int32_t n = reduction->problem->n, n_b = reduction->n_b, n_rows = n * (edges + 1);
  const int64_t size = (int64_t)n * (int64_t)(edges + 2);
  memset(of->Q, 0, (size_t)(size * size) * sizeof(double));
  for (int32_t a = 0; a < n_rows; ++a) {
    for (int32_t b = 0; b <= a; ++b) {
      double sum = 0.0;
      for (int32_t j = 0; j < n_b; ++j) {
        sum += of->row[(int64_t)a * n_b + j] * of->row[(int64_t)b * n_b + j];
      }
      of->Q[(int64_t)a * size + b] = of->Q[(int64_t)b * size + a] = sum;
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    const int64_t lambda = n_rows + i;
    of->r[lambda] = 0.0;
    of->Q[lambda * size + i] = reduction->problem->mu[i];
    for (int32_t k = 0; k < edges; ++k) {
      const int64_t at = n + i * edges + k;
      of->Q[at * size + lambda] = 1.0;
      of->Q[lambda * size + at] = -1.0;
    }
  }
}

struct invdyn_answer invdyn_coulomb_solve(struct invdyn_coulomb *of, lcp_solver *lcp,
                                          const struct invdyn_reduction *reduction, int32_t edges,
                                          int regularize, double *z) {
  const int32_t n = reduction->problem->n;
  set_rows(of, reduction, edges);
  set_matrix(of, reduction, edges);
  lcp_settings settings = lcp_settings_default();
  settings.regularization_first = regularize ? 1e-14 : 0.0;
  settings.regularization_last = 1e-6;
  const int8_t *start = invdyn_recall(&of->recall, reduction->problem, 0);
  lcp_solution found = {.z = of->z, .w = of->w, .basis = of->recall.now};
  const lcp_problem problem = {n * (edges + 2), of->Q, of->r};
  struct invdyn_answer answer = {.outcome = LCP_NON_FINITE};
  if (lcp_solve(lcp, &settings, &problem, start, &found, NULL) != SAP_OK) {
    return answer; /* an entry has overflowed */
  }
  answer.outcome = found.outcome;
  answer.pivots = found.pivots;
  answer.regularization = found.regularization;
  if (found.outcome == LCP_SOLVED) {
    invdyn_remember(&of->recall, reduction->problem);
  }
  for (int32_t i = 0; i < n; ++i) {
    z[3 * i] = z[3 * i + 1] = 0.0;
    z[3 * i + 2] = of->z[i];
    for (int32_t k = 0; k < edges; ++k) {
      double unit[2];
      invdyn_direction(k, edges, unit);
      z[3 * i] += unit[0] * of->z[n + i * edges + k];
      z[3 * i + 1] += unit[1] * of->z[n + i * edges + k];
    }
  }
  return answer;
}
