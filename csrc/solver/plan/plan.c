#include "solver/plan/plan.h"

void sap_plan_take_loops(struct sap_plan *plan, int32_t set) {
  plan->kernels = sap_kernels_of(set);
  plan->jacobian_loops = sap_jacobian_loops_of(set);
  plan->vectors = sap_vector_loops_of(set);
  plan->linear = sap_linear_loops_of(set);
  plan->find_impulses = sap_impulses_of(set);
  plan->small_problems = sap_small_loops_of(set);
  plan->masses.kernels = plan->kernels;
  plan->masses.loops = plan->vectors;
  for (int law = 0; law < SAP_N_LAWS; ++law) {
    plan->laws[law] = sap_laws[law]->loops[set];
  }
}

/* ---- masses ---------------------------------------------------------------------------------- */

static void carve_masses(void *context, struct sap_arena *arena) {
  struct sap_plan *plan = context;
  struct sap_masses *masses = &plan->masses;
  const size_t n_trees = (size_t)plan->mass_trees, nv = (size_t)plan->mass_room.nv;
  masses->tree_A = sap_arena_take(arena, n_trees, sizeof(int64_t));
  masses->tree_v = sap_arena_take(arena, n_trees, sizeof(int64_t));
  masses->S = sap_arena_take(arena, (size_t)plan->mass_room.nA, sizeof(double));
  masses->strips = sap_arena_take(arena, nv, sizeof(uint64_t));
  masses->inverse = sap_arena_take(arena, nv, sizeof(double));
  masses->island = sap_arena_take(arena, n_trees, sizeof(int32_t));
  masses->load = sap_arena_take(arena, n_trees, sizeof(double));
  plan->is_diagonal = sap_arena_take(arena, n_trees, sizeof(int8_t));
}

int sap_plan_fit_masses(struct sap_plan *plan, const sap_problem *problem, const sap_sizes *sizes) {
  if (sizes->nv > plan->mass_room.nv || sizes->nA > plan->mass_room.nA ||
      problem->n_trees > plan->mass_trees) {
    plan->mass_room = *sizes;
    plan->mass_trees = problem->n_trees;
    if (!sap_block_carve(&plan->mass_block, carve_masses, plan, &plan->memory)) {
      plan->mass_room = (sap_sizes){0};
      plan->mass_trees = 0;
      return 0;
    }
  }
  int64_t A = 0, v = 0;
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    const int64_t n = problem->tree_nv[t];
    plan->masses.tree_A[t] = A;
    plan->masses.tree_v[t] = v;
    A += n * n;
    v += n;
  }
  return 1;
}

/* ---- graph ----------------------------------------------------------------------------------- */

static void carve_graph(void *context, struct sap_arena *arena) {
  struct sap_plan *plan = context;
  sap_graph_carve(&plan->graph, arena, plan->graph.n_trees, plan->graph.n_triples);
}

static void carve_rows(void *context, struct sap_arena *arena) {
  struct sap_plan *plan = context;
  sap_junction_tree_carve_rows(&plan->graph.tree, arena);
  sap_factor_carve_places(&plan->factor, arena);
}

static void carve_numbers(void *context, struct sap_arena *arena) {
  struct sap_plan *plan = context;
  sap_junction_tree_carve_updates(&plan->graph.tree, arena);
  sap_factor_carve_values(&plan->factor, arena);
  if (plan->friction != SAP_FRICTION_CONVEX) {
    sap_lu_carve(&plan->lu, arena);
  }
  plan->kappa = sap_arena_take(
      arena, plan->triples.has_walls ? (size_t)plan->triples.n_contacts : 0, sizeof(double));
}

int sap_plan_has_graph_of(const struct sap_plan *plan, const int8_t *left_out,
                          const sap_settings *settings) {
  return sap_graph_has_triples(&plan->graph, &plan->triples, plan->reduction.size, left_out,
                               !settings->islands);
}

sap_status sap_plan_build(struct sap_plan *plan, const sap_problem *problem, const sap_sizes *sizes,
                          const int8_t *left_out, const sap_settings *settings) {
  struct sap_graph *graph = &plan->graph;
  plan->has_graph = 0;
  graph->n_trees = problem->n_trees;
  graph->n_triples = plan->triples.n;
  if (!sap_block_carve(&plan->graph_block, carve_graph, plan, &plan->memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_graph_build(graph, problem, &plan->triples, sizes, plan->reduction.size, left_out,
                  !settings->islands, NULL);

  plan->factor.kernels = plan->kernels;
  plan->factor.tree = &graph->tree;
  plan->lu.factor = &plan->factor;
  if (!sap_block_carve(&plan->row_block, carve_rows, plan, &plan->memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_junction_tree_list_rows(&graph->tree);
  sap_factor_place(&plan->factor, graph->edge_low, graph->edge_high);
  if (!sap_block_carve(&plan->number_block, carve_numbers, plan, &plan->memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_junction_tree_list_updates(&graph->tree);
  return SAP_OK;
}

size_t sap_plan_memory(const struct sap_plan *plan) {
  return plan->mass_block.capacity + plan->graph_block.capacity + plan->row_block.capacity +
         plan->number_block.capacity + plan->triples.block.capacity +
         plan->reduction.block.capacity;
}

void sap_plan_release(struct sap_plan *plan) {
  sap_block_release(&plan->mass_block, &plan->memory);
  sap_block_release(&plan->graph_block, &plan->memory);
  sap_block_release(&plan->row_block, &plan->memory);
  sap_block_release(&plan->number_block, &plan->memory);
  sap_block_release(&plan->reduction.block, &plan->memory);
  sap_block_release(&plan->triples.block, &plan->memory);
  plan->has_graph = 0;
}
