#include "invdyn/noslip.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"

/* of velocities of contacts, what counts as none */
static const double margin = 1e-9;

void invdyn_noslip_carve(struct invdyn_noslip *of, const invdyn_problem *most,
                         struct sap_arena *arena) {
  const size_t n = (size_t)most->n, n_b = (size_t)(most->m - most->n_q);
  of->Q = sap_arena_take(arena, n * n, sizeof(double));
  of->r = sap_arena_take(arena, n, sizeof(double));
  of->z = sap_arena_take(arena, n, sizeof(double));
  of->w = sap_arena_take(arena, n, sizeof(double));
  of->across = sap_arena_take(arena, 2 * n * n_b, sizeof(double));
  of->upper = sap_arena_take(arena, n_b * n_b, sizeof(double));
  of->NP = sap_arena_take(arena, n * n_b, sizeof(double));
  of->y = sap_arena_take(arena, n_b, sizeof(double));
  of->s = sap_arena_take(arena, n_b, sizeof(double));
  invdyn_recall_carve(&of->recall, most->n, (const int32_t[]){1, 0, 0}, 0, arena);
}

/* T span^T = across^T upper, by Gram-Schmidt done twice */
static void factor_span(struct invdyn_noslip *of, const struct invdyn_reduction *reduction) {
  const int32_t n_rows = 2 * reduction->problem->n, n_b = reduction->n_b;
  const int32_t rank = of->holding->rank;
  for (int32_t k = 0; k < rank; ++k) {
    double *column = of->across + (int64_t)k * n_rows, *R = of->upper + (int64_t)k * rank;
    for (int32_t i = 0; i < n_rows; ++i) {
      column[i] =
          sap_vector_dot(n_b, invdyn_tangent(reduction, i), of->holding->span + (int64_t)k * n_b);
    }
    memset(R, 0, (size_t)rank * sizeof(double));
    for (int32_t again = 0; again < 2; ++again) {
      for (int32_t j = 0; j < k; ++j) {
        R[j] += invdyn_remove_part(n_rows, of->across + (int64_t)j * n_rows, column);
      }
    }
    R[k] = sqrt(sap_vector_dot(n_rows, column, column));
    for (int32_t i = 0; i < n_rows; ++i) {
      column[i] /= R[k];
    }
  }
}

/* y_held: T y_held + T_q v_q+ = 0, or as nearly as can be */
static void hold_tangents(struct invdyn_noslip *of, const struct invdyn_reduction *reduction) {
  const int32_t n_rows = 2 * reduction->problem->n, n_b = reduction->n_b;
  const int32_t n_q = reduction->problem->n_q, rank = of->holding->rank;
  memset(of->s, 0, (size_t)n_b * sizeof(double));
  for (int32_t i = 0; i < n_rows; ++i) {
    const double *J_q = reduction->J_q + (3 * (int64_t)(i / 2) + (int64_t)(i % 2)) * n_q;
    const double given = sap_vector_dot(n_q, J_q, reduction->v_q);
    for (int32_t k = 0; k < rank; ++k) {
      of->s[k] -= of->across[(int64_t)k * n_rows + i] * given;
    }
  }
  memset(of->y, 0, (size_t)n_b * sizeof(double));
  for (int32_t k = rank - 1; k >= 0; --k) {
    const double *R = of->upper + (int64_t)k * rank;
    of->s[k] /= R[k];
    for (int32_t j = 0; j < k; ++j) {
      of->s[j] -= R[j] * of->s[k];
    }
    for (int32_t j = 0; j < n_b; ++j) {
      of->y[j] += of->s[k] * of->holding->span[(int64_t)k * n_b + j];
    }
  }
}

/* ---- the complementarity problem ------------------------------------------------------------- */

static void set_problem(struct invdyn_noslip *of, const struct invdyn_reduction *reduction) {
  const int32_t n = reduction->problem->n, n_b = reduction->n_b;
  double normal = 0.0, beside = 0.0;
  memcpy(of->s, reduction->y_free, (size_t)n_b * sizeof(double));
  invdyn_beside(of->holding, n_b, of->s);
  for (int32_t i = 0; i < n; ++i) {
    const double *N = reduction->J_y + (3 * (int64_t)i + 2) * n_b;
    double *NP = of->NP + (int64_t)i * n_b;
    memcpy(NP, N, (size_t)n_b * sizeof(double));
    invdyn_beside(of->holding, n_b, NP);
    normal = fmax(normal, sap_vector_dot(n_b, N, N));
    beside = fmax(beside, sap_vector_dot(n_b, NP, NP));
    /* what the joints add, phi/dt with it, is in the free velocity */
    of->r[i] = reduction->free_velocity[3 * i + 2];
    for (int32_t j = 0; j < n_b; ++j) {
      of->r[i] += N[j] * (of->y[j] + of->s[j] - reduction->y_free[j]);
    }
  }
  of->degenerate = normal > 0.0 && sqrt(beside) <= of->holding->tolerance * sqrt(normal);
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j <= i; ++j) {
      const double q = sap_vector_dot(n_b, of->NP + (int64_t)i * n_b, of->NP + (int64_t)j * n_b);
      of->Q[(int64_t)i * n + j] = of->Q[(int64_t)j * n + i] = of->degenerate ? 0.0 : q;
    }
  }
}

/* tangential impulses of least norm that hold the tangents */
static void spread_tangents(struct invdyn_noslip *of, const struct invdyn_reduction *reduction,
                            double *z) {
  const int32_t n_rows = 2 * reduction->problem->n, n_b = reduction->n_b;
  const int32_t rank = of->holding->rank;
  for (int32_t i = 0; i < n_rows / 2; ++i) {
    z[3 * i] = z[3 * i + 1] = 0.0;
    z[3 * i + 2] = of->z[i];
  }
  invdyn_base(reduction, z, of->s);
  for (int32_t j = 0; j < n_b; ++j) {
    of->y[j] -= of->s[j];
  }
  for (int32_t k = 0; k < rank; ++k) {
    double sum = sap_vector_dot(n_b, of->holding->span + (int64_t)k * n_b, of->y);
    for (int32_t j = 0; j < k; ++j) {
      sum -= of->upper[(int64_t)k * rank + j] * of->s[j];
    }
    of->s[k] = sum / of->upper[(int64_t)k * rank + k];
  }
  for (int32_t i = 0; i < n_rows; ++i) {
    for (int32_t k = 0; k < rank; ++k) {
      z[3 * (i / 2) + i % 2] += of->across[(int64_t)k * n_rows + i] * of->s[k];
    }
  }
}

static struct invdyn_answer run(struct invdyn_noslip *of, lcp_solver *lcp, int32_t n,
                                const int8_t *start) {
  lcp_settings settings = lcp_settings_default();
  settings.method = LCP_AUTO;
  lcp_solution found = {.z = of->z, .w = of->w, .basis = of->recall.now};
  const lcp_problem problem = {n, of->Q, of->r};
  struct invdyn_answer answer = {.outcome = LCP_NON_FINITE};
  if (lcp_solve(lcp, &settings, &problem, start, &found, NULL) == SAP_OK) {
    answer.outcome = found.outcome;
    answer.pivots = found.pivots;
  }
  return answer;
}

struct invdyn_answer invdyn_noslip_solve(struct invdyn_noslip *of,
                                         const struct invdyn_holding *holding, lcp_solver *lcp,
                                         const struct invdyn_reduction *reduction, double *z) {
  const invdyn_problem *problem = reduction->problem;
  of->holding = holding;
  factor_span(of, reduction);
  hold_tangents(of, reduction);
  set_problem(of, reduction);
  const int8_t *start = invdyn_recall(&of->recall, problem, 0);
  struct invdyn_answer answer = run(of, lcp, problem->n, start);
  if (answer.outcome != LCP_SOLVED) {
    /* rounding puts r beside the range of a singular Q: velocities that count as none help */
    const int32_t pivots = answer.pivots;
    for (int32_t i = 0; i < problem->n; ++i) {
      of->r[i] += margin * invdyn_velocity_scale(reduction);
    }
    answer = run(of, lcp, problem->n, NULL);
    answer.pivots += pivots;
  }
  if (answer.outcome == LCP_SOLVED || answer.outcome == LCP_INACCURATE) {
    invdyn_remember(&of->recall, problem);
    spread_tangents(of, reduction, z);
  }
  return answer;
}
