#include "linalg/factorization.h"

#include <string.h>

/* NULL where the library was built without it */
static const struct sap_backend *backend_of(sap_factorization kind) {
  switch (kind) {
    case SAP_SUPERNODAL: return &sap_backend_supernodal;
#ifdef SAP_WITH_LAPACK
    case SAP_DENSE: return &sap_backend_lapack;
#endif
#ifdef SAP_WITH_CHOLMOD
    case SAP_CHOLMOD: return &sap_backend_cholmod;
#endif
    default: return NULL;
  }
}

int sap_factorization_available(sap_factorization factorization) {
  return backend_of(factorization) != NULL;
}

void sap_factor_carve_places(struct sap_factor *factor, struct sap_arena *arena) {
  const struct sap_junction_tree *tree = factor->tree;
  factor->diagonal = sap_arena_take(arena, (size_t)tree->n_nodes, sizeof(struct sap_place));
  factor->edge = sap_arena_take(arena, (size_t)tree->n_edges, sizeof(struct sap_place));
  factor->precision = sap_arena_take(arena, (size_t)tree->n_components, sizeof(int8_t));
}

void sap_factor_carve_values(struct sap_factor *factor, struct sap_arena *arena) {
  factor->values = sap_arena_take(arena, factor->n_values, sizeof(double));
  factor->x_single = sap_arena_take(arena, (size_t)factor->tree->n_scalars, sizeof(float));
}

void sap_factor_place(struct sap_factor *factor, const int32_t *edge_low,
                      const int32_t *edge_high) {
  for (int32_t c = 0; c < factor->tree->n_components; ++c) {
    factor->precision[c] = SAP_DOUBLE;
  }
  backend_of(factor->kind)->place(factor, edge_low, edge_high);
}

sap_status sap_factor_analyze(struct sap_factor *factor, const int32_t *edge_low,
                              const int32_t *edge_high) {
  sap_factor_release(factor);
  const struct sap_backend *backend = backend_of(factor->kind);
  return backend->analyze ? backend->analyze(factor, edge_low, edge_high) : SAP_OK;
}

void sap_factor_clear(const struct sap_factor *factor, int32_t c, const struct sap_supernode *s) {
  const size_t begin = sap_factor_values(factor, s->node_begin);
  const size_t end = sap_factor_values(factor, s->node_end);
  if (factor->precision[c] == SAP_SINGLE) {
    /* and what a vector of floats reaches behind the last panel */
    float *values = sap_factor_panels(factor, c);
    memset(values + begin, 0, (end - begin + SAP_PANEL_STEP) * sizeof(float));
  } else {
    memset(factor->values + begin, 0, (end - begin) * sizeof(double));
  }
}

int32_t sap_factor_run(const struct sap_factor *factor, int32_t c, double *x) {
  return backend_of(factor->kind)->run(factor, c, x);
}

void sap_factor_solve(const struct sap_factor *factor, int32_t c, double *x) {
  backend_of(factor->kind)->solve(factor, c, x);
}

void sap_factor_release(struct sap_factor *factor) {
  if (factor->state) {
    backend_of(factor->kind)->release(factor);
    factor->state = NULL;
  }
}
