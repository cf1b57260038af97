#include "model/element_rows.h"

#include <string.h>

/* ---- rows of the engine --------------------------------------------------------------------- */

/* 0 when the row does not lie in its arrays */
static int sparse_row(const double *value, const int32_t *column, int64_t length, int64_t start,
                      int64_t count, struct sap_engine_jacobian *row) {
  if (start < 0 || count < 0 || start > length || count > length - start) {
    return 0;
  }
  *row = (struct sap_engine_jacobian){(int32_t)count, column + start, value + start};
  return 1;
}

int sap_constraint_row(const struct sap_element_state *state, int32_t nv, int32_t i,
                       struct sap_engine_jacobian *row) {
  if (state->efc_J_rownnz == NULL) {
    *row = (struct sap_engine_jacobian){nv, NULL, state->efc_J + (int64_t)nv * i};
    return (int64_t)nv * (i + 1) <= state->n_constraint_entries;
  }
  return sparse_row(state->efc_J, state->efc_J_colind, state->n_constraint_entries,
                    state->efc_J_rowadr[i], state->efc_J_rownnz[i], row);
}

int sap_moment_row(const struct sap_element_state *state, int32_t output,
                   struct sap_engine_jacobian *row) {
  return sparse_row(state->actuator_moment, state->moment_colind, state->n_moment_entries,
                    state->moment_rowadr[output], state->moment_rownnz[output], row);
}

struct sap_engine_jacobian sap_tendon_row(const struct sap_elements *elements,
                                          const struct sap_element_state *state, int32_t tendon) {
  const int32_t start = elements->ten_J_rowadr[tendon];
  return (struct sap_engine_jacobian){elements->ten_J_rownnz[tendon],
                                      elements->ten_J_colind + start, state->ten_J + start};
}

int sap_row_moves(const struct sap_element_gather *gather, const struct sap_engine_jacobian *row,
                  const int32_t *tree) {
  int any = 0;
  for (int32_t i = 0; i < row->n; ++i) {
    const int32_t dof = row->column == NULL ? i : row->column[i];
    if (dof < 0 || dof >= gather->forest->nv) {
      return -1;
    }
    if (row->value[i] != 0.0) {
      if (gather->dof_tree[dof] != tree[0] && gather->dof_tree[dof] != tree[1]) {
        return -1;
      }
      any |= sap_entry_moves(row->value[i]);
    }
  }
  return any;
}

/* part of the row in a tree, times `scale` */
static void copy_row(const struct sap_forest *forest, const struct sap_engine_jacobian *row,
                     int32_t tree, double scale, double *J) {
  const int32_t first = forest->tree_dofadr[tree], n = forest->tree_dofnum[tree];
  if (row->column == NULL) {
    for (int32_t j = 0; j < n; ++j) {
      J[j] = scale * row->value[first + j];
    }
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

/* ---- one constraint ------------------------------------------------------------------------- */

int64_t sap_width_of(const struct sap_forest *forest, const int32_t *tree) {
  return (tree[0] < 0 ? 0 : forest->tree_dofnum[tree[0]]) +
         (int64_t)(tree[1] < 0 ? 0 : forest->tree_dofnum[tree[1]]);
}

int32_t sap_append_row(struct sap_element_gather *gather, struct sap_row_label label,
                       double scale) {
  const int32_t row = gather->n_rows++;
  gather->label[row] = label;
  gather->scale[row] = scale;
  gather->release[row] = INFINITY;
  return row;
}

void sap_write_rows(const struct sap_element_cursor *at, int32_t size,
                    const struct sap_engine_jacobian *row, double scale, const int32_t *tree) {
  const struct sap_forest *f = at->gather->forest;
  double *J = at->J;
  for (int side = 0; side < 2; ++side) {
    for (int32_t i = 0; i < size && tree[side] >= 0; ++i) {
      copy_row(f, row + i, tree[side], scale, J);
      J += f->tree_dofnum[tree[side]];
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

static void append(struct sap_element_cursor *at, int32_t size, const int32_t *tree, int32_t dof) {
  struct sap_element_gather *g = at->gather;
  const int32_t c = g->n_constraints++;
  g->size[c] = size;
  g->tree_a[c] = tree[0];
  g->tree_b[c] = tree[1];
  g->dof[c] = dof;
  for (int side = 0; side < 2; ++side) {
    if (tree[side] >= 0) {
      at->touched[tree[side]] = 1;
    }
  }
}

void sap_append_constraint(struct sap_element_cursor *at, int32_t size, const int32_t *tree) {
  append(at, size, tree, -1);
  at->J += size * sap_width_of(at->gather->forest, tree);
}

void sap_append_joint(struct sap_element_cursor *at, int32_t dof, double value) {
  const struct sap_element_gather *g = at->gather;
  const int32_t tree = g->dof_tree[dof];
  append(at, 1, (const int32_t[2]){tree, -1}, dof - g->forest->tree_dofadr[tree]);
  *at->J++ = value;
}
