#include "problem/graph/structure.h"

#include "problem/problem_check.h"

static void carve_graph(void *context, struct sap_arena *arena) {
  struct sap_graph *graph = &((struct sap_structure *)context)->graph;
  sap_graph_carve(graph, arena, graph->n_trees, graph->n_triples);
}

static void carve_rows(void *context, struct sap_arena *arena) {
  sap_junction_tree_carve_rows(&((struct sap_structure *)context)->graph.tree, arena);
}

sap_status sap_structure_find(struct sap_structure *structure, const sap_problem *problem,
                              const sap_allocator *allocator, sap_error *error) {
  const sap_allocator memory = sap_allocator_or_default(allocator);
  struct sap_graph *graph = &structure->graph;
  sap_sizes sizes;
  sap_status status = sap_problem_sizes(problem, &sizes, error);
  if (status == SAP_OK) {
    status = sap_triples_list(&structure->triples, problem, &sizes, SAP_FRICTION_CONVEX, &memory);
  }
  if (status != SAP_OK) {
    return status;
  }
  graph->n_trees = problem->n_trees;
  graph->n_triples = structure->triples.n;
  if (!sap_block_carve(&structure->graph_block, carve_graph, structure, &memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_graph_build(graph, problem, &structure->triples, &sizes, problem->tree_nv, NULL, 0, NULL);
  if (!sap_block_carve(&structure->row_block, carve_rows, structure, &memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_junction_tree_list_rows(&graph->tree);
  return SAP_OK;
}

void sap_structure_release(struct sap_structure *structure, const sap_allocator *allocator) {
  const sap_allocator memory = sap_allocator_or_default(allocator);
  sap_block_release(&structure->graph_block, &memory);
  sap_block_release(&structure->row_block, &memory);
  sap_block_release(&structure->triples.block, &memory);
}
