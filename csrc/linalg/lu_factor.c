#include "linalg/lu_factor.h"

#include <string.h>

#include "linalg/flush.h"

void sap_lu_carve(struct sap_lu *lu, struct sap_arena *arena) {
  lu->upper = sap_arena_take(arena, lu->factor->n_values, sizeof(double));
}

/* Copies the lower triangle of a diagonal block (n, n) to its upper one. */
static void complete_doubles(double *block, int32_t n, int32_t ld) {
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < j; ++i) {
      block[(int64_t)j * ld + i] = block[(int64_t)i * ld + j];
    }
  }
}

static void complete_singles(float *block, int32_t n, int32_t ld) {
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < j; ++i) {
      block[(int64_t)j * ld + i] = block[(int64_t)i * ld + j];
    }
  }
}

void sap_lu_mirror(const struct sap_lu *lu, int32_t c) {
  const struct sap_factor *factor = lu->factor;
  const struct sap_component *component = &factor->tree->component[c];
  const int single = factor->precision[c] == SAP_SINGLE;
  const size_t begin = sap_factor_values(factor, component->node_begin);
  const size_t end = sap_factor_values(factor, component->node_end);
  void *lower = sap_factor_panels(factor, c), *upper = sap_lu_upper(lu, c);
  for (int32_t i = component->node_begin; i < component->node_end; ++i) {
    const struct sap_place place = factor->diagonal[i];
    const int32_t n = sap_node_size(factor->tree, i);
    if (single) {
      complete_singles((float *)lower + place.offset, n, place.ld);
    } else {
      complete_doubles((double *)lower + place.offset, n, place.ld);
    }
  }
  if (single) {
    memcpy((float *)upper + begin, (float *)lower + begin,
           (end - begin + SAP_PANEL_STEP) * sizeof(float));
  } else {
    memcpy((double *)upper + begin, (double *)lower + begin, (end - begin) * sizeof(double));
  }
}

static int32_t run_panels(const struct sap_lu *lu, int32_t c) {
  const struct sap_factor *factor = lu->factor;
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  const struct sap_lu_kernels *kernels = &factor->kernels->lu[factor->precision[c]];
  void *lower = sap_factor_panels(factor, c), *upper = sap_lu_upper(lu, c);
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    const int32_t node = kernels->factor(s, tree->node_scalar, lower, upper);
    if (node >= 0) {
      return node;
    }
    kernels->push_updates(s, tree->update, lower, upper);
  }
  return -1;
}

int32_t sap_lu_run(const struct sap_lu *lu, int32_t c) {
  const int single = lu->factor->precision[c] == SAP_SINGLE;
  const unsigned int state = sap_flush_begin(single);
  const int32_t node = run_panels(lu, c);
  sap_flush_end(single, state);
  return node;
}

static void solve_panels(const struct sap_lu *lu, int32_t c, int transposed, void *x) {
  const struct sap_factor *factor = lu->factor;
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  const struct sap_lu_kernels *kernels = &factor->kernels->lu[factor->precision[c]];
  const void *lower = sap_factor_panels(factor, c), *upper = sap_lu_upper(lu, c);
  const void *first = transposed ? upper : lower, *second = transposed ? lower : upper;
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    kernels->push_solution(&tree->supernode[i], tree->segment, tree->node_scalar, first, transposed,
                           x);
  }
  for (int32_t i = component->supernode_end - 1; i >= component->supernode_begin; --i) {
    kernels->pull_solution(&tree->supernode[i], tree->segment, tree->node_scalar, second,
                           !transposed, x);
  }
}

static void solve(const struct sap_lu *lu, int32_t c, int transposed, double *x) {
  const struct sap_factor *factor = lu->factor;
  const struct sap_component *component = &factor->tree->component[c];
  if (factor->precision[c] == SAP_DOUBLE) {
    solve_panels(lu, c, transposed, x);
    return;
  }
  const unsigned int state = sap_flush_begin(1);
  for (int32_t i = component->scalar_begin; i < component->scalar_end; ++i) {
    factor->x_single[i] = (float)x[i];
  }
  solve_panels(lu, c, transposed, factor->x_single);
  for (int32_t i = component->scalar_begin; i < component->scalar_end; ++i) {
    x[i] = (double)factor->x_single[i];
  }
  sap_flush_end(1, state);
}

void sap_lu_solve(const struct sap_lu *lu, int32_t c, double *x) { solve(lu, c, 0, x); }

void sap_lu_solve_transposed(const struct sap_lu *lu, int32_t c, double *x) { solve(lu, c, 1, x); }
