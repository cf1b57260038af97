/* This module lists contacts and other constraints as blocks of rows in the order of the problem,
 * and multiplies by J, its transpose and A^-1. All rows of a problem are one vector: three of each
 * contact, (t1, t2, n), then those of the groups. The list points into the problem; its memory
 * belongs to the caller. */
#ifndef SAPWOOD_SOLVER_PROXIMAL_ROW_BLOCKS_H
#define SAPWOOD_SOLVER_PROXIMAL_ROW_BLOCKS_H

#include "problem/regularization/masses.h"

/* largest number of rows of a constraint */
enum { SAP_MOST_BLOCK_ROWS = 6 };

struct sap_row_block {
  int32_t n_rows;
  int32_t tree[2];    /* second tree, or -1 */
  int32_t dof;        /* velocity of the only entry of J, or -1 */
  const double *J[2]; /* (n_rows, tree_nv) of each tree, row-major */
};

struct sap_row_blocks {
  const sap_problem *problem;
  struct sap_masses masses; /* loops and the first velocities; S and strips for A^-1 */
  int64_t nv, n_rows;
  int32_t n;
  struct sap_row_block *block; /* (n) */
};

/* Returns the number of blocks of a problem whose sizes have been checked. */
int32_t sap_row_blocks_count(const sap_problem *problem);

/* Fills the list, blocks->block. */
void sap_row_blocks_list(struct sap_row_blocks *blocks);

/* Set x (n_rows) = J v and y (nv) = J^T x; with `absolute` the same of |J| and |v|, x >= 0. */
void sap_rows_multiply(const struct sap_row_blocks *blocks, int absolute, const double *v,
                       double *x);
void sap_rows_transpose(const struct sap_row_blocks *blocks, int absolute, const double *x,
                        double *y);

/* Sets y (nv) to A^-1 y and returns y^T A^-1 y; Sy (nv) is scratch. */
double sap_rows_solve_mass(const struct sap_row_blocks *blocks, double *y, double *Sy);

/* Writes w (n_rows): |W_ii|_F/3 to the rows of a contact, and W_kk to others. */
void sap_rows_effective_masses(const struct sap_row_blocks *blocks, double *w);

#endif
