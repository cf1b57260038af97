/* Implements forward mode, and solves with H; sapwood/sensitivity.h has the formulas. */
#include <string.h>

#include "base/arithmetic.h"
#include "constraints/kinds/kinds.h"
#include "solver/derivatives/places.h"

/* ---- the change of the constants of the laws ---- */

/* Copies `from` (n) to x, or zeros if it is NULL. Returns x. */
static double *copy(const double *from, int64_t n, double *x) {
  if (from) {
    memcpy(x, from, sizeof *x * (size_t)n);
  } else {
    memset(x, 0, sizeof *x * (size_t)n);
  }
  return x;
}

/* Returns the change with the effect of physical parameters added to R, v_hat, kappa and bounds, in
 * arrays of the sensitivity. */
static sap_differential derive(struct sap_sensitivity *s, const sap_differential *change,
                               int frozen) {
  sap_differential all = *change;
  if (!s->has_parameters) {
    return all;
  }
  const int64_t n = s->problem.n_contacts;
  all.R_t = copy(change->R_t, n, s->R_t);
  all.R_n = copy(change->R_n, n, s->R_n);
  all.v_hat_n = copy(change->v_hat_n, n, s->v_hat_n);
  all.kappa = copy(change->kappa, n, s->kappa);
  int64_t first = 0;
  for (int32_t g = 0; g < s->problem.n_groups; ++g) {
    const sap_constraints *group = &s->problem.groups[g];
    const sap_group_differential of =
        change->groups ? change->groups[g] : (sap_group_differential){0};
    int64_t n_rows = 0;
    for (int32_t c = 0; c < group->n; ++c) {
      n_rows += sap_rows_of(group, c);
    }
    s->groups[g] = (sap_group_differential){.J = of.J,
                                            .R = copy(of.R, n_rows, s->rows[0] + first),
                                            .v_hat = copy(of.v_hat, n_rows, s->rows[1] + first),
                                            .lower = copy(of.lower, n_rows, s->rows[2] + first),
                                            .upper = copy(of.upper, n_rows, s->rows[3] + first)};
    first += n_rows;
  }
  all.groups = s->groups;
  const struct sap_chain chain = sap_sensitivity_chain(s, frozen);
  const struct sap_derived to = {all.R_t, all.R_n, all.v_hat_n, all.kappa, s->groups};
  sap_chain_push(&chain, change, &to);
  return all;
}

/* ---- one island ---- */

/* Computes z -= dJ v of the rows of a triple, and b += dJ^T gamma. */
static void push_jacobian(const struct sap_sensitivity *s, int32_t place,
                          const sap_differential *change, double *b) {
  const struct sap_workspace *w = sap_sensitivity_work(s);
  const struct sap_place_rows rows = sap_rows_at_place(s, place, change);
  for (int32_t r = 0; rows.J && r < rows.n_rows; ++r) {
    for (int side = 0; side < rows.n_sides; ++side) {
      const double *dJ = rows.J + rows.side[side].offset + r * rows.side[side].step;
      int32_t first;
      const int32_t n = sap_columns_of(&rows, side, r, &first);
      s->z[r][place] -= sap_vector_dot(n, dJ, w->v + first);
      sap_vector_add(n, w->pool.gamma[r][place], dJ, b + first);
    }
  }
}

/* Computes z = dv_hat - dJ v of a clamped triple, and b += dJ^T gamma. */
static void push_clamped_rows(const struct sap_sensitivity *s, int32_t place,
                              const sap_differential *change, double *b) {
  const struct sap_triple_rows *rows = sap_triple_rows_at_place(s, place);
  const sap_group_differential none = {0};
  const sap_group_differential *group =
      change->groups ? &change->groups[rows->group - s->problem.groups] : &none;
  for (int r = 0; r < 3; ++r) {
    s->z[r][place] = group->v_hat && r < rows->n ? group->v_hat[rows->row + r] : 0;
  }
  if (group->J) {
    push_jacobian(s, place, change, b);
  }
}

/* Does the same for a triple of a contact. */
static void push_contact_rows(const struct sap_sensitivity *s, int law, int32_t place,
                              const sap_differential *change, double *b) {
  for (int r = 0; r < 3; ++r) {
    const double *v_hat = sap_target_at_place(s, law, place, r, change);
    s->z[r][place] = v_hat ? *v_hat : 0;
  }
  if (change->J || change->spin_J) {
    push_jacobian(s, place, change, b);
  }
}

/* Computes x += (dgamma/dc) dc of clamped rows. */
static void push_clamps(const struct sap_sensitivity *s, int32_t place,
                        const sap_differential *change) {
  const int32_t n_rows = sap_triple_rows_at_place(s, place)->n;
  for (int c = 0; c < SAP_N_ROW_CONSTANTS; ++c) {
    const double *dc = sap_row_constant_at_place(s, place, c, 0, change);
    for (int r = 0; dc && r < n_rows; ++r) {
      s->x[r][place] += s->by[c][r][place] * dc[r];
    }
  }
}

/* Computes x += (dgamma/dc) dc of a contact for the constants that only some laws have. */
static void push_rest(const struct sap_sensitivity *s, int law, int32_t place,
                      const sap_differential *change) {
  struct sap_partials partials;
  int is_known = 0;
  for (int c = SAP_COMMON; c < sap_laws[law]->n_constants; ++c) {
    const double *dc = sap_contact_constant_at_place(s, law, place, c, change);
    if (dc && !is_known) {
      sap_laws[law]->partials(&sap_sensitivity_work(s)->pool, place, &partials);
      is_known = 1;
    }
    for (int r = 0; dc && r < 3 * (1 + sap_laws[law]->takes_pairs); ++r) {
      s->x[r % 3][place + r / 3] += partials.by[c][r] * *dc;
    }
  }
}

/* Computes x += (dgamma/dc) dc of the contact, whose pair of triples may begin at a place. */
static void push_contact(const struct sap_sensitivity *s, int law, int32_t place,
                         const sap_differential *change) {
  const int32_t end = place + 1 + sap_laws[law]->takes_pairs;
  for (int c = 0; c < SAP_COMMON; ++c) {
    const double *dc = sap_contact_constant_at_place(s, law, place, c, change);
    for (int32_t i = place; dc && i < end; ++i) {
      for (int r = 0; r < 3; ++r) {
        s->x[r][i] += s->by[c][r][i] * *dc;
      }
    }
  }
  push_rest(s, law, place, change);
}

/* Computes x += (dgamma/dc) dc of the triples of a law. */
static void push_constants(const struct sap_sensitivity *s, const struct sap_island *island,
                           int law, const sap_differential *change) {
  const int32_t step = 1 + sap_laws[law]->takes_pairs;
  for (int32_t i = island->law_begin[law]; i < island->law_begin[law + 1]; i += step) {
    if (sap_laws[law]->takes_rows) {
      push_clamps(s, i, change);
    } else {
      push_contact(s, law, i, change);
    }
  }
}

/* Computes b -= dA (v - v*), with the symmetric part of dA. */
static void push_mass(const struct sap_workspace *w, const struct sap_island *island,
                      const double *dA, double *b) {
  const struct sap_graph *graph = w->graph;
  for (int32_t node = island->node_begin; dA && node < island->node_end; ++node) {
    const int32_t scalar = graph->tree.node_scalar[node], n = sap_node_size(&graph->tree, node);
    const double *block = dA + graph->tree_A[graph->node_tree[node]];
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        const double mean = 0.5 * (block[(int64_t)i * n + j] + block[(int64_t)j * n + i]);
        b[scalar + i] -= mean * w->dw[scalar + j];
      }
    }
  }
}

/* Finds H dv = A dv* - dA (v - v*) + dJ^T gamma + J^T q, in dv of the workspace, and x = q. */
static void push_momentum(struct sap_sensitivity *s, const struct sap_island *island,
                          const sap_differential *change) {
  struct sap_workspace *w = sap_sensitivity_work(s);
  const struct sap_jacobian_loops *J = w->plan->jacobian_loops;
  double *dv = w->dv, *b = w->dp;
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    dv[i] = b[i] = 0;
  }
  if (change->v_star) {
    sap_workspace_gather(w, island, change->v_star, dv);
    w->plan->vectors->multiply_mass(island->node_begin, island->node_end,
                                    w->graph->tree.node_scalar, w->dense, w->diagonal, dv, b);
  }
  push_mass(w, island, change->A, b);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    for (int32_t i = island->law_begin[law]; i < island->law_begin[law + 1]; ++i) {
      if (sap_laws[law]->takes_rows) {
        push_clamped_rows(s, i, change, b);
      } else {
        push_contact_rows(s, law, i, change, b);
      }
    }
  }
  /* q = K (dv_hat - dJ v) + (dgamma/dp) dp */
  sap_apply_slope(s, island, 0, s->z, s->x);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    push_constants(s, island, law, change);
  }
  J->multiply_transposed(&w->J, island, s->x, dv);
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    dv[i] += b[i];
  }
}

/* Finds dv, in dv of the workspace, and x = dgamma. */
static void push_island(struct sap_sensitivity *s, const struct sap_island *island,
                        const sap_differential *change) {
  struct sap_workspace *w = sap_sensitivity_work(s);
  push_momentum(s, island, change);
  sap_unsymmetric_solve(s, island, 0);
  w->plan->jacobian_loops->multiply(&w->J, island, w->dv, w->pool.dv_c);
  sap_apply_slope(s, island, 0, w->pool.dv_c, s->z);
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = island->triple_begin; i < island->triple_end; ++i) {
      s->x[r][i] -= s->z[r][i];
    }
  }
}

static void write_island(const struct sap_sensitivity *s, const struct sap_island *island,
                         const sap_response *to) {
  const struct sap_workspace *w = sap_sensitivity_work(s);
  if (to->v) {
    sap_workspace_scatter(w, island, w->dv, to->v);
  }
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    for (int32_t i = island->law_begin[law]; i < island->law_begin[law + 1]; ++i) {
      const int n_rows = sap_rows_at_place(s, i, &(sap_differential){0}).n_rows;
      for (int r = 0; r < n_rows; ++r) {
        double *gamma = sap_impulse_at_place(s, law, i, r, to);
        if (gamma) {
          *gamma = s->x[r][i];
        }
      }
    }
  }
}

/* Writes dv = dv* for trees that no constraint touches. */
static void write_others(const struct sap_sensitivity *s, const double *dv_star, double *dv) {
  const struct sap_graph *graph = &s->solver->plan.graph;
  for (int32_t t = 0; dv && t < graph->n_trees; ++t) {
    if (graph->tree_position[t] < 0) {
      copy(dv_star ? dv_star + graph->tree_v[t] : NULL, graph->tree_nv[t], dv + graph->tree_v[t]);
    }
  }
}

sap_status sap_sensitivity_jvp(sap_sensitivity *s, const sap_differential *change, int frozen,
                               const sap_response *response, sap_coupling *coupling,
                               sap_error *error) {
  const sap_status status = sap_sensitivity_check(s, error);
  if (status != SAP_OK) {
    return status;
  }
  const struct sap_graph *graph = &s->solver->plan.graph;
  const sap_differential all = derive(s, change, frozen);
  s->coupling = (sap_coupling){0};
  write_others(s, change->v_star, response->v);
  for (int32_t i = 0; i < graph->n_islands; ++i) {
    push_island(s, &graph->island[i], &all);
    write_island(s, &graph->island[i], response);
  }
  *coupling = s->coupling;
  return SAP_OK;
}

sap_status sap_sensitivity_momentum(sap_sensitivity *s, const sap_differential *change, int frozen,
                                    double *momentum, sap_error *error) {
  const sap_status status = sap_sensitivity_check(s, error);
  if (status != SAP_OK) {
    return status;
  }
  const struct sap_graph *graph = &s->solver->plan.graph;
  const sap_differential all = derive(s, change, frozen);
  write_others(s, NULL, momentum);
  for (int32_t i = 0; i < graph->n_islands; ++i) {
    push_momentum(s, &graph->island[i], &all);
    sap_workspace_scatter(sap_sensitivity_work(s), &graph->island[i], sap_sensitivity_work(s)->dv,
                          momentum);
  }
  return SAP_OK;
}

/* Returns 1 if the right-hand side dv of an island has an entry. */
static int has_entry(const struct sap_workspace *w, const struct sap_island *island) {
  int32_t i = island->scalar_begin;
  while (i < island->scalar_end && w->dv[i] == 0.0) {
    ++i;
  }
  return i < island->scalar_end;
}

sap_status sap_sensitivity_solve(sap_sensitivity *s, const double *b, double *x,
                                 sap_coupling *coupling, sap_error *error) {
  const sap_status status = sap_sensitivity_check(s, error);
  if (status != SAP_OK) {
    return status;
  }
  struct sap_workspace *w = sap_sensitivity_work(s);
  const struct sap_graph *graph = &s->solver->plan.graph;
  s->coupling = (sap_coupling){0};
  write_others(s, NULL, x);
  for (int32_t i = 0; i < graph->n_islands; ++i) {
    const struct sap_island *island = &graph->island[i];
    sap_workspace_gather(w, island, b, w->dv);
    if (has_entry(w, island)) {
      sap_unsymmetric_solve(s, island, 0);
    }
    sap_workspace_scatter(w, island, w->dv, x);
  }
  *coupling = s->coupling;
  return SAP_OK;
}
