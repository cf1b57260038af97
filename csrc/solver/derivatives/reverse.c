/* Implements reverse mode; sapwood/sensitivity.h has the formulas. */
#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/fail.h"
#include "constraints/kinds/kinds.h"
#include "solver/derivatives/places.h"

/* ---- checks of the arrays ---- */

static sap_status check_bar(const struct sap_sensitivity *s, const sap_response *bar,
                            sap_error *error) {
  const sap_sizes *sizes = &s->solver->plan.graph.sizes;
  const struct {
    const char *name;
    int64_t n;
    const double *x;
  } arrays[] = {
      {"v_bar", sizes->nv, bar->v},
      {"gamma_bar", 3 * (int64_t)s->problem.n_contacts, bar->gamma},
      {"group_gamma_bar", sizes->n_rows, bar->group_gamma},
      {"spin_gamma_bar", s->problem.spin ? 3 * (int64_t)s->problem.spin->n : 0, bar->spin_gamma}};
  sap_status status = SAP_OK;
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays && status == SAP_OK; ++k) {
    if (arrays[k].x) {
      status = sap_check_finite(arrays[k].name, arrays[k].n, arrays[k].x, error);
    }
  }
  return status;
}

/* Sets an array of the gradient to 0. Returns 0 if it is missing but has entries. */
static int clear(double *x, int64_t n) {
  if (x && n > 0) {
    memset(x, 0, sizeof *x * (size_t)n);
  }
  return x || n == 0;
}

static int64_t rows_of_group(const sap_constraints *group) {
  int64_t n = 0;
  for (int32_t i = 0; i < group->n; ++i) {
    n += sap_rows_of(group, i);
  }
  return n;
}

static int clear_group(const struct sap_sensitivity *s, int32_t g, const sap_differential *to) {
  const sap_constraints *group = &s->problem.groups[g];
  const sap_group_differential *of = &to->groups[g];
  const int64_t n = rows_of_group(group);
  int given = clear(of->R, n) & clear(of->v_hat, n) & clear(of->lower, n) & clear(of->upper, n);
  const int physical = s->parameters.groups && s->parameters.groups[g].parameters.value;
  for (int32_t k = 0; physical && n > 0 && k < sap_kind_parameters(group->kind); ++k) {
    given &= of->value && clear(of->value[k], n);
  }
  return given;
}

static sap_status clear_all(const struct sap_sensitivity *s, sap_differential *to,
                            sap_error *error) {
  const sap_problem *problem = &s->problem;
  const sap_sizes *sizes = &s->solver->plan.graph.sizes;
  const sap_parameters *p = &s->parameters;
  const int64_t n = problem->n_contacts, n_spins = problem->spin ? problem->spin->n : 0;
  clear(to->A, sizes->nA);
  int given =
      clear(to->v_star, sizes->nv) & clear(to->mu, n) & clear(to->R_t, n) & clear(to->R_n, n) &
      clear(to->v_hat_n, n) & clear(to->spin_mu, 3 * n_spins) &
      clear(to->v_hat_t, problem->v_hat_t ? 2 * n : 0) & clear(to->kappa, problem->kappa ? n : 0) &
      clear(to->barrier_lambda, problem->barrier_lambda ? n : 0) &
      clear(to->friction_bound, problem->friction_bound ? n : 0) & clear(to->phi0, p->k ? n : 0) &
      clear(to->k, p->k ? n : 0) & clear(to->tau_d, p->k ? n : 0) &
      clear(to->delta, p->k && p->delta ? n : 0) &
      clear(to->slip_ratio, p->k && p->slip_ratio ? n : 0) & (to->groups || problem->n_groups == 0);
  for (int32_t g = 0; given && g < problem->n_groups; ++g) {
    given &= clear_group(s, g, to);
  }
  to->dt = to->sigma = 0;
  return given ? SAP_OK
               : sap_invalid(error, "gradient", -1, NAN,
                             "must have room for what the problem has, but for A and J");
}

/* ---- one island ---- */

/* Sets z = gamma_bar. Returns 1 if any entry is not 0. */
static int load(struct sap_sensitivity *s, const struct sap_island *island,
                const sap_response *bar) {
  int any = 0;
  for (int r = 0; r < 3; ++r) {
    memset(s->z[r] + island->triple_begin, 0,
           sizeof(double) * (size_t)(island->triple_end - island->triple_begin));
  }
  if (!bar->gamma && !bar->group_gamma && !bar->spin_gamma) {
    return 0;
  }
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    for (int32_t i = island->law_begin[law]; i < island->law_begin[law + 1]; ++i) {
      const int n_rows =
          sap_laws[law]->takes_rows ? sap_rows_at_place(s, i, &(sap_differential){0}).n_rows : 3;
      for (int r = 0; r < 3; ++r) {
        const double *x = r < n_rows ? sap_impulse_at_place(s, law, i, r, bar) : NULL;
        s->z[r][i] = x ? *x : 0;
        any |= s->z[r][i] != 0;
      }
    }
  }
  return any;
}

/* Finds lambda, in dv of the workspace, z and x = K^T z. */
static void solve(struct sap_sensitivity *s, const struct sap_island *island,
                  const sap_response *bar) {
  struct sap_workspace *w = sap_sensitivity_work(s);
  const struct sap_jacobian_loops *J = w->plan->jacobian_loops;
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dv[i] = 0;
  }
  if (bar->v) {
    sap_workspace_gather(w, island, bar->v, w->dv);
  }
  if (load(s, island, bar)) {
    sap_apply_slope(s, island, 1, s->z, s->x);
    J->multiply_transposed(&w->J, island, s->x, w->dp);
    for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
      w->dv[i] -= w->dp[i];
    }
  }
  sap_unsymmetric_solve(s, island, 1);
  J->multiply(&w->J, island, w->dv, w->pool.dv_c);
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = island->triple_begin; i < island->triple_end; ++i) {
      s->z[r][i] += w->pool.dv_c[r][i];
    }
  }
  sap_apply_slope(s, island, 1, s->z, s->x);
}

/* Writes dL/dv* = A lambda, dL/dA = -(lambda dw^T + dw lambda^T)/2. */
static void write_mass(const struct sap_sensitivity *s, const struct sap_island *island,
                       const sap_differential *to) {
  struct sap_workspace *w = sap_sensitivity_work(s);
  const struct sap_graph *graph = w->graph;
  w->plan->vectors->multiply_mass(island->node_begin, island->node_end, graph->tree.node_scalar,
                                  w->dense, w->diagonal, w->dv, w->dp);
  sap_workspace_scatter(w, island, w->dp, to->v_star);
  for (int32_t node = island->node_begin; to->A && node < island->node_end; ++node) {
    const int32_t scalar = graph->tree.node_scalar[node], n = sap_node_size(&graph->tree, node);
    const double *lambda = w->dv + scalar, *dw = w->dw + scalar;
    double *A = to->A + graph->tree_A[graph->node_tree[node]];
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        A[(int64_t)i * n + j] = -0.5 * (lambda[i] * dw[j] + dw[i] * lambda[j]);
      }
    }
  }
}

/* Computes row <- gamma lambda^T - x v^T. */
static void write_row(int32_t n, double gamma, const double *restrict lambda, double x,
                      const double *restrict v, double *restrict row) {
  for (int32_t j = 0; j < n; ++j) {
    row[j] = gamma * lambda[j] - x * v[j];
  }
}

/* Writes dL/dJ of the rows of a triple. */
static void write_rows(const struct sap_sensitivity *s, int32_t place, const sap_differential *to) {
  const struct sap_workspace *w = sap_sensitivity_work(s);
  const struct sap_place_rows rows = sap_rows_at_place(s, place, to);
  for (int side = 0; rows.J && side < rows.n_sides; ++side) {
    for (int32_t r = 0; r < rows.n_rows; ++r) {
      int32_t first;
      const int32_t n = sap_columns_of(&rows, side, r, &first);
      write_row(n, w->pool.gamma[r][place], w->dv + first, s->x[r][place], w->v + first,
                rows.J + rows.side[side].offset + r * rows.side[side].step);
    }
  }
}

/* Writes dL/dv_hat = x and dL/dc = (dgamma/dc)^T z of clamped rows. */
static void write_clamps(const struct sap_sensitivity *s, int law, int32_t place,
                         const sap_differential *to) {
  const int32_t n_rows = sap_rows_at_place(s, place, to).n_rows;
  for (int32_t r = 0; r < n_rows; ++r) {
    *sap_target_at_place(s, law, place, r, to) = s->x[r][place];
    for (int c = 0; c < SAP_COMMON; ++c) {
      *sap_row_constant_at_place(s, place, c, r, to) = s->by[c][r][place] * s->z[r][place];
    }
  }
}

/* Adds dL/dc of a contact for the constants that only some laws have. */
static void write_rest(const struct sap_sensitivity *s, int law, int32_t place,
                       const sap_differential *to) {
  const int places = 1 + sap_laws[law]->takes_pairs;
  struct sap_partials partials;
  sap_laws[law]->partials(&sap_sensitivity_work(s)->pool, place, &partials);
  for (int c = SAP_COMMON; c < sap_laws[law]->n_constants; ++c) {
    double *to_c = sap_contact_constant_at_place(s, law, place, c, to);
    for (int r = 0; to_c && r < 3 * places; ++r) {
      *to_c += partials.by[c][r] * s->z[r % 3][place + r / 3];
    }
  }
}

/* Writes dL/dc of the contacts of a law for one of the common constants. */
static void write_constant(const struct sap_sensitivity *s, const int32_t range[2], int32_t places,
                           int c, double *restrict to) {
  const double *restrict by_1 = s->by[c][0], *restrict by_2 = s->by[c][1];
  const double *restrict by_n = s->by[c][2];
  const double *restrict z_1 = s->z[0], *restrict z_2 = s->z[1], *restrict z_n = s->z[2];
  const int32_t *restrict contact = s->solver->plan.graph.triple;
  for (int32_t i = range[0]; i < range[1]; i += places) {
    to[contact[i]] = by_1[i] * z_1[i] + by_2[i] * z_2[i] + by_n[i] * z_n[i];
  }
  /* adds the second triples of pairs */
  for (int32_t i = range[0] + 1; places == 2 && i < range[1]; i += 2) {
    to[contact[i - 1]] += by_1[i] * z_1[i] + by_2[i] * z_2[i] + by_n[i] * z_n[i];
  }
}

/* Writes dL/dc of the contacts of a law for all constants, and dL/dv_hat = x. */
static void write_contacts(const struct sap_sensitivity *s, int law, const int32_t range[2],
                           const sap_differential *to) {
  const int32_t places = 1 + sap_laws[law]->takes_pairs;
  const int32_t *restrict contact = s->solver->plan.graph.triple;
  write_constant(s, range, places, SAP_BY_MU, to->mu);
  write_constant(s, range, places, SAP_BY_R_T, to->R_t);
  write_constant(s, range, places, SAP_BY_R_N, to->R_n);
  for (int32_t i = range[0]; i < range[1]; i += places) {
    to->v_hat_n[contact[i]] = s->x[2][i];
  }
  for (int32_t i = range[0]; to->v_hat_t && i < range[1]; i += places) {
    to->v_hat_t[2 * contact[i]] = s->x[0][i];
    to->v_hat_t[2 * contact[i] + 1] = s->x[1][i];
  }
  for (int32_t i = range[0]; sap_laws[law]->n_constants > SAP_COMMON && i < range[1]; i += places) {
    write_rest(s, law, i, to);
  }
}

static void write_island(const struct sap_sensitivity *s, const struct sap_island *island,
                         const sap_differential *to) {
  write_mass(s, island, to);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    const int takes_rows = sap_laws[law]->takes_rows;
    if (!takes_rows) {
      write_contacts(s, law, range, to);
    }
    for (int32_t i = range[0]; takes_rows && i < range[1]; ++i) {
      write_clamps(s, law, i, to);
    }
    /* dL/dJ of groups and spins always has room */
    const int wanted = to->J || takes_rows || sap_laws[law]->takes_pairs;
    for (int32_t i = range[0]; wanted && i < range[1]; ++i) {
      write_rows(s, i, to);
    }
  }
}

/* Writes dL/dv* = dL/dv for trees that no constraint touches. */
static void write_others(const struct sap_sensitivity *s, const double *v_bar, double *v_star) {
  const struct sap_graph *graph = &s->solver->plan.graph;
  for (int32_t t = 0; v_bar && t < graph->n_trees; ++t) {
    if (graph->tree_position[t] < 0) {
      memcpy(v_star + graph->tree_v[t], v_bar + graph->tree_v[t],
             sizeof *v_star * (size_t)graph->tree_nv[t]);
    }
  }
}

sap_status sap_sensitivity_vjp(sap_sensitivity *s, const sap_response *bar, int frozen,
                               sap_differential *gradient, sap_coupling *coupling,
                               sap_error *error) {
  sap_status status = sap_sensitivity_check(s, error);
  if (status == SAP_OK) {
    status = check_bar(s, bar, error);
  }
  if (status == SAP_OK) {
    status = clear_all(s, gradient, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  const struct sap_graph *graph = &s->solver->plan.graph;
  s->coupling = (sap_coupling){0};
  write_others(s, bar->v, gradient->v_star);
  for (int32_t i = 0; i < graph->n_islands; ++i) {
    solve(s, &graph->island[i], bar);
    write_island(s, &graph->island[i], gradient);
  }
  if (s->has_parameters) {
    const struct sap_chain chain = sap_sensitivity_chain(s, frozen);
    sap_chain_pull(&chain, gradient);
  }
  *coupling = s->coupling;
  return SAP_OK;
}
