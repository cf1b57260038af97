#include "linalg/path_columns.h"

#include <string.h>

void sap_path_carve(struct sap_path_columns *path, struct sap_arena *arena) {
  const struct sap_junction_tree *tree = path->lu->factor->tree;
  const size_t n = (size_t)tree->n_scalars * SAP_PATH_COLUMNS;
  for (int k = 0; k < SAP_PATH_SETS; ++k) {
    path->on_path[k] = sap_arena_take(arena, (size_t)tree->n_supernodes, sizeof(int8_t));
    path->X[k][0] = sap_arena_take(arena, n, sizeof(double));
    path->X[k][1] = sap_arena_take(arena, n, sizeof(double));
  }
}

void sap_path_begin(struct sap_path_columns *path, int32_t c, int symmetric) {
  path->component = c;
  path->symmetric = symmetric;
  path->n_sets = 0;
}

/* Returns row `scalar` of one side of a set. */
static double *row_of(const struct sap_path_columns *path, int32_t set, int side, int32_t scalar) {
  return path->X[set][side] + (size_t)scalar * SAP_PATH_COLUMNS;
}

void sap_path_open(struct sap_path_columns *path) {
  const struct sap_component *c = &path->lu->factor->tree->component[path->component];
  path->n_columns[path->n_sets] = 0;
  memset(path->on_path[path->n_sets] + c->supernode_begin, 0,
         (size_t)(c->supernode_end - c->supernode_begin));
}

void sap_path_add_node(struct sap_path_columns *path, int32_t node) {
  const struct sap_junction_tree *tree = path->lu->factor->tree;
  int8_t *on_path = path->on_path[path->n_sets];
  for (int32_t k = tree->node_supernode[node]; k >= 0 && !on_path[k];
       k = tree->supernode[k].parent) {
    const struct sap_supernode *s = &tree->supernode[k];
    const size_t bytes = (size_t)s->n_cols * SAP_PATH_COLUMNS * sizeof(double);
    on_path[k] = 1;
    memset(row_of(path, path->n_sets, 0, s->scalar), 0, bytes);
    if (!path->symmetric) {
      memset(row_of(path, path->n_sets, 1, s->scalar), 0, bytes);
    }
  }
}

void sap_path_write(struct sap_path_columns *path, int32_t column, int32_t first, int32_t n,
                    const double *x) {
  int32_t *n_columns = &path->n_columns[path->n_sets];
  *n_columns = column < *n_columns ? *n_columns : column + 1;
  for (int side = 0; side < (path->symmetric ? 1 : 2); ++side) {
    double *rows = row_of(path, path->n_sets, side, first);
    for (int32_t i = 0; i < n; ++i) {
      rows[i * SAP_PATH_COLUMNS + column] = x[i];
    }
  }
}

void sap_path_close(struct sap_path_columns *path) {
  const struct sap_factor *factor = path->lu->factor;
  const struct sap_junction_tree *tree = factor->tree;
  const int32_t c = path->component, set = path->n_sets++;
  const struct sap_component *component = &tree->component[c];
  const struct sap_lu_kernels *kernels = &factor->kernels->lu;
  for (int32_t k = component->supernode_begin; k < component->supernode_end; ++k) {
    const struct sap_supernode *s = &tree->supernode[k];
    if (!path->on_path[set][k]) {
      continue;
    }
    kernels->push_columns(path->symmetric ? SAP_PATH_CHOLESKY : SAP_PATH_LOWER, s, tree->segment,
                          tree->node_scalar, factor->values, path->n_columns[set], path->X[set][0]);
    if (!path->symmetric) {
      kernels->push_columns(SAP_PATH_UPPER, s, tree->segment, tree->node_scalar, path->lu->upper,
                            path->n_columns[set], path->X[set][1]);
    }
  }
}

void sap_path_product(const struct sap_path_columns *path, int32_t a, int32_t b, double *S) {
  const struct sap_factor *factor = path->lu->factor;
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[path->component];
  const struct sap_lu_kernels *kernels = &factor->kernels->lu;
  memset(S, 0, SAP_PATH_COLUMNS * SAP_PATH_COLUMNS * sizeof *S);
  for (int32_t k = component->supernode_begin; k < component->supernode_end; ++k) {
    const struct sap_supernode *s = &tree->supernode[k];
    if (path->on_path[a][k] && path->on_path[b][k]) {
      kernels->add_products(s->n_cols, path->n_columns[a], path->n_columns[b],
                            row_of(path, a, path->symmetric ? 0 : 1, s->scalar),
                            row_of(path, b, 0, s->scalar), S);
    }
  }
}
