#include "linalg/factorization.h"

#include <string.h>

#include "linalg/cholmod_backend.h"
#include "linalg/lapack.h"
#include "linalg/supernodal.h"

int sap_factorization_available(sap_factorization factorization) {
  switch (factorization) {
    case SAP_SUPERNODAL: return 1;
    case SAP_DENSE: return SAP_LAPACK_AVAILABLE;
    case SAP_CHOLMOD: return SAP_CHOLMOD_AVAILABLE;
  }
  return 0;
}

void sap_factor_carve_places(struct sap_factor *factor, struct sap_arena *arena) {
  const struct sap_junction_tree *tree = factor->tree;
  factor->diagonal = sap_arena_take(arena, (size_t)tree->n_nodes, sizeof(struct sap_place));
  factor->edge = sap_arena_take(arena, (size_t)tree->n_edges, sizeof(struct sap_place));
  factor->component_values = sap_arena_take(arena, (size_t)tree->n_components + 1, sizeof(size_t));
}

void sap_factor_carve_values(struct sap_factor *factor, struct sap_arena *arena) {
  factor->values = sap_arena_take(arena, factor->n_values, sizeof(double));
  factor->scratch = sap_arena_take(arena, (size_t)factor->tree->max_rows, sizeof(double));
}

/* blocks lie in the panels of the junction tree */
static void place_in_panels(struct sap_factor *factor, const int32_t *edge_low,
                            const int32_t *edge_high) {
  const struct sap_junction_tree *tree = factor->tree;
  for (int32_t i = 0; i < tree->n_nodes; ++i) {
    struct sap_place *place = &factor->diagonal[i];
    place->offset = sap_junction_tree_block(tree, i, i, &place->ld);
  }
  for (int32_t e = 0; e < tree->n_edges; ++e) {
    struct sap_place *place = &factor->edge[e];
    place->offset = sap_junction_tree_block(tree, edge_high[e], edge_low[e], &place->ld);
  }
  for (int32_t c = 0; c < tree->n_components; ++c) {
    factor->component_values[c] = tree->supernode[tree->component[c].supernode_begin].values;
  }
  factor->component_values[tree->n_components] = tree->n_values;
}

/* blocks lie in one dense matrix per component */
static void place_in_squares(struct sap_factor *factor, const int32_t *edge_low,
                             const int32_t *edge_high) {
  const struct sap_junction_tree *tree = factor->tree;
  size_t offset = 0;
  for (int32_t c = 0; c < tree->n_components; ++c) {
    const struct sap_component *component = &tree->component[c];
    const size_t n = (size_t)(component->scalar_end - component->scalar_begin);
    factor->component_values[c] = offset;
    for (int32_t i = component->node_begin; i < component->node_end; ++i) {
      const size_t local = (size_t)(tree->node_scalar[i] - component->scalar_begin);
      factor->diagonal[i] = (struct sap_place){offset + local * (n + 1), (int32_t)n};
    }
    offset += n * n;
  }
  factor->component_values[tree->n_components] = offset;
  for (int32_t e = 0; e < tree->n_edges; ++e) {
    const struct sap_place *column = &factor->diagonal[edge_low[e]];
    const size_t below = (size_t)(tree->node_scalar[edge_high[e]] - tree->node_scalar[edge_low[e]]);
    factor->edge[e] = (struct sap_place){column->offset + below, column->ld};
  }
}

sap_status sap_factor_place(struct sap_factor *factor, const int32_t *edge_low,
                            const int32_t *edge_high) {
  if (!sap_factorization_available(factor->kind)) {
    return SAP_NOT_AVAILABLE;
  }
  switch (factor->kind) {
    case SAP_SUPERNODAL: place_in_panels(factor, edge_low, edge_high); break;
    case SAP_DENSE: place_in_squares(factor, edge_low, edge_high); break;
    case SAP_CHOLMOD: sap_cholmod_place(factor, edge_low, edge_high); break;
  }
  factor->n_values = factor->component_values[factor->tree->n_components];
  return SAP_OK;
}

sap_status sap_factor_analyze(struct sap_factor *factor, const int32_t *edge_low,
                              const int32_t *edge_high) {
  sap_factor_release(factor);
  return factor->kind == SAP_CHOLMOD ? sap_cholmod_analyze(factor, edge_low, edge_high) : SAP_OK;
}

void sap_factor_clear(struct sap_factor *factor, int32_t c) {
  const size_t begin = factor->component_values[c], end = factor->component_values[c + 1];
  memset(factor->values + begin, 0, (end - begin) * sizeof(double));
}

int32_t sap_factor_run(struct sap_factor *factor, int32_t c) {
  const struct sap_component *component = &factor->tree->component[c];
  switch (factor->kind) {
    case SAP_SUPERNODAL:
      return sap_supernodal_factor(factor->tree, component, factor->kernels, factor->values);
    case SAP_DENSE:
      return sap_lapack_factor(factor->tree, component,
                               factor->values + factor->component_values[c]);
    case SAP_CHOLMOD: return sap_cholmod_factor(factor, c);
  }
  return -1;
}

void sap_factor_solve(struct sap_factor *factor, int32_t c, double *x) {
  const struct sap_component *component = &factor->tree->component[c];
  switch (factor->kind) {
    case SAP_SUPERNODAL:
      sap_supernodal_solve(factor->tree, component, factor->kernels, factor->values, x,
                           factor->scratch);
      break;
    case SAP_DENSE:
      sap_lapack_solve(component, factor->values + factor->component_values[c], x);
      break;
    case SAP_CHOLMOD: sap_cholmod_solve(factor, c, x); break;
  }
}

void sap_factor_release(struct sap_factor *factor) {
  if (factor->cholmod) {
    sap_cholmod_release(factor->cholmod);
    factor->cholmod = NULL;
  }
}
