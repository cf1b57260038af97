/* This module finds entries of S = B H^-1 C for a few sparse rows B and columns C, without whole
 * solves:
 *
 *     S = (U^-T B^T)^T (D^-1 L^-1 C)       by the factors of lu_factor.h, or
 *     S = (L^-1 B^T)^T (L^-1 C)            by Cholesky's,
 *
 * Forward solves change only the supernodes on the path from the nodes of a right-hand side to the
 * root of the junction tree. The columns go in sets of SAP_PATH_COLUMNS through the factor of one
 * component; a set has one path, the union of those of its columns. The caller owns the memory. */
#ifndef SAPWOOD_LINALG_PATH_COLUMNS_H
#define SAPWOOD_LINALG_PATH_COLUMNS_H

#include "linalg/lu_factor.h"

struct sap_path_columns {
  const struct sap_lu *lu;
  int32_t component;
  int symmetric; /* 1: H has a Cholesky factor, and both sides are one */
  int32_t n_sets;
  int32_t n_columns[SAP_PATH_SETS]; /* columns that were written */
  int8_t *on_path[SAP_PATH_SETS];   /* (n_supernodes) */
  double *X[SAP_PATH_SETS][2];      /* (n_scalars, SAP_PATH_COLUMNS) by row: lower and upper side */
};

void sap_path_carve(struct sap_path_columns *path, struct sap_arena *arena);

/* Begins without sets, for the last factorization of component c. */
void sap_path_begin(struct sap_path_columns *path, int32_t c, int symmetric);

/* Opens a new set, at most SAP_PATH_SETS in all, without nodes. */
void sap_path_open(struct sap_path_columns *path);

/* Adds a node to the path of the open set, whose rows there become 0. */
void sap_path_add_node(struct sap_path_columns *path, int32_t node);

/* Writes n entries of row x of a column of the open set, from scalar `first` on, whose nodes are on
 * its path. */
void sap_path_write(struct sap_path_columns *path, int32_t column, int32_t first, int32_t n,
                    const double *x);

/* Solves for the columns of the open set, which is closed with that. */
void sap_path_close(struct sap_path_columns *path);

/* Writes the entries of S (SAP_PATH_COLUMNS, SAP_PATH_COLUMNS), by row, for the rows of set a and
 * the columns of set b, both closed. */
void sap_path_product(const struct sap_path_columns *path, int32_t a, int32_t b, double *S);

#endif
