/* Applies K = G + U, and solves systems with H = A + J^T K J.
 *
 * U is not 0 where friction follows the normal impulse: there U x_c = u x_n. Then the factor is
 * that of lu_factor.h in double precision, and refinement corrects what its pivots, which are
 * exchanged inside of small blocks alone, leave. */
#include <math.h>

#include "solver/coulomb/unsymmetric_direction.h"
#include "solver/derivatives/linearize.h"
#include "solver/derivatives/sensitivity_object.h"
#include "solver/solver_tuning.h"

/* ---- K ---- */

/* Computes y_c = G x_c; the arrays are different. */
static void apply_symmetric(const struct sap_pool *p, int32_t begin, int32_t end,
                            double *const x_c[3], double *const y_c[3]) {
  static const int entry[3][3] = {{SAP_G_11, SAP_G_12, SAP_G_1N},
                                  {SAP_G_12, SAP_G_22, SAP_G_2N},
                                  {SAP_G_1N, SAP_G_2N, SAP_G_NN}};
  const double *x_1 = x_c[0], *x_2 = x_c[1], *x_n = x_c[2];
  for (int row = 0; row < 3; ++row) {
    const double *G_1 = p->G[entry[row][0]], *G_2 = p->G[entry[row][1]];
    const double *G_n = p->G[entry[row][2]];
    double *restrict y = y_c[row];
    for (int32_t i = begin; i < end; ++i) {
      y[i] = G_1[i] * x_1[i] + G_2[i] * x_2[i] + G_n[i] * x_n[i];
    }
  }
}

/* Computes y_c += U x_c, or U^T x_c, for contacts of so many places each. */
static void add_coupling(double *const u[3], int32_t begin, int32_t end, int32_t places,
                         int transposed, double *const x_c[3], double *const y_c[3]) {
  for (int32_t i = begin; i < end; i += places) {
    const double x_n = x_c[2][i];
    double sum = 0;
    for (int32_t k = i; k < i + places; ++k) {
      for (int r = 0; r < 3; ++r) {
        sum += u[r][k] * x_c[r][k];
        y_c[r][k] += transposed ? 0 : u[r][k] * x_n;
      }
    }
    y_c[2][i] += transposed ? sum : 0;
  }
}

void sap_apply_slope(const struct sap_sensitivity *s, const struct sap_island *island,
                     int transposed, double *const x_c[3], double *const y_c[3]) {
  const struct sap_workspace *w = sap_sensitivity_work(s);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t begin = island->law_begin[law], end = island->law_begin[law + 1];
    const int pairs = sap_laws[law]->takes_pairs;
    apply_symmetric(&w->pool, begin, end, x_c, y_c);
    if (pairs) {
      sap_add_cross(&w->pool, begin, end, x_c, y_c);
    }
    if (s->n_coupled[island->index] > 0) {
      add_coupling(w->coulomb.law.u, begin, end, 1 + pairs, transposed, x_c, y_c);
    }
  }
}

/* ---- H ---- */

int32_t sap_sensitivity_factor(struct sap_sensitivity *s, const struct sap_island *island) {
  struct sap_workspace *w = sap_sensitivity_work(s);
  const struct sap_lu *lu = &w->plan->lu;
  const int coulomb = w->plan->friction == SAP_FRICTION_COULOMB;
  const int32_t n_coupled = coulomb ? sap_find_coupling(w, island) : 0;
  s->n_coupled[island->index] = n_coupled;
  if (n_coupled == 0) {
    return sap_linearized_factor(w, island);
  }
  sap_assemble_unsymmetric(w, island);
  const int32_t node = sap_lu_run(lu, island->index);
  return node < 0 ? -1 : w->graph->node_tree[node];
}

/* Writes b - H dv, or b - H^T dv, to `residual`, with b in s->target. Returns |D residual| over
 * |D b|. */
static double find_residual(struct sap_sensitivity *s, const struct sap_island *island,
                            int transposed, double *residual) {
  struct sap_workspace *w = sap_sensitivity_work(s);
  sap_line_make(w, island, SAP_FRICTION_COULOMB);
  sap_apply_slope(s, island, transposed, w->pool.dv_c, w->pool.dual);
  return sap_unsymmetric_residual(w, island, s->target, w->pool.dual, residual);
}

void sap_unsymmetric_solve(struct sap_sensitivity *s, const struct sap_island *island,
                           int transposed) {
  struct sap_workspace *w = sap_sensitivity_work(s);
  void (*solve)(const struct sap_lu *, int32_t, double *) =
      transposed ? sap_lu_solve_transposed : sap_lu_solve;
  if (s->n_coupled[island->index] == 0) {
    sap_linearized_solve(w, island, w->dv);
    return;
  }
  sap_copy(s->target, w->dv, island);
  solve(&w->plan->lu, island->index, w->dv);
  double last = INFINITY, residual = find_residual(s, island, transposed, s->correction);
  while (residual < sap_useful_refinement * last && residual > sap_unsymmetric_tolerance) {
    sap_copy(s->solution, w->dv, island);
    last = residual;
    solve(&w->plan->lu, island->index, s->correction);
    for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
      w->dv[i] += s->correction[i];
    }
    residual = find_residual(s, island, transposed, s->correction);
  }
  if (!(residual <= last)) {
    sap_copy(w->dv, s->solution, island);
    residual = last;
  }
  s->coupling.residual = fmax(s->coupling.residual, residual);
}
