/* This module computes the supernodal Cholesky factorization H = L L^T of a block-sparse matrix
 * over its junction tree.
 *
 * Blocks are assembled straight into the panels. Columns of nodes lie in the order of their
 * positions, so that the columns of a supernode or component are one range of values. All functions
 * work on one connected component at a time. */
#ifndef SAPWOOD_LINALG_FACTORIZATION_H
#define SAPWOOD_LINALG_FACTORIZATION_H

#include "linalg/junction_tree.h"
#include "linalg/kernels/kernels.h"

/* place of one dense block: it begins at values[offset], column-major with leading dimension ld */
struct sap_place {
  size_t offset;
  int32_t ld;
};

struct sap_factor {
  const struct sap_kernels *kernels;
  const struct sap_junction_tree *tree;
  struct sap_place *diagonal; /* (n_nodes) by position */
  struct sap_place *edge;     /* (n_edges) block (higher position, lower position) */
  int8_t *precision; /* (n_components) precision of the panels, set before they are cleared */
  size_t n_values;
  /* floats of a component in single precision lie in the first half of its doubles */
  double *values;
  float *x_single; /* (n_scalars) x for panels in single precision */
};

void sap_factor_carve_places(struct sap_factor *factor, struct sap_arena *arena);
void sap_factor_carve_values(struct sap_factor *factor, struct sap_arena *arena);

/* Finds the places of the blocks; edge_low and edge_high (n_edges) are positions. */
void sap_factor_place(struct sap_factor *factor, const int32_t *edge_low, const int32_t *edge_high);

/* Returns the offset of the first value of the column at this position, which may be n_nodes. */
static inline size_t sap_factor_values(const struct sap_factor *factor, int32_t node) {
  return node < factor->tree->n_nodes ? factor->diagonal[node].offset : factor->n_values;
}

/* Returns the values, doubles or floats, that the offsets of component c index. */
static inline void *sap_factor_panels(const struct sap_factor *factor, int32_t c) {
  return factor->precision[c] == SAP_SINGLE
             ? (void *)((float *)factor->values +
                        sap_factor_values(factor, factor->tree->component[c].node_begin))
             : (void *)factor->values;
}

/* Zeros the columns of supernode s of component c, best just before their blocks are written. */
void sap_factor_clear(const struct sap_factor *factor, int32_t c, const struct sap_supernode *s);

/* Factors H of component c and, unless x is NULL, sets x <- H^-1 x as below. Returns -1, or the
 * position of a node whose pivot was not positive: then x is undefined. */
int32_t sap_factor_run(const struct sap_factor *factor, int32_t c, double *x);

/* Sets x <- H^-1 x for component c, by the last factorization; x is indexed by scalar. */
void sap_factor_solve(const struct sap_factor *factor, int32_t c, double *x);

/* The second half of it: y <- L^-T y, for H = L L^T. */
void sap_factor_solve_transposed(const struct sap_factor *factor, int32_t c, double *y);

#endif
