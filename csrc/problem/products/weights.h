/* This module loads G of triples and of pairs of them, the weights of H = A + J^T G J, into
 * registers for assembly.c. It is compiled once per instruction set. */
#ifndef SAPWOOD_PROBLEM_PRODUCTS_WEIGHTS_H
#define SAPWOOD_PROBLEM_PRODUCTS_WEIGHTS_H

#include "constraints/pool.h"
#include "linalg/kernels/isa.h"

/* Is G of triple i, or of the pair that begins there, nonzero? */
INLINE int acts(const struct sap_pool *pool, int32_t i) {
  return pool->G[SAP_G_11][i] + pool->G[SAP_G_22][i] + pool->G[SAP_G_NN][i] > 0;
}

/* Loads G of triple i. */
INLINE void load_G(const struct sap_pool *pool, int32_t i, simd G[SAP_G_ENTRIES]) {
  for (int e = 0; e < SAP_G_ENTRIES; ++e) {
    G[e] = simd_all(pool->G[e][i]);
  }
}

/* Computes G J for one vector of the rows of a triple. */
INLINE void multiply_block(const simd G[SAP_G_ENTRIES], const simd J[3], simd GJ[3]) {
  GJ[0] = G[SAP_G_11] * J[0] + G[SAP_G_12] * J[1] + G[SAP_G_1N] * J[2];
  GJ[1] = G[SAP_G_12] * J[0] + G[SAP_G_22] * J[1] + G[SAP_G_2N] * J[2];
  GJ[2] = G[SAP_G_1N] * J[0] + G[SAP_G_2N] * J[1] + G[SAP_G_NN] * J[2];
}

/* G of the pair of triples i and i + 1. */
struct pair_G {
  simd own[SAP_G_ENTRIES], spin[SAP_G_ENTRIES], cross[3][3];
};

INLINE void load_pair_G(const struct sap_pool *pool, int32_t i, struct pair_G *G) {
  load_G(pool, i, G->own);
  load_G(pool, i + 1, G->spin);
  for (int e = 0; e < 9; ++e) {
    G->cross[e / 3][e % 3] = simd_all(pool->torsional.cross[e][i]);
  }
}

/* Computes G J for one vector of the rows of a pair. */
INLINE void multiply_pair_block(const struct pair_G *G, const simd J[6], simd GJ[6]) {
  multiply_block(G->own, J, GJ);
  multiply_block(G->spin, J + 3, GJ + 3);
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) {
      GJ[r] += G->cross[r][c] * J[3 + c];
      GJ[3 + c] += G->cross[r][c] * J[r];
    }
  }
}

#endif
