/* Assembles the blocks of free bodies for assembly.c. They stay in registers, the block of an edge
 * together with the diagonal one of its higher body, which shares G J with it. */
#ifndef SAPWOOD_PROBLEM_PRODUCTS_BODY_BLOCKS_H
#define SAPWOOD_PROBLEM_PRODUCTS_BODY_BLOCKS_H

#include "problem/products/weights.h"
#include "problem/products/panel_entries.h"

/* sizes of the 6 x 6 blocks of free bodies, which stay in registers */
enum { BODY = 6, BODY_STRIDE = 8, BODY_VECTORS = (BODY + SIMD_WIDTH - 1) / SIMD_WIDTH };

/* Adds (G J)^T J to diagonal for the acting triples [begin, end). */
INLINE void add_body_rows(const struct sap_pool *pool, int32_t begin, int32_t end, const double *J,
                          simd diagonal[BODY][BODY_VECTORS]) {
  for (int32_t i = begin; i < end; ++i, J += 3 * BODY_STRIDE) {
    if (!acts(pool, i)) {
      continue;
    }
    simd G[SAP_G_ENTRIES];
    load_G(pool, i, G);
    for (int k = 0; k < BODY_VECTORS; ++k) {
      simd x[3], GJ[3];
      for (int r = 0; r < 3; ++r) {
        x[r] = simd_load(J + r * BODY_STRIDE + k * SIMD_WIDTH);
      }
      multiply_block(G, x, GJ);
      for (int r = 0; r < 3; ++r) {
        for (int j = 0; j < BODY; ++j) {
          diagonal[j][k] += GJ[r] * simd_all(J[r * BODY_STRIDE + j]);
        }
      }
    }
  }
}

/* Adds (G J)^T J to diagonal and (G J)^T J_low to edge for the triples [begin, end), active or
 * not. */
INLINE void add_body_edge(const struct sap_pool *pool, int32_t begin, int32_t end, const double *J,
                          const double *J_low, simd diagonal[BODY][BODY_VECTORS],
                          simd edge[BODY][BODY_VECTORS]) {
  for (int k = 0; k < BODY_VECTORS; ++k) {
    const double *row = J, *low = J_low;
    for (int32_t i = begin; i < end; ++i, row += 3 * BODY_STRIDE, low += 3 * BODY_STRIDE) {
      simd G[SAP_G_ENTRIES], x[3], GJ[3];
      load_G(pool, i, G);
      for (int r = 0; r < 3; ++r) {
        x[r] = simd_load(row + r * BODY_STRIDE + k * SIMD_WIDTH);
      }
      multiply_block(G, x, GJ);
      for (int r = 0; r < 3; ++r) {
        for (int j = 0; j < BODY; ++j) {
          diagonal[j][k] += GJ[r] * simd_all(row[r * BODY_STRIDE + j]);
          edge[j][k] += GJ[r] * simd_all(low[r * BODY_STRIDE + j]);
        }
      }
    }
  }
}

/* Does the same for pairs of triples, without the edge if J_low is NULL. */
INLINE void add_body_pairs(const struct sap_pool *pool, int32_t begin, int32_t end, const double *J,
                           const double *J_low, simd diagonal[BODY][BODY_VECTORS],
                           simd edge[BODY][BODY_VECTORS]) {
  for (int32_t i = begin; i < end; i += 2) {
    const int64_t first = (int64_t)(i - begin) * (3 * BODY_STRIDE);
    struct pair_G G;
    if (!acts(pool, i)) {
      continue;
    }
    load_pair_G(pool, i, &G);
    for (int k = 0; k < BODY_VECTORS; ++k) {
      simd x[6], GJ[6];
      for (int r = 0; r < 6; ++r) {
        x[r] = simd_load(J + first + r * BODY_STRIDE + k * SIMD_WIDTH);
      }
      multiply_pair_block(&G, x, GJ);
      for (int r = 0; r < 6; ++r) {
        for (int j = 0; j < BODY; ++j) {
          diagonal[j][k] += GJ[r] * simd_all(J[first + r * BODY_STRIDE + j]);
          if (J_low) {
            edge[j][k] += GJ[r] * simd_all(J_low[first + r * BODY_STRIDE + j]);
          }
        }
      }
    }
  }
}

INLINE void load_body_mass(const double *A, simd sum[BODY][BODY_VECTORS]) {
  for (int j = 0; j < BODY; ++j) {
    for (int k = 0; k < BODY_VECTORS; ++k) {
      sum[j][k] = simd_load_part(A + j * BODY + k * SIMD_WIDTH, part_of(BODY, k));
    }
  }
}

/* Returns the number of rows of a body in vector k. */
INLINE int32_t body_rows(const int k) { return sap_smaller(BODY - k * SIMD_WIDTH, SIMD_WIDTH); }

INLINE void load_body_block(const int single, const void *values, struct sap_place place,
                            simd sum[BODY][BODY_VECTORS]) {
  for (int j = 0; j < BODY; ++j) {
    for (int k = 0; k < BODY_VECTORS; ++k) {
      sum[j][k] = load_entries(single, values, entry(place, k * SIMD_WIDTH, j), body_rows(k));
    }
  }
}

INLINE void store_body_block(const int single, void *values, struct sap_place place,
                             simd sum[BODY][BODY_VECTORS]) {
  for (int j = 0; j < BODY; ++j) {
    for (int k = 0; k < BODY_VECTORS; ++k) {
      store_entries(single, values, entry(place, k * SIMD_WIDTH, j), sum[j][k], body_rows(k));
    }
  }
}

INLINE int is_body(const struct sap_jacobian *J, int32_t node) {
  return sap_node_size(&J->graph->tree, node) == BODY;
}

/* Assembles the block of a patch between two free bodies, and its terms of the higher body's
 * diagonal block. */
INLINE void assemble_body_edge(const int single, const struct sap_jacobian *J,
                               const struct sap_patch *patch, const struct sap_pool *pool,
                               const struct sap_factor *factor, void *values,
                               simd diagonal[BODY][BODY_VECTORS]) {
  const struct sap_place place = factor->edge[patch->edge];
  simd edge[BODY][BODY_VECTORS];
  if (patch->shares) {
    load_body_block(single, values, place, edge);
  } else {
    for (int j = 0; j < BODY; ++j) {
      for (int k = 0; k < BODY_VECTORS; ++k) {
        edge[j][k] = simd_zero();
      }
    }
  }
  const double *rows = J->values + patch->J_high, *low = J->values + patch->J_low;
  if (patch->pairs) {
    add_body_pairs(pool, patch->begin, patch->end, rows, low, diagonal, edge);
  } else {
    add_body_edge(pool, patch->begin, patch->end, rows, low, diagonal, edge);
  }
  store_body_block(single, values, place, edge);
}

/* Assembles the diagonal block of a free body, and the blocks of its edges to lower bodies. */
INLINE void assemble_body(const int single, const struct sap_jacobian *J, int32_t node,
                          const double *A, const struct sap_pool *pool,
                          const struct sap_factor *factor, void *values) {
  const struct sap_graph *graph = J->graph;
  const double *rows = J->values + graph->node_J[node];
  simd diagonal[BODY][BODY_VECTORS];
  load_body_mass(A, diagonal);
  for (int32_t k = graph->incidence_start[node]; k < graph->incidence_start[node + 1]; ++k) {
    const struct sap_patch *patch = &graph->patch[graph->incidence[k].patch];
    if (patch->high == node && is_body(J, patch->low)) {
      assemble_body_edge(single, J, patch, pool, factor, values, diagonal);
    } else if (patch->pairs) {
      add_body_pairs(pool, patch->begin, patch->end, rows, NULL, diagonal, NULL);
    } else {
      add_body_rows(pool, patch->begin, patch->end, rows, diagonal);
    }
    rows += (int64_t)(patch->end - patch->begin) * (3 * BODY_STRIDE);
  }
  store_body_block(single, values, factor->diagonal[node], diagonal);
}

#endif
