#include "step/contacts/flex_rows.h"

#include <string.h>

#include "base/finite.h"
#include "problem/products/vectors.h"
#include "step/joints/element_rows.h"

static int is_pyramid(const struct sap_flex_rows *rows, int32_t dim) {
  return dim > 1 && rows->cone == SAP_CONE_PYRAMIDAL;
}

int sap_flex_trees(const struct sap_flex_rows *rows, const struct sap_listed_contact *contact,
                   int32_t tree[2]) {
  const int32_t dim = contact->dim, n = is_pyramid(rows, dim) ? 2 * (dim - 1) : dim;
  int known = 1;
  tree[0] = tree[1] = -1;
  for (int32_t r = contact->row; r < contact->row + n && known; ++r) {
    struct sap_engine_jacobian row;
    known = r < rows->state->n_rows &&
            sap_constraint_row(rows->state, rows->elements->forest->nv, r, &row) &&
            sap_row_trees(rows->elements, &row, tree);
  }
  return known;
}

/* Adds `scale` times a row of the engine to row `to` of the three rows of each tree. */
static void add_row(const struct sap_flex_rows *rows, int32_t engine_row, double scale,
                    const int32_t tree[2], int to, double *J) {
  const struct sap_forest *forest = rows->elements->forest;
  struct sap_engine_jacobian row;
  if (!sap_constraint_row(rows->state, forest->nv, engine_row, &row)) {
    return; /* sap_flex_trees has seen it */
  }
  for (int side = 0; side < 2 && tree[side] >= 0; ++side) {
    const int64_t n = forest->tree_dofnum[tree[side]];
    sap_add_row_part(rows->elements, &row, tree[side], scale, J + to * n);
    J += 3 * n;
  }
}

/* Writes three components of a contact. */
static int64_t write_rows(const struct sap_flex_rows *rows,
                          const struct sap_listed_contact *contact, const int component[3],
                          const int32_t tree[2], double *J) {
  const double *mu = sap_doubles_at(rows->list->friction, contact->index);
  const int64_t length = 3 * sap_width_of(rows->elements->forest, tree);
  memset(J, 0, sizeof *J * (size_t)length);
  for (int r = 0; r < 3; ++r) {
    const int32_t k = component[r];
    if (k >= contact->dim) {
      continue;
    }
    if (!is_pyramid(rows, contact->dim)) {
      add_row(rows, contact->row + k, 1.0, tree, r, J);
      continue;
    }
    const int32_t edge = contact->row + (k > 0 ? 2 * (k - 1) : 0);
    const double scale = k > 0 ? 0.5 / mu[k - 1] : 0.5;
    add_row(rows, edge, scale, tree, r, J);
    add_row(rows, edge + 1, k > 0 ? -scale : scale, tree, r, J);
  }
  if (sap_first_non_finite(length, J) >= 0) {
    return -1;
  }
  return rows->elements->loops->exceeds((int32_t)length, J, 0.0) ? length : 0;
}

int64_t sap_flex_jacobian(const struct sap_flex_rows *rows,
                          const struct sap_listed_contact *contact, const int32_t tree[2],
                          double *J) {
  static const int component[3] = {1, 2, 0};
  return write_rows(rows, contact, component, tree, J);
}

int64_t sap_flex_turning(const struct sap_flex_rows *rows, const struct sap_listed_contact *contact,
                         const int32_t tree[2], double *J) {
  static const int component[3] = {3, 4, 5};
  return write_rows(rows, contact, component, tree, J);
}
