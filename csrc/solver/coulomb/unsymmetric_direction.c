#include "solver/coulomb/unsymmetric_direction.h"

#include <math.h>
#include <string.h>

#include "solver/solver_tuning.h"

int32_t sap_find_coupling(struct sap_workspace *w, const struct sap_island *island) {
  struct sap_pool view;
  const struct sap_pool *pool = sap_pool_with(&w->pool, SAP_FRICTION_COULOMB, &view);
  double *const *u = w->coulomb.law.u;
  int32_t n = 0;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t begin = island->law_begin[law], end = island->law_begin[law + 1];
    if (w->plan->laws[law]->couple) {
      for (int32_t i = begin; i < end; ++i) {
        u[2][i] = 1;
      }
      n += w->plan->laws[law]->couple(pool, begin, end, u);
      continue;
    }
    for (int r = 0; r < 3; ++r) {
      memset(u[r] + begin, 0, (size_t)(end - begin) * sizeof(double));
    }
  }
  return n;
}

void sap_assemble_unsymmetric(struct sap_workspace *w, const struct sap_island *island) {
  const struct sap_lu *lu = &w->plan->lu;
  sap_assemble(w, island, SAP_DOUBLE);
  sap_lu_mirror(lu, island->index);
  w->plan->jacobian_loops->add_coupling(&w->J, island, w->coulomb.law.u, w->scratch.GJ, lu);
}

void sap_add_cross(const struct sap_pool *pool, int32_t begin, int32_t end, double *const x_c[3],
                   double *const y_c[3]) {
  for (int32_t i = begin; i < end; i += 2) {
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) {
        const double cross = pool->torsional.cross[3 * r + c][i];
        y_c[r][i] += cross * x_c[c][i + 1];
        y_c[c][i + 1] += cross * x_c[r][i];
      }
    }
  }
}

/* Computes y_c = K x_c, with G of the pool. */
static void multiply_law(const struct sap_workspace *w, const struct sap_island *island,
                         double *const x_c[3], double *const y_c[3]) {
  struct sap_linear_law linear = w->coulomb.law;
  double *const *u = linear.u;
  memcpy(linear.G, w->pool.G, sizeof linear.G);
  w->plan->linear->multiply(&linear, island->triple_begin, island->triple_end, x_c, y_c);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t begin = island->law_begin[law], end = island->law_begin[law + 1];
    if (!sap_laws[law]->takes_pairs) {
      continue;
    }
    /* the column of a pair acts on the normal row of its first triple alone */
    for (int32_t i = begin; i < end; i += 2) {
      const double x_n = x_c[2][i], y_n = x_c[2][i + 1];
      y_c[0][i + 1] += u[0][i + 1] * (x_n - y_n);
      y_c[1][i + 1] += u[1][i + 1] * (x_n - y_n);
      y_c[2][i + 1] += u[2][i + 1] * x_n;
    }
    sap_add_cross(&w->pool, begin, end, x_c, y_c);
  }
}

double sap_unsymmetric_residual(struct sap_workspace *w, const struct sap_island *island,
                                const double *b, double *const y_c[3], double *residual) {
  double whole = 0, left = 0;
  w->plan->jacobian_loops->multiply_transposed(&w->J, island, y_c, residual);
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    residual[i] = b[i] - w->dp[i] - residual[i];
    left += (w->scale[i] * residual[i]) * (w->scale[i] * residual[i]);
    whole += (w->scale[i] * b[i]) * (w->scale[i] * b[i]);
  }
  return whole > 0 ? sqrt(left / whole) : 0;
}

/* Makes the line along dv, and writes b - H dv to `residual`, with b in the workspace. Returns its
 * norm over |D b|. */
static double find_residual(struct sap_workspace *w, const struct sap_island *island,
                            struct sap_line *line, double *residual) {
  double *const *y_c = w->coulomb.law.origin;
  *line = sap_line_make(w, island, SAP_FRICTION_COULOMB);
  multiply_law(w, island, w->pool.dv_c, y_c);
  return sap_unsymmetric_residual(w, island, w->coulomb.target, y_c, residual);
}

void sap_direction_solve(struct sap_workspace *w, const struct sap_island *island,
                         enum sap_factor_kind kind, double *x) {
  if (kind == SAP_FACTOR_LU) {
    sap_lu_solve(&w->plan->lu, island->index, x);
  } else {
    sap_factor_solve(&w->plan->factor, island->index, x);
  }
}

/* Solves by the unsymmetric factor. Returns 0 if that is not accurate enough. */
static int solve_unsymmetric(struct sap_workspace *w, const struct sap_island *island,
                             struct sap_stopwatch *watch, struct sap_newton_result *result,
                             struct sap_line *line) {
  const struct sap_lu *lu = &w->plan->lu;
  double *lack = w->coulomb.lack;
  sap_assemble_unsymmetric(w, island);
  sap_lap(watch, &result->assembly_seconds);
  if (sap_lu_run(lu, island->index) >= 0) {
    return 0;
  }
  sap_copy(w->dv, w->coulomb.target, island);
  sap_lu_solve(lu, island->index, w->dv);
  double residual = find_residual(w, island, line, lack);
  if (residual > sap_refined_residual && residual < INFINITY) {
    sap_lu_solve(lu, island->index, lack);
    for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
      w->dv[i] += lack[i];
    }
    residual = find_residual(w, island, line, lack);
  }
  return residual <= sap_largest_residual;
}

int32_t sap_unsymmetric_direction(struct sap_workspace *w, const struct sap_island *island,
                                  struct sap_stopwatch *watch, struct sap_newton_result *result,
                                  enum sap_factor_kind *kind, struct sap_line *line) {
  enum sap_precision precision = SAP_DOUBLE;
  *kind = SAP_FACTOR_CHOLESKY;
  if (sap_find_coupling(w, island) > 0) {
    sap_copy(w->coulomb.target, w->dv, island);
    *kind = SAP_FACTOR_LU;
    const int solved = solve_unsymmetric(w, island, watch, result, line);
    sap_lap(watch, &result->factor_seconds);
    if (solved) {
      return -1;
    }
    *kind = SAP_FACTOR_CHOLESKY;
    result->fallbacks |= SAP_FALLBACK_SYMMETRIC;
    for (int r = 0; r < 3; ++r) {
      memset(w->coulomb.law.u[r] + island->triple_begin, 0,
             (size_t)(island->triple_end - island->triple_begin) * sizeof(double));
    }
    sap_copy(w->dv, w->coulomb.target, island);
  }
  const int32_t node = sap_solve_system(w, island, &precision, watch, result);
  *line = sap_line_make(w, island, SAP_FRICTION_COULOMB);
  return node;
}
