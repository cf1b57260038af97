#include "solver/plan/workspace.h"

#include <string.h>

#include "problem/problem_check.h"
#include "solver/solver_tuning.h"

void sap_workspace_carve(struct sap_workspace *w, struct sap_arena *arena) {
  const struct sap_triples *all = &w->plan->triples;
  const struct sap_graph *graph = w->graph;
  const size_t nodes = (size_t)graph->n_nodes, scalars = (size_t)graph->tree.n_scalars;
  w->A = sap_arena_take(arena, nodes, sizeof *w->A);
  w->dense = sap_arena_take(arena, nodes, sizeof *w->dense);
  w->reduced = sap_arena_take(arena, nodes, sizeof *w->reduced);
  w->eliminated = sap_arena_take(arena, (size_t)graph->n_islands, sizeof(double));
  w->J.graph = graph;
  w->J.triples = all;
  w->J.reduced = w->reduced;
  sap_jacobian_carve(&w->J, arena);
  sap_pool_carve(&w->pool, arena, graph->n_triples, all->present);
  w->pool.friction = w->plan->friction;
  sap_scratch_carve(&w->scratch, arena, graph);
  double **const by_scalar[] = {
      &w->v,        &w->best, &w->v_star, &w->momentum_star, &w->dw,    &w->momentum, &w->impulse,
      &w->gradient, &w->dv,   &w->dp,     &w->diagonal,      &w->scale, &w->error,    &w->reach};
  for (size_t i = 0; i < sizeof by_scalar / sizeof *by_scalar; ++i) {
    *by_scalar[i] = sap_arena_take(arena, scalars, sizeof(double));
  }
  const size_t coulomb = w->plan->friction == SAP_FRICTION_CONVEX ? 0 : scalars;
  w->best_v = sap_arena_take(arena, coulomb, sizeof(double));
  w->held_v = sap_arena_take(arena, coulomb, sizeof(double));
  if (coulomb > 0 && graph == &w->plan->graph) {
    w->coulomb.path.lu = &w->plan->lu;
    sap_coulomb_workspace_carve(&w->coulomb, arena, scalars, graph->n_triples);
  }
}

/* ---- binding ---- */

/* Binds the trees of an island. Returns 0 if a block of A breaks a rule. */
static int bind_trees(struct sap_workspace *w, const struct sap_island *island,
                      const sap_problem *problem) {
  const struct sap_plan *plan = w->plan;
  const struct sap_graph *graph = w->graph;
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t t = graph->node_tree[i], n = sap_node_size(&graph->tree, i);
    const int32_t scalar = graph->tree.node_scalar[i];
    w->reduced[i] = plan->reduction.tree ? plan->reduction.tree[t] : NULL;
    w->A[i] = w->reduced[i] ? w->reduced[i]->A : problem->A + graph->tree_A[t];
    int8_t is_diagonal = plan->has_masses && plan->is_diagonal[t];
    if (!plan->has_masses &&
        sap_invert_tree(problem, t, graph->tree_A[t], graph->tree_v[t], plan->vectors,
                        plan->masses.S, plan->masses.strips, &is_diagonal, NULL) != SAP_OK) {
      return 0;
    }
    w->dense[i] = is_diagonal ? NULL : w->A[i];
    const double *v_star = problem->v_star + graph->tree_v[t];
    for (int32_t j = 0; j < n; ++j) {
      w->diagonal[scalar + j] = w->A[i][(int64_t)j * (n + 1)];
      w->v_star[scalar + j] = v_star[j];
    }
  }
  plan->vectors->inverse_roots(island->scalar_begin, island->scalar_end, w->diagonal, w->scale);
  plan->vectors->multiply_mass(island->node_begin, island->node_end, graph->tree.node_scalar,
                               w->dense, w->diagonal, w->v_star, w->momentum_star);
  w->eliminated[island->index] = 0;
  for (int32_t i = island->node_begin; plan->reduction.tree && i < island->node_end; ++i) {
    const int32_t s = graph->tree.node_scalar[i];
    if (w->reduced[i]) {
      w->eliminated[island->index] += sap_reduced_bind(w->reduced[i], plan->vectors, w->v_star + s,
                                                       w->scale + s, w->momentum_star + s);
    }
  }
  return 1;
}

int sap_workspace_bind(struct sap_workspace *w, const struct sap_island *island,
                       const sap_problem *problem) {
  if (!bind_trees(w, island, problem)) {
    return 0;
  }
  const struct sap_plan *plan = w->plan;
  const struct sap_jacobian_loops *loops = plan->jacobian_loops;
  int valid = (plan->reduction.tree ? loops->pack_reduced : loops->pack)(&w->J, island, problem->J);
  const struct sap_origin origin = sap_graph_origin(w->graph, &plan->triples);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    sap_laws[law]->bind(&w->pool, range[0], range[1], &origin, problem);
    valid &= plan->laws[law]->derive(&w->pool, range[0], range[1]);
  }
  return valid;
}

void sap_workspace_gather(const struct sap_workspace *w, const struct sap_island *island,
                          const double *by_tree, double *by_scalar) {
  const struct sap_graph *graph = w->graph;
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t t = graph->node_tree[i];
    const struct sap_reduced_tree *reduced = w->reduced[i];
    const double *from = by_tree + graph->tree_v[t];
    double *to = by_scalar + graph->tree.node_scalar[i];
    for (int32_t j = 0; reduced && j < reduced->n_t; ++j) {
      to[j] = from[reduced->t[j]];
    }
    if (!reduced) {
      memcpy(to, from, (size_t)graph->tree_nv[t] * sizeof(double));
    }
  }
}

void sap_workspace_scatter(const struct sap_workspace *w, const struct sap_island *island,
                           const double *by_scalar, double *by_tree) {
  const struct sap_graph *graph = w->graph;
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t t = graph->node_tree[i];
    const struct sap_reduced_tree *reduced = w->reduced[i];
    memcpy(by_tree + graph->tree_v[t],
           reduced ? reduced->v : by_scalar + graph->tree.node_scalar[i],
           (size_t)graph->tree_nv[t] * sizeof(double));
  }
}
