#include "solver/proximal/row_blocks.h"

#include <string.h>

#include "constraints/kinds/kinds.h"

int32_t sap_row_blocks_count(const sap_problem *problem) {
  int32_t n = problem->n_contacts;
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    n += problem->groups[g].n;
  }
  return n;
}

/* Adds a block whose rows begin at J; returns the entry of J behind them. */
static const double *add_block(struct sap_row_blocks *blocks, int32_t n_rows, int32_t tree_a,
                               int32_t tree_b, int32_t dof, const double *J) {
  struct sap_row_block *block = &blocks->block[blocks->n++];
  const int32_t *nv = blocks->problem->tree_nv;
  *block = (struct sap_row_block){n_rows, {tree_a, tree_b}, dof, {J, NULL}};
  blocks->n_rows += n_rows;
  if (dof >= 0) {
    return J + 1;
  }
  J += (int64_t)n_rows * nv[tree_a];
  block->J[1] = J;
  return tree_b < 0 ? J : J + (int64_t)n_rows * nv[tree_b];
}

void sap_row_blocks_list(struct sap_row_blocks *blocks) {
  const sap_problem *problem = blocks->problem;
  const double *J = problem->J;
  blocks->n = 0;
  blocks->n_rows = 0;
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    J = add_block(blocks, 3, problem->tree_a[i], problem->tree_b[i], -1, J);
  }
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    J = group->J;
    for (int32_t i = 0; i < group->n; ++i) {
      J = add_block(blocks, sap_rows_of(group, i), group->tree_a[i], group->tree_b[i],
                    sap_dof_of(group, i), J);
    }
  }
}

/* Sets x (n_rows of the block) to its part of J v. */
static void multiply_block(const struct sap_row_blocks *blocks, const struct sap_row_block *block,
                           int absolute, const double *v, double *x) {
  const struct sap_vector_loops *loops = blocks->masses.loops;
  if (block->dof >= 0) {
    const double entry = *block->J[0] * v[blocks->masses.tree_v[block->tree[0]] + block->dof];
    x[0] = absolute && entry < 0 ? -entry : entry;
    return;
  }
  memset(x, 0, (size_t)block->n_rows * sizeof *x);
  for (int side = 0; side < 2 && block->tree[side] >= 0; ++side) {
    const int32_t n = blocks->problem->tree_nv[block->tree[side]];
    const double *v_side = v + blocks->masses.tree_v[block->tree[side]];
    double part[SAP_MOST_BLOCK_ROWS];
    (absolute ? loops->multiply_absolute : loops->multiply_rows)(block->n_rows, n, block->J[side],
                                                                 v_side, part);
    for (int32_t r = 0; r < block->n_rows; ++r) {
      x[r] += part[r];
    }
  }
}

void sap_rows_multiply(const struct sap_row_blocks *blocks, int absolute, const double *v,
                       double *x) {
  for (int32_t i = 0; i < blocks->n; ++i) {
    multiply_block(blocks, &blocks->block[i], absolute, v, x);
    x += blocks->block[i].n_rows;
  }
}

/* Adds the part of a block to J^T x. */
static void transpose_block(const struct sap_row_blocks *blocks, const struct sap_row_block *block,
                            int absolute, const double *x, double *y) {
  const struct sap_vector_loops *loops = blocks->masses.loops;
  if (block->dof >= 0) {
    const double J = *block->J[0];
    y[blocks->masses.tree_v[block->tree[0]] + block->dof] += (absolute && J < 0 ? -J : J) * x[0];
    return;
  }
  for (int side = 0; side < 2 && block->tree[side] >= 0; ++side) {
    const int32_t n = blocks->problem->tree_nv[block->tree[side]];
    double *y_side = y + blocks->masses.tree_v[block->tree[side]];
    (absolute ? loops->add_absolute_rows : loops->add_rows)(block->n_rows, n, block->J[side], x,
                                                            y_side);
  }
}

void sap_rows_transpose(const struct sap_row_blocks *blocks, int absolute, const double *x,
                        double *y) {
  memset(y, 0, (size_t)blocks->nv * sizeof *y);
  for (int32_t i = 0; i < blocks->n; ++i) {
    transpose_block(blocks, &blocks->block[i], absolute, x, y);
    x += blocks->block[i].n_rows;
  }
}

double sap_rows_solve_mass(const struct sap_row_blocks *blocks, double *y, double *Sy) {
  const struct sap_masses *masses = &blocks->masses;
  double sum = 0;
  for (int32_t t = 0; t < blocks->problem->n_trees; ++t) {
    const int64_t v = masses->tree_v[t];
    sum += masses->loops->multiply_inverse(blocks->problem->tree_nv[t], masses->strips + v,
                                           masses->S + masses->tree_A[t], y + v, Sy + v);
  }
  return sum;
}

/* Adds J A^-1 J^T of n_rows <= 3 rows of a block, from row `first` on, to W. */
static void add_gram(const struct sap_row_blocks *blocks, const struct sap_row_block *block,
                     int32_t first, int32_t n_rows, double W[9]) {
  const struct sap_masses *masses = &blocks->masses;
  for (int side = 0; side < 2 && block->tree[side] >= 0; ++side) {
    const int32_t n = blocks->problem->tree_nv[block->tree[side]];
    sap_add_delassus(masses, SAP_DELASSUS_BLOCK, n, blocks->problem->A, block->tree[side], n_rows,
                     block->J[side] + (int64_t)first * n, W);
  }
}

/* Returns W_kk of a row whose J has one entry: the square of that entry times a diagonal entry of
 * A^-1 = S^T S. */
static double entry_mass(const struct sap_row_blocks *blocks, const struct sap_row_block *block) {
  const struct sap_masses *masses = &blocks->masses;
  const int32_t tree = block->tree[0], n = blocks->problem->tree_nv[tree];
  const double *column = masses->S + masses->tree_A[tree] + (int64_t)block->dof * n;
  double sum = 0;
  for (int32_t i = 0; i <= block->dof; ++i) {
    sum += column[i] * column[i];
  }
  return *block->J[0] * *block->J[0] * sum;
}

void sap_rows_effective_masses(const struct sap_row_blocks *blocks, double *w) {
  for (int32_t i = 0; i < blocks->n; ++i) {
    const struct sap_row_block *block = &blocks->block[i];
    const int is_contact = i < blocks->problem->n_contacts;
    double W[9] = {0};
    if (is_contact) {
      add_gram(blocks, block, 0, 3, W);
      W[0] = sap_inverse_mass(W, 3);
    }
    for (int32_t r = 0; r < block->n_rows; ++r) {
      double row[9] = {0};
      if (!is_contact && block->dof < 0) {
        add_gram(blocks, block, r, 1, row);
      }
      *w++ = is_contact ? W[0] : block->dof >= 0 ? entry_mass(blocks, block) : row[0];
    }
  }
}
