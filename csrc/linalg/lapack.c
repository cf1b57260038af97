/* Dense Cholesky by LAPACK, for tests and comparison: the one place with Fortran prototypes. */
#include "linalg/factorization.h"

#ifdef SAP_WITH_LAPACK

extern void dpotrf_(const char *uplo, const int *n, double *A, const int *lda, int *info);
extern void dpotrs_(const char *uplo, const int *n, const int *nrhs, const double *A,
                    const int *lda, double *B, const int *ldb, int *info);

/* blocks lie in one dense matrix per component */
static void find_places(struct sap_factor *factor, const int32_t *edge_low,
                        const int32_t *edge_high) {
  const struct sap_junction_tree *tree = factor->tree;
  size_t offset = 0;
  for (int32_t c = 0; c < tree->n_components; ++c) {
    const struct sap_component *component = &tree->component[c];
    const size_t n = (size_t)(component->scalar_end - component->scalar_begin);
    for (int32_t i = component->node_begin; i < component->node_end; ++i) {
      const size_t local = (size_t)(tree->node_scalar[i] - component->scalar_begin);
      factor->diagonal[i] = (struct sap_place){offset + local * (n + 1), (int32_t)n};
    }
    offset += n * n;
  }
  factor->n_values = offset;
  for (int32_t e = 0; e < tree->n_edges; ++e) {
    const struct sap_place *column = &factor->diagonal[edge_low[e]];
    const size_t below = (size_t)(tree->node_scalar[edge_high[e]] - tree->node_scalar[edge_low[e]]);
    factor->edge[e] = (struct sap_place){column->offset + below, column->ld};
  }
}

static double *values_of(const struct sap_factor *factor, const struct sap_component *component) {
  return factor->values + factor->diagonal[component->node_begin].offset;
}

static void solve(const struct sap_factor *factor, int32_t c, double *x) {
  const struct sap_component *component = &factor->tree->component[c];
  const int n = component->scalar_end - component->scalar_begin, one = 1;
  int info = 0;
  dpotrs_("L", &n, &one, values_of(factor, component), &n, x + component->scalar_begin, &n, &info);
}

static int32_t run(const struct sap_factor *factor, int32_t c, double *x) {
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  const int n = component->scalar_end - component->scalar_begin;
  int info = 0;
  dpotrf_("L", &n, values_of(factor, component), &n, &info);
  if (info == 0) {
    if (x) {
      solve(factor, c, x);
    }
    return -1;
  }
  return sap_node_of_scalar(tree, component->node_begin, component->scalar_begin + info - 1);
}

const struct sap_backend sap_backend_lapack = {
    .place = find_places,
    .run = run,
    .solve = solve,
};

#endif
