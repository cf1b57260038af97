#include "sap/workspace.h"

#include <math.h>
#include <string.h>

#include "sap/islands.h"
#include "problem/problem.h"

/* what only the thread at work reads and writes, by place, position and velocity */
static void carve_own(struct sap_workspace *w, struct sap_arena *arena) {
  const struct sap_graph *graph = &w->graph;
  const size_t triples = (size_t)graph->n_triples;
  const size_t scalars = (size_t)graph->tree.n_scalars;
  w->A = sap_arena_take(arena, (size_t)graph->n_nodes, sizeof *w->A);
  w->dense = sap_arena_take(arena, (size_t)graph->n_nodes, sizeof *w->dense);
  w->reduced = sap_arena_take(arena, (size_t)graph->n_nodes, sizeof *w->reduced);
  w->J.graph = graph;
  w->J.triples = &w->triples;
  w->J.reduced = w->reduced;
  w->J.values = sap_arena_take(arena, (size_t)graph->node_J[graph->n_nodes], sizeof(double));
  w->J.chunks[0] = sap_arena_take(arena, triples, sizeof(uint64_t));
  w->J.chunks[1] = sap_arena_take(arena, triples, sizeof(uint64_t));
  w->J.peak = sap_arena_take(arena, 32 * (size_t)graph->n_patches, sizeof(double));
  sap_pool_carve(&w->pool, arena, graph->n_triples, w->triples.present);
  sap_scratch_carve(&w->scratch, arena, graph);
  double **const by_scalar[] = {
      &w->v,        &w->best, &w->v_star, &w->momentum_star, &w->dw,    &w->momentum, &w->impulse,
      &w->gradient, &w->dv,   &w->dp,     &w->diagonal,      &w->scale, &w->error,    &w->reach};
  for (size_t i = 0; i < sizeof by_scalar / sizeof *by_scalar; ++i) {
    *by_scalar[i] = sap_arena_take(arena, scalars, sizeof(double));
  }
  w->eliminated = sap_arena_take(arena, (size_t)graph->n_islands, sizeof(double));
}

static void carve_numbers(struct sap_workspace *w, struct sap_arena *arena) {
  const struct sap_graph *graph = &w->graph;
  sap_junction_tree_carve_updates(&w->graph.tree, arena);
  sap_factor_carve_values(&w->factor, arena);
  w->S = sap_arena_take(arena, (size_t)graph->sizes.nA, sizeof(double));
  w->is_diagonal = sap_arena_take(arena, (size_t)graph->n_trees, sizeof(int8_t));
  int32_t widest = 0;
  for (int32_t t = 0; t < graph->n_trees && graph->sizes.n_rows > 0; ++t) {
    widest = graph->tree_nv[t] > widest ? graph->tree_nv[t] : widest;
  }
  w->rows = sap_arena_take(arena, 3 * (size_t)widest, sizeof(double));
  w->kappa = sap_arena_take(arena, w->triples.has_walls ? (size_t)w->triples.n_contacts : 0,
                            sizeof(double));
  w->records.first = sap_arena_take(arena, (size_t)w->records.capacity, sizeof(sap_iteration));
  sap_islands_carve(w, arena);
  const size_t begin = arena->used;
  carve_own(w, arena);
  w->own_bytes = arena->used - begin;
  const int32_t n_others = graph->n_islands > 1 ? w->sharing.n_threads - 1 : 0;
  w->own = sap_arena_take(arena, (size_t)n_others, w->own_bytes);
}

void sap_workspace_view(struct sap_workspace *view, const struct sap_workspace *w, int32_t thread) {
  *view = *w;
  if (thread > 0) {
    struct sap_arena arena = {w->own + (size_t)(thread - 1) * w->own_bytes, 0};
    carve_own(view, &arena);
  }
}

static void carve_rows(struct sap_workspace *w, struct sap_arena *arena) {
  sap_junction_tree_carve_rows(&w->graph.tree, arena);
  sap_factor_carve_places(&w->factor, arena);
}

static void carve_graph(struct sap_workspace *w, struct sap_arena *arena) {
  sap_graph_carve(&w->graph, arena, w->graph.n_trees, w->graph.n_triples);
}

/* Carves a block, which is measured by that: most often it is large enough, else it grows and is
 * carved again. */
static sap_status carve(struct sap_workspace *w, struct sap_block *block,
                        void (*pieces)(struct sap_workspace *w, struct sap_arena *arena)) {
  struct sap_arena arena = {block->base, 0};
  pieces(w, &arena);
  if (!block->base || arena.used > block->capacity) {
    if (!sap_block_reserve(block, arena.used, &w->memory)) {
      return SAP_OUT_OF_MEMORY;
    }
    arena = (struct sap_arena){block->base, 0};
    pieces(w, &arena);
  }
  return SAP_OK;
}

/* carves the numbers behind an existing graph */
static sap_status place_numbers(struct sap_workspace *w, const sap_settings *settings) {
  const int64_t guesses = w->triples.has_walls ? SAP_MOST_STARTS : 1;
  const int64_t all = settings->max_iterations + guesses, most = all < 1000 ? all : 1000;
  const int64_t records = settings->record_history ? w->graph.n_islands * most : 0;
  if (records > INT32_MAX) {
    return SAP_OUT_OF_MEMORY;
  }
  w->records.capacity = (int32_t)records;
  return carve(w, &w->number_block, carve_numbers);
}

static sap_status build(struct sap_workspace *w, const sap_problem *problem, const sap_sizes *sizes,
                        const sap_settings *settings) {
  struct sap_graph *graph = &w->graph;
  graph->n_trees = problem->n_trees;
  graph->n_triples = w->triples.n;
  sap_status status = carve(w, &w->graph_block, carve_graph);
  if (status != SAP_OK) {
    return status;
  }
  sap_graph_build(graph, problem, &w->triples, sizes, w->reduction.size, !settings->islands);

  w->factor.kind = settings->factorization;
  w->factor.kernels = w->kernels;
  w->factor.tree = &graph->tree;
  status = carve(w, &w->row_block, carve_rows);
  if (status != SAP_OK) {
    return status;
  }
  sap_junction_tree_list_rows(&graph->tree);
  sap_factor_place(&w->factor, graph->edge_low, graph->edge_high);
  status = place_numbers(w, settings);
  if (status == SAP_OK) {
    sap_junction_tree_list_updates(&graph->tree);
    sap_sharing_plan(&w->sharing, &w->graph);
    status = sap_factor_analyze(&w->factor, graph->edge_low, graph->edge_high);
  }
  return status;
}

sap_status sap_workspace_prepare(struct sap_workspace *w, const sap_problem *problem,
                                 const sap_sizes *sizes, int has_contacts,
                                 const sap_settings *settings, int32_t *reused) {
  *reused = has_contacts &&
            sap_graph_has_rest(&w->graph, &w->triples, w->reduction.size, !settings->islands);
  if (*reused) {
    w->graph.sizes = *sizes; /* rows in as many triples can be more or fewer */
    return SAP_OK;
  }
  w->has_graph = 0;
  const sap_status status = build(w, problem, sizes, settings);
  w->has_graph = status == SAP_OK;
  return status;
}

/* ---- binding ---- */

/* 0 where a block of A breaks a rule */
static int bind_trees(struct sap_workspace *w, const struct sap_island *island,
                      const sap_problem *problem) {
  const struct sap_graph *graph = &w->graph;
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t t = graph->node_tree[i], n = sap_node_size(&graph->tree, i);
    const int32_t scalar = graph->tree.node_scalar[i];
    w->reduced[i] = w->reduction.tree ? w->reduction.tree[t] : NULL;
    w->A[i] = w->reduced[i] ? w->reduced[i]->A : problem->A + graph->tree_A[t];
    int8_t is_diagonal = w->has_masses && w->is_diagonal[t];
    if (!w->has_masses && sap_invert_tree(problem, t, graph->tree_A[t], w->kernels, w->vectors,
                                          w->S, &is_diagonal, NULL) != SAP_OK) {
      return 0;
    }
    w->dense[i] = is_diagonal ? NULL : w->A[i];
    const double *v_star = problem->v_star + graph->tree_v[t];
    for (int32_t j = 0; j < n; ++j) {
      w->diagonal[scalar + j] = w->A[i][(int64_t)j * (n + 1)];
      w->v_star[scalar + j] = v_star[j];
    }
  }
  w->vectors->inverse_roots(island->scalar_begin, island->scalar_end, w->diagonal, w->scale);
  w->vectors->multiply_mass(island->node_begin, island->node_end, graph->tree.node_scalar, w->dense,
                            w->diagonal, w->v_star, w->momentum_star);
  w->eliminated[island->index] = 0;
  for (int32_t i = island->node_begin; w->reduction.tree && i < island->node_end; ++i) {
    const int32_t s = graph->tree.node_scalar[i];
    if (w->reduced[i]) {
      w->eliminated[island->index] += sap_reduced_bind(w->reduced[i], w->vectors, w->v_star + s,
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
  const struct sap_jacobian_loops *loops = w->jacobian_loops;
  const int finite =
      (w->reduction.tree ? loops->pack_reduced : loops->pack)(&w->J, island, problem->J);
  const struct sap_origin origin = sap_graph_origin(&w->graph, &w->triples);
  int valid = finite;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    sap_laws[law]->bind(&w->pool, range[0], range[1], &origin, problem);
    valid &= w->laws[law]->derive(&w->pool, range[0], range[1]);
  }
  return valid;
}

void sap_workspace_gather(const struct sap_workspace *w, const struct sap_island *island,
                          const double *by_tree, double *by_scalar) {
  const struct sap_graph *graph = &w->graph;
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
  const struct sap_graph *graph = &w->graph;
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t t = graph->node_tree[i];
    const struct sap_reduced_tree *reduced = w->reduced[i];
    memcpy(by_tree + graph->tree_v[t],
           reduced ? reduced->v : by_scalar + graph->tree.node_scalar[i],
           (size_t)graph->tree_nv[t] * sizeof(double));
  }
}

void sap_workspace_release(struct sap_workspace *w) {
  sap_factor_release(&w->factor);
  sap_block_release(&w->graph_block, &w->memory);
  sap_block_release(&w->row_block, &w->memory);
  sap_block_release(&w->number_block, &w->memory);
  sap_block_release(&w->reduction.block, &w->memory);
  sap_block_release(&w->triples.block, &w->memory);
  w->has_graph = 0;
}
