/* Supernodal Cholesky factorization H = L L^T over the junction tree, and solves with it.
 *
 * Right-looking: panels are factored in elimination order, and each pushes its updates straight into the
 * panels above it, at places found once per graph. L y = b is solved on the way, while each panel is in the
 * cache. */
#include "linalg/factorization.h"

/* blocks lie in the panels of the junction tree */
static void find_places(struct sap_factor *factor, const int32_t *edge_low,
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
  factor->n_values = tree->n_values;
}

/* L^T x = y */
static void solve_backward(const struct sap_factor *factor, int32_t c, double *x) {
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  for (int32_t i = component->supernode_end - 1; i >= component->supernode_begin; --i) {
    const struct sap_supernode *s = &tree->supernode[i];
    factor->kernels->pull_solution(s, tree->segment, factor->values + s->values, x);
  }
}

static int32_t run(struct sap_factor *factor, int32_t c, double *x) {
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  const struct sap_kernels *kernels = factor->kernels;
  double *values = factor->values;
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    double *panel = values + s->values;
    const int32_t done = kernels->factor_panel(s, panel);
    if (done < s->n_cols) {
      return sap_node_of_scalar(tree, s->node_begin, s->scalar + done);
    }
    /* H_rc -= B_r B_c^T for every pair of rows above */
    kernels->push_updates(s, tree->update, panel, values);
    /* L y = x, as far as the panel goes */
    if (x) {
      kernels->push_solution(s, tree->segment, panel, x);
    }
  }
  if (x) {
    solve_backward(factor, c, x);
  }
  return -1;
}

static void solve(struct sap_factor *factor, int32_t c, double *x) {
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    factor->kernels->push_solution(s, tree->segment, factor->values + s->values, x);
  }
  solve_backward(factor, c, x);
}

const struct sap_backend sap_backend_supernodal = {
    .place = find_places,
    .run = run,
    .solve = solve,
};
