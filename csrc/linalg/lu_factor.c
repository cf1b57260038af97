#include "linalg/lu_factor.h"

#include <string.h>

void sap_lu_carve(struct sap_lu *lu, struct sap_arena *arena) {
  lu->upper = sap_arena_take(arena, lu->factor->n_values, sizeof(double));
}

/* Copies the lower triangle of a diagonal block (n, n) to its upper one. */
static void complete(double *block, int32_t n, int32_t ld) {
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < j; ++i) {
      block[(int64_t)j * ld + i] = block[(int64_t)i * ld + j];
    }
  }
}

void sap_lu_mirror(const struct sap_lu *lu, int32_t c) {
  const struct sap_factor *factor = lu->factor;
  const struct sap_component *component = &factor->tree->component[c];
  const size_t begin = sap_factor_values(factor, component->node_begin);
  const size_t end = sap_factor_values(factor, component->node_end);
  for (int32_t i = component->node_begin; i < component->node_end; ++i) {
    const struct sap_place place = factor->diagonal[i];
    complete(factor->values + place.offset, sap_node_size(factor->tree, i), place.ld);
  }
  memcpy(lu->upper + begin, factor->values + begin, (end - begin) * sizeof(double));
}

int32_t sap_lu_run(const struct sap_lu *lu, int32_t c) {
  const struct sap_factor *factor = lu->factor;
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  const struct sap_lu_kernels *kernels = &factor->kernels->lu;
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    const int32_t node = kernels->factor(s, tree->node_scalar, factor->values, lu->upper);
    if (node >= 0) {
      return node;
    }
    kernels->push_updates(s, tree->update, factor->values, lu->upper);
  }
  return -1;
}

/* Are all entries of x in the columns of a supernode 0? */
static int is_zero(const struct sap_supernode *s, const double *x) {
  int32_t i = s->scalar;
  while (i < s->scalar + s->n_cols && x[i] == 0) {
    ++i;
  }
  return i == s->scalar + s->n_cols;
}

static void solve(const struct sap_lu *lu, int32_t c, int transposed, double *x) {
  const struct sap_junction_tree *tree = lu->factor->tree;
  const struct sap_component *component = &tree->component[c];
  const struct sap_lu_kernels *kernels = &lu->factor->kernels->lu;
  const double *lower = lu->factor->values;
  const double *first = transposed ? lu->upper : lower, *second = transposed ? lower : lu->upper;
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    if (!is_zero(s, x)) {
      kernels->push_solution(s, tree->segment, tree->node_scalar, first, transposed, x);
    }
  }
  for (int32_t i = component->supernode_end - 1; i >= component->supernode_begin; --i) {
    kernels->pull_solution(&tree->supernode[i], tree->segment, tree->node_scalar, second,
                           !transposed, x);
  }
}

void sap_lu_solve(const struct sap_lu *lu, int32_t c, double *x) { solve(lu, c, 0, x); }

void sap_lu_solve_transposed(const struct sap_lu *lu, int32_t c, double *x) { solve(lu, c, 1, x); }
