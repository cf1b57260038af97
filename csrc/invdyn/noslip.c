#include "invdyn/noslip.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "invdyn/invdyn_tuning.h"

void invdyn_noslip_carve(struct invdyn_noslip *noslip, const invdyn_problem *most,
                         struct sap_arena *arena) {
  const size_t n = (size_t)most->n, n_b = (size_t)(most->m - most->n_q);
  noslip->Q = sap_arena_take(arena, n * n, sizeof(double));
  noslip->r = sap_arena_take(arena, n, sizeof(double));
  noslip->z = sap_arena_take(arena, n, sizeof(double));
  noslip->w = sap_arena_take(arena, n, sizeof(double));
  noslip->basis = sap_arena_take(arena, 2 * n * n_b, sizeof(double));
  noslip->upper = sap_arena_take(arena, n_b * n_b, sizeof(double));
  noslip->NP = sap_arena_take(arena, n * n_b, sizeof(double));
  noslip->y = sap_arena_take(arena, n_b, sizeof(double));
  noslip->s = sap_arena_take(arena, n_b, sizeof(double));
  invdyn_warm_start_carve(&noslip->warm_start, most->n, (const int32_t[]){1, 0, 0}, 0, arena);
}

/* Factors T span^T = basis^T upper by Gram-Schmidt, done twice. */
static void factor_span(struct invdyn_noslip *noslip, const struct invdyn_reduction *reduction) {
  const int32_t n_rows = 2 * reduction->problem->n, n_b = reduction->n_b;
  const int32_t rank = noslip->holding->rank;
  for (int32_t k = 0; k < rank; ++k) {
    double *column = noslip->basis + (int64_t)k * n_rows, *R = noslip->upper + (int64_t)k * rank;
    for (int32_t i = 0; i < n_rows; ++i) {
      column[i] = sap_vector_dot(n_b, invdyn_tangent(reduction, i),
                                 noslip->holding->span + (int64_t)k * n_b);
    }
    memset(R, 0, (size_t)rank * sizeof(double));
    for (int32_t again = 0; again < 2; ++again) {
      for (int32_t j = 0; j < k; ++j) {
        R[j] += invdyn_remove_part(n_rows, noslip->basis + (int64_t)j * n_rows, column);
      }
    }
    R[k] = sqrt(sap_vector_dot(n_rows, column, column));
    for (int32_t i = 0; i < n_rows; ++i) {
      column[i] /= R[k];
    }
  }
}

/* Finds y_held: T y_held + T_q v_q+ = 0, or as nearly as possible. */
static void hold_tangents(struct invdyn_noslip *noslip, const struct invdyn_reduction *reduction) {
  const int32_t n_rows = 2 * reduction->problem->n, n_b = reduction->n_b;
  const int32_t n_q = reduction->problem->n_q, rank = noslip->holding->rank;
  memset(noslip->s, 0, (size_t)n_b * sizeof(double));
  for (int32_t i = 0; i < n_rows; ++i) {
    const double *J_q = reduction->J_q + (3 * (int64_t)(i / 2) + (int64_t)(i % 2)) * n_q;
    const double given = sap_vector_dot(n_q, J_q, reduction->v_q);
    for (int32_t k = 0; k < rank; ++k) {
      noslip->s[k] -= noslip->basis[(int64_t)k * n_rows + i] * given;
    }
  }
  memset(noslip->y, 0, (size_t)n_b * sizeof(double));
  for (int32_t k = rank - 1; k >= 0; --k) {
    const double *R = noslip->upper + (int64_t)k * rank;
    noslip->s[k] /= R[k];
    for (int32_t j = 0; j < k; ++j) {
      noslip->s[j] -= R[j] * noslip->s[k];
    }
    for (int32_t j = 0; j < n_b; ++j) {
      noslip->y[j] += noslip->s[k] * noslip->holding->span[(int64_t)k * n_b + j];
    }
  }
}

/* ---- the complementarity problem ------------------------------------------------------------- */

static void set_problem(struct invdyn_noslip *noslip, const struct invdyn_reduction *reduction) {
  const int32_t n = reduction->problem->n, n_b = reduction->n_b;
  double normal = 0.0, outside = 0.0;
  memcpy(noslip->s, reduction->y_free, (size_t)n_b * sizeof(double));
  invdyn_remove_span(noslip->holding, n_b, noslip->s);
  for (int32_t i = 0; i < n; ++i) {
    const double *N = reduction->J_y + (3 * (int64_t)i + 2) * n_b;
    double *NP = noslip->NP + (int64_t)i * n_b;
    memcpy(NP, N, (size_t)n_b * sizeof(double));
    invdyn_remove_span(noslip->holding, n_b, NP);
    normal = fmax(normal, sap_vector_dot(n_b, N, N));
    outside = fmax(outside, sap_vector_dot(n_b, NP, NP));
    /* the free velocity contains the part of the joints and phi/dt */
    noslip->r[i] = reduction->free_velocity[3 * i + 2];
    for (int32_t j = 0; j < n_b; ++j) {
      noslip->r[i] += N[j] * (noslip->y[j] + noslip->s[j] - reduction->y_free[j]);
    }
  }
  noslip->degenerate = normal > 0.0 && sqrt(outside) <= noslip->holding->tolerance * sqrt(normal);
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j <= i; ++j) {
      const double q =
          sap_vector_dot(n_b, noslip->NP + (int64_t)i * n_b, noslip->NP + (int64_t)j * n_b);
      noslip->Q[(int64_t)i * n + j] = noslip->Q[(int64_t)j * n + i] = noslip->degenerate ? 0.0 : q;
    }
  }
}

/* Finds the tangential impulses of least norm that hold the tangents. */
static void spread_tangents(struct invdyn_noslip *noslip, const struct invdyn_reduction *reduction,
                            double *z) {
  const int32_t n_rows = 2 * reduction->problem->n, n_b = reduction->n_b;
  const int32_t rank = noslip->holding->rank;
  for (int32_t i = 0; i < n_rows / 2; ++i) {
    z[3 * i] = z[3 * i + 1] = 0.0;
    z[3 * i + 2] = noslip->z[i];
  }
  invdyn_base(reduction, z, noslip->s);
  for (int32_t j = 0; j < n_b; ++j) {
    noslip->y[j] -= noslip->s[j];
  }
  for (int32_t k = 0; k < rank; ++k) {
    double sum = sap_vector_dot(n_b, noslip->holding->span + (int64_t)k * n_b, noslip->y);
    for (int32_t j = 0; j < k; ++j) {
      sum -= noslip->upper[(int64_t)k * rank + j] * noslip->s[j];
    }
    noslip->s[k] = sum / noslip->upper[(int64_t)k * rank + k];
  }
  for (int32_t i = 0; i < n_rows; ++i) {
    for (int32_t k = 0; k < rank; ++k) {
      z[3 * (i / 2) + i % 2] += noslip->basis[(int64_t)k * n_rows + i] * noslip->s[k];
    }
  }
}

static struct invdyn_answer run(struct invdyn_noslip *noslip, lcp_solver *lcp, int32_t n,
                                const int8_t *start) {
  lcp_settings settings = lcp_settings_default();
  settings.method = LCP_AUTO;
  lcp_solution found = {.z = noslip->z, .w = noslip->w, .basis = noslip->warm_start.current};
  const lcp_problem problem = {n, noslip->Q, noslip->r};
  struct invdyn_answer answer = {.outcome = LCP_NON_FINITE};
  if (lcp_solve(lcp, &settings, &problem, start, &found, NULL) == SAP_OK) {
    answer.outcome = found.outcome;
    answer.pivots = found.pivots;
  }
  return answer;
}

struct invdyn_answer invdyn_noslip_solve(struct invdyn_noslip *noslip,
                                         const struct invdyn_holding *holding, lcp_solver *lcp,
                                         const struct invdyn_reduction *reduction, double *z) {
  const invdyn_problem *problem = reduction->problem;
  noslip->holding = holding;
  factor_span(noslip, reduction);
  hold_tangents(noslip, reduction);
  set_problem(noslip, reduction);
  const int8_t *start = invdyn_warm_start_load(&noslip->warm_start, problem, 0);
  struct invdyn_answer answer = run(noslip, lcp, problem->n, start);
  if (answer.outcome != LCP_SOLVED) {
    /* round-off moves r out of the range of a singular Q; a negligible velocity moves it back */
    const int32_t pivots = answer.pivots;
    for (int32_t i = 0; i < problem->n; ++i) {
      noslip->r[i] += invdyn_closed_contact * invdyn_velocity_scale(reduction);
    }
    answer = run(noslip, lcp, problem->n, NULL);
    answer.pivots += pivots;
  }
  if (answer.outcome == LCP_SOLVED || answer.outcome == LCP_INACCURATE) {
    invdyn_warm_start_store(&noslip->warm_start, problem);
    spread_tangents(noslip, reduction, z);
  }
  return answer;
}
