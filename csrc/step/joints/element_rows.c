#include "step/joints/element_rows.h"

#include <string.h>

#include "problem/products/vectors.h"

/* ---- rows of the engine --------------------------------------------------------------------- */

int sap_constraint_row(const struct sap_element_state *state, int32_t nv, int32_t i,
                       struct sap_engine_jacobian *row) {
  if (state->efc_J_rownnz == NULL) {
    *row = (struct sap_engine_jacobian){nv, NULL, state->efc_J + (int64_t)nv * i};
    return (int64_t)nv * (i + 1) <= state->n_constraint_entries;
  }
  return sap_sparse_row(state->efc_J, state->efc_J_colind, state->n_constraint_entries,
                        state->efc_J_rowadr[i], state->efc_J_rownnz[i], row);
}

struct sap_engine_jacobian sap_tendon_row(const struct sap_elements *elements,
                                          const struct sap_element_state *state, int32_t tendon) {
  const int32_t start = elements->ten_J_rowadr[tendon];
  return (struct sap_engine_jacobian){elements->ten_J_rownnz[tendon],
                                      elements->ten_J_colind + start, state->ten_J + start};
}

/* Does sap_row_moves() for a row with all columns: trees are runs of them. */
static int dense_row_moves(const struct sap_element_gather *gather, const double *value,
                           const int32_t *tree) {
  const struct sap_forest *forest = gather->forest;
  const struct sap_vector_loops *loops = gather->loops;
  int moves = 0;
  int32_t end = 0;
  for (int next = tree[1] >= 0 && tree[1] < tree[0], k = 0; k < 2; ++k, next = !next) {
    if (tree[next] >= 0) {
      const int32_t first = forest->tree_dofadr[tree[next]], n = forest->tree_dofnum[tree[next]];
      if (first > end && loops->exceeds(first - end, value + end, 0.0)) {
        return -1;
      }
      moves |= loops->exceeds(n, value + first, sap_still);
      end = first + n;
    }
  }
  return forest->nv > end && loops->exceeds(forest->nv - end, value + end, 0.0) ? -1 : moves;
}

int sap_long_row_moves(const struct sap_element_gather *gather,
                       const struct sap_engine_jacobian *row, const int32_t *tree) {
  if (row->column == NULL) {
    return dense_row_moves(gather, row->value, tree);
  }
  int any = 0;
  for (int32_t i = 0; i < row->n; ++i) {
    const int moves = sap_dof_moves(gather, row->column[i], row->value[i], tree);
    if (moves < 0) {
      return -1;
    }
    any |= moves;
  }
  return any;
}

/* Copies the part of the row in a tree, times `scale`. */
static void copy_row(const struct sap_element_gather *gather, const struct sap_engine_jacobian *row,
                     int32_t tree, double scale, double *J) {
  const int32_t first = gather->forest->tree_dofadr[tree], n = gather->forest->tree_dofnum[tree];
  if (row->column == NULL) {
    gather->loops->scale(n, scale, row->value + first, J);
    return;
  }
  memset(J, 0, sizeof *J * (size_t)n);
  for (int32_t i = 0; i < row->n; ++i) {
    const int32_t j = row->column[i] - first;
    if (j >= 0 && j < n) {
      J[j] = scale * row->value[i];
    }
  }
}

int sap_row_trees(const struct sap_element_gather *gather, const struct sap_engine_jacobian *row,
                  int32_t tree[2]) {
  for (int32_t i = 0; i < row->n; ++i) {
    const int32_t dof = row->column == NULL ? i : row->column[i];
    if (dof < 0 || dof >= gather->forest->nv) {
      return 0;
    }
    const int32_t of = gather->dof_tree[dof];
    if (!sap_entry_moves(row->value[i]) || of == tree[0] || of == tree[1]) {
      continue;
    }
    if (tree[1] >= 0) {
      return 0;
    }
    tree[tree[0] >= 0] = of;
  }
  return 1;
}

void sap_add_row_part(const struct sap_element_gather *gather,
                      const struct sap_engine_jacobian *row, int32_t tree, double scale,
                      double *J) {
  const int32_t first = gather->forest->tree_dofadr[tree], n = gather->forest->tree_dofnum[tree];
  for (int32_t i = 0; i < row->n; ++i) {
    const int32_t j = (row->column == NULL ? i : row->column[i]) - first;
    if (j >= 0 && j < n) {
      J[j] += scale * row->value[i];
    }
  }
}

/* ---- one constraint ------------------------------------------------------------------------- */

void sap_write_rows(const struct sap_element_cursor *at, int32_t size,
                    const struct sap_engine_jacobian *row, double scale, const int32_t *tree) {
  const struct sap_element_gather *g = at->gather;
  double *J = at->J;
  for (int side = 0; side < 2; ++side) {
    for (int32_t i = 0; i < size && tree[side] >= 0; ++i) {
      copy_row(g, row + i, tree[side], scale, J);
      J += g->forest->tree_dofnum[tree[side]];
    }
  }
}

void sap_write_dofs(const struct sap_element_cursor *at, int32_t dof, int32_t count,
                    const double *value) {
  const struct sap_element_gather *g = at->gather;
  const int32_t tree = g->dof_tree[dof], first = g->forest->tree_dofadr[tree];
  memset(at->J, 0, sizeof(double) * (size_t)g->forest->tree_dofnum[tree]);
  memcpy(at->J + (dof - first), value, sizeof(double) * (size_t)count);
}

void sap_append_constraint(struct sap_element_cursor *at, int32_t size, const int32_t *tree) {
  sap_append(at, size, tree[0], tree[1], -1);
  at->J += size * sap_width_of(at->gather->forest, tree);
}
