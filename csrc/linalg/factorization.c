/* The factorization is right-looking: panels are factored in elimination order, and each pushes its
 * updates straight into the panels above it, at places found once per graph. L y = b is solved on
 * the way, while each panel is in the cache. */
#include "linalg/factorization.h"

#include <string.h>

#include "linalg/kernels/flush.h"

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
  const struct sap_junction_tree *tree = factor->tree;
  for (int32_t c = 0; c < tree->n_components; ++c) {
    factor->precision[c] = SAP_DOUBLE;
  }
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

void sap_factor_clear(const struct sap_factor *factor, int32_t c, const struct sap_supernode *s) {
  const size_t begin = sap_factor_values(factor, s->node_begin);
  const size_t end = sap_factor_values(factor, s->node_end);
  if (factor->precision[c] == SAP_SINGLE) {
    /* a vector of floats reaches SAP_PANEL_STEP entries beyond the last panel */
    float *values = sap_factor_panels(factor, c);
    memset(values + begin, 0, (end - begin + SAP_PANEL_STEP) * sizeof(float));
  } else {
    memset(factor->values + begin, 0, (end - begin) * sizeof(double));
  }
}

/* Returns x, or its copy in single precision. */
static void *begin_solve(const struct sap_factor *factor, int32_t c, double *x) {
  const struct sap_component *component = &factor->tree->component[c];
  if (factor->precision[c] == SAP_DOUBLE || !x) {
    return x;
  }
  for (int32_t i = component->scalar_begin; i < component->scalar_end; ++i) {
    factor->x_single[i] = (float)x[i];
  }
  return factor->x_single;
}

/* L^T x = y */
static void end_solve(const struct sap_factor *factor, int32_t c, void *y, double *x) {
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  const struct sap_panel_kernels *kernels = &factor->kernels->panels[factor->precision[c]];
  const void *values = sap_factor_panels(factor, c);
  for (int32_t i = component->supernode_end - 1; i >= component->supernode_begin; --i) {
    kernels->pull_solution(&tree->supernode[i], tree->segment, values, y);
  }
  for (int32_t i = component->scalar_begin; y != x && i < component->scalar_end; ++i) {
    x[i] = (double)factor->x_single[i];
  }
}

static int32_t run_panels(const struct sap_factor *factor, int32_t c, double *x) {
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  const struct sap_panel_kernels *kernels = &factor->kernels->panels[factor->precision[c]];
  void *values = sap_factor_panels(factor, c), *y = begin_solve(factor, c, x);
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    const int32_t done = kernels->factor(s, values);
    if (done < s->n_cols) {
      return sap_node_of_scalar(tree, s->node_begin, s->scalar + done);
    }
    /* H_rc -= B_r B_c^T for every pair of rows above */
    kernels->push_updates(s, tree->update, values);
    /* L y = x, up to this panel */
    if (x) {
      kernels->push_solution(s, tree->segment, values, y);
    }
  }
  if (x) {
    end_solve(factor, c, y, x);
  }
  return -1;
}

static void solve_panels(const struct sap_factor *factor, int32_t c, double *x) {
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  const struct sap_panel_kernels *kernels = &factor->kernels->panels[factor->precision[c]];
  const void *values = sap_factor_panels(factor, c);
  void *y = begin_solve(factor, c, x);
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    kernels->push_solution(&tree->supernode[i], tree->segment, values, y);
  }
  end_solve(factor, c, y, x);
}

void sap_factor_solve_transposed(const struct sap_factor *factor, int32_t c, double *y) {
  const int single = factor->precision[c] == SAP_SINGLE;
  const unsigned int state = sap_flush_begin(single);
  end_solve(factor, c, begin_solve(factor, c, y), y);
  sap_flush_end(single, state);
}

int32_t sap_factor_run(const struct sap_factor *factor, int32_t c, double *x) {
  const int single = factor->precision[c] == SAP_SINGLE;
  const unsigned int state = sap_flush_begin(single);
  const int32_t node = run_panels(factor, c, x);
  sap_flush_end(single, state);
  return node;
}

void sap_factor_solve(const struct sap_factor *factor, int32_t c, double *x) {
  const int single = factor->precision[c] == SAP_SINGLE;
  const unsigned int state = sap_flush_begin(single);
  solve_panels(factor, c, x);
  sap_flush_end(single, state);
}
