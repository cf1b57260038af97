/* Supernodal Cholesky factorization H = L L^T over the junction tree, and solves with it.
 *
 * Right-looking: panels are factored in elimination order, and each pushes its updates straight into the
 * panels above it, at places found once per graph. */
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
  for (int32_t c = 0; c < tree->n_components; ++c) {
    factor->component_values[c] = tree->supernode[tree->component[c].supernode_begin].values;
  }
  factor->component_values[tree->n_components] = tree->n_values;
}

static int32_t run(struct sap_factor *factor, int32_t c) {
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  const struct sap_kernels *kernels = factor->kernels;
  double *values = factor->values;
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    double *panel = values + s->values;
    const int32_t done = kernels->factor(s->ld, s->n_cols, panel, s->ld);
    if (done < s->n_cols) {
      return sap_node_of_scalar(tree, s->node_begin, s->scalar + done);
    }
    /* H_rc -= B_r B_c^T for every pair of rows above */
    for (int32_t u = s->update_begin; u < s->update_end; ++u) {
      const struct sap_update *update = &tree->update[u];
      kernels->multiply(update->n_rows, update->n_cols, s->n_cols, -1, panel + update->row, s->ld,
                        panel + update->col, s->ld, values + update->target, update->target_ld,
                        update->row == update->col);
    }
  }
  return -1;
}

static void solve(struct sap_factor *factor, int32_t c, double *x) {
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  const struct sap_kernels *kernels = factor->kernels;
  const double *values = factor->values;
  double *scratch = factor->scratch;
  /* L y = x */
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    kernels->solve_forward(s->ld, s->n_cols, values + s->values, s->ld, x + s->scalar, scratch);
    const double *t = scratch;
    for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
      double *rows = x + tree->segment[g].scalar;
      for (int32_t k = 0; k < tree->segment[g].length; ++k) {
        rows[k] -= *t++;
      }
    }
  }
  /* L^T x = y */
  for (int32_t i = component->supernode_end - 1; i >= component->supernode_begin; --i) {
    const struct sap_supernode *s = &tree->supernode[i];
    double *t = scratch;
    for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
      const double *rows = x + tree->segment[g].scalar;
      for (int32_t k = 0; k < tree->segment[g].length; ++k) {
        *t++ = rows[k];
      }
    }
    kernels->solve_backward(s->ld, s->n_cols, values + s->values, s->ld, x + s->scalar, scratch);
  }
}

const struct sap_backend sap_backend_supernodal = {
    .place = find_places,
    .run = run,
    .solve = solve,
};
