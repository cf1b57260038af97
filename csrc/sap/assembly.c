/* H = A + J^T G J (VIII-A), block by block.
 *
 * A tree gathers what all its triples bring to its diagonal block, and each patch writes the one
 * block of its edge, or adds to it: every block is written once for each law. Blocks of free bodies stay in
 * registers; those of other trees are made of tiles that do, where chunks of columns are not zero. Supernode
 * by supernode, since a panel that has just been cleared is still in the cache. */
#include "sap/rows.h"

INLINE int acts(const struct sap_pool *pool, int32_t i) {
  return pool->G[SAP_G_11][i] + pool->G[SAP_G_22][i] + pool->G[SAP_G_NN][i] > 0;
}

/* G J for one vector of the rows of triple i */
INLINE void multiply_block(const struct sap_pool *pool, int32_t i, const simd J[3], simd GJ[3]) {
  double *const *G = pool->G;
  const simd G_11 = simd_all(G[SAP_G_11][i]), G_12 = simd_all(G[SAP_G_12][i]);
  const simd G_22 = simd_all(G[SAP_G_22][i]), G_1n = simd_all(G[SAP_G_1N][i]);
  const simd G_2n = simd_all(G[SAP_G_2N][i]), G_nn = simd_all(G[SAP_G_NN][i]);
  GJ[0] = G_11 * J[0] + G_12 * J[1] + G_1n * J[2];
  GJ[1] = G_12 * J[0] + G_22 * J[1] + G_2n * J[2];
  GJ[2] = G_1n * J[0] + G_2n * J[1] + G_nn * J[2];
}

/* free bodies: their 6 x 6 blocks stay in registers */
enum { BODY = 6, BODY_STRIDE = 8, BODY_VECTORS = (BODY + SIMD_WIDTH - 1) / SIMD_WIDTH };

/* sum += (G J_row)^T J_column for the acting triples [begin, end) */
INLINE void add_body_rows(const struct sap_pool *pool, int32_t begin, int32_t end,
                          const double *J_row, const double *J_column,
                          simd sum[BODY][BODY_VECTORS]) {
  for (int32_t i = begin; i < end; ++i, J_row += 3 * BODY_STRIDE, J_column += 3 * BODY_STRIDE) {
    if (!acts(pool, i)) {
      continue;
    }
    for (int k = 0; k < BODY_VECTORS; ++k) {
      simd J[3], GJ[3];
      for (int r = 0; r < 3; ++r) {
        J[r] = simd_load(J_row + r * BODY_STRIDE + k * SIMD_WIDTH);
      }
      multiply_block(pool, i, J, GJ);
      for (int r = 0; r < 3; ++r) {
        for (int j = 0; j < BODY; ++j) {
          sum[j][k] += GJ[r] * simd_all(J_column[r * BODY_STRIDE + j]);
        }
      }
    }
  }
}

INLINE void store_body_block(simd sum[BODY][BODY_VECTORS], struct sap_place place, double *values) {
  for (int j = 0; j < BODY; ++j) {
    for (int k = 0; k < BODY_VECTORS; ++k) {
      simd_store_part(values + place.offset + (int64_t)j * place.ld + k * SIMD_WIDTH, sum[j][k],
                      part_of(BODY, k));
    }
  }
}

INLINE void assemble_body(const struct sap_jacobian *J, int32_t node, const double *A,
                          const struct sap_pool *pool, struct sap_factor *factor) {
  const struct sap_graph *graph = J->graph;
  const double *rows = J->values + graph->node_J[node];
  simd sum[BODY][BODY_VECTORS];
  for (int j = 0; j < BODY; ++j) {
    for (int k = 0; k < BODY_VECTORS; ++k) {
      sum[j][k] = simd_load_part(A + j * BODY + k * SIMD_WIDTH, part_of(BODY, k));
    }
  }
  for (int32_t k = graph->incidence_start[node]; k < graph->incidence_start[node + 1]; ++k) {
    const int32_t begin = graph->incidence[k].begin, end = graph->incidence[k].end;
    add_body_rows(pool, begin, end, rows, rows, sum);
    rows += (int64_t)(end - begin) * (3 * BODY_STRIDE);
  }
  store_body_block(sum, factor->diagonal[node], factor->values);
}

INLINE void assemble_body_edge(const struct sap_jacobian *J, const struct sap_patch *patch,
                               const struct sap_pool *pool, struct sap_factor *factor) {
  simd sum[BODY][BODY_VECTORS];
  const struct sap_place place = factor->edge[patch->edge];
  for (int j = 0; j < BODY; ++j) {
    for (int k = 0; k < BODY_VECTORS; ++k) {
      const double *block = factor->values + place.offset + (int64_t)j * place.ld + k * SIMD_WIDTH;
      sum[j][k] = patch->shares ? simd_load_part(block, part_of(BODY, k)) : simd_zero();
    }
  }
  add_body_rows(pool, patch->begin, patch->end, J->values + patch->J_high, J->values + patch->J_low,
                sum);
  store_body_block(sum, place, factor->values);
}

/* trees of any size: blocks in tiles of registers */
enum {
  TILE_VECTORS = SIMD_WIDTH == 8 ? 1 : 2,
  TILE_ROWS = TILE_VECTORS * SIMD_WIDTH,
  TILE_COLUMNS = SIMD_WIDTH == 8 ? 8 : 4
};

/* tile at row i, column j of C (m, n) += sum of GJ^T J over the terms that have both chunks, N columns */
INLINE void add_tile(const int N, int32_t n_terms, const struct sap_term *terms, int32_t i,
                     int32_t j, int32_t m, int32_t n, double *C, int32_t ld) {
  const int32_t row_chunk = i / sap_chunk(m), column_chunk = j / sap_chunk(n);
  const int64_t row_stride = sap_stride(m), column_stride = sap_stride(n);
  simd_mask part[TILE_VECTORS];
  simd sum[TILE_COLUMNS][TILE_VECTORS];
  C += (int64_t)j * ld + i;
  UNROLL
  for (int v = 0; v < TILE_VECTORS; ++v) {
    part[v] = part_of(m - i, v);
    UNROLL
    for (int l = 0; l < N; ++l) {
      sum[l][v] = simd_load_part(C + (int64_t)l * ld + v * SIMD_WIDTH, part[v]);
    }
  }
  for (int32_t t = 0; t < n_terms; ++t) {
    if (!(terms[t].rows >> row_chunk & terms[t].columns >> column_chunk & 1)) {
      continue;
    }
    const double *GJ = terms[t].GJ + i, *J = terms[t].J + j;
    for (int64_t r = 0; r < terms[t].n_rows; ++r, GJ += row_stride, J += column_stride) {
      UNROLL
      for (int v = 0; v < TILE_VECTORS; ++v) {
        const simd row = simd_load_part(GJ + v * SIMD_WIDTH, part[v]);
        UNROLL
        for (int l = 0; l < N; ++l) {
          sum[l][v] += row * simd_all(J[l]);
        }
      }
    }
  }
  UNROLL
  for (int v = 0; v < TILE_VECTORS; ++v) {
    UNROLL
    for (int l = 0; l < N; ++l) {
      simd_store_part(C + (int64_t)l * ld + v * SIMD_WIDTH, sum[l][v], part[v]);
    }
  }
}

/* C (m, n) += sum of GJ^T J over the terms; with `lower` what lies above the diagonal is undefined */
static void add_terms(int32_t n_terms, const struct sap_term *terms, int32_t m, int32_t n,
                      double *C, int32_t ld, int lower) {
  uint64_t rows = 0, columns = 0;
  for (int32_t t = 0; t < n_terms; ++t) {
    rows |= terms[t].rows;
    columns |= terms[t].columns;
  }
  for (int32_t i = 0; i < m; i += TILE_ROWS) {
    if (!(rows >> (i / sap_chunk(m)) & 1)) {
      continue;
    }
    const int32_t end = lower ? sap_smaller(i + TILE_ROWS, n) : n;
    for (int32_t j = 0; j < end; j += TILE_COLUMNS) {
      if (!(columns >> (j / sap_chunk(n)) & 1)) {
        continue;
      }
      switch (n - j) {
        case 1: add_tile(1, n_terms, terms, i, j, m, n, C, ld); break;
        case 2: add_tile(2, n_terms, terms, i, j, m, n, C, ld); break;
        case 3: add_tile(3, n_terms, terms, i, j, m, n, C, ld); break;
#if SAP_SIMD_WIDTH == 8
        case 4: add_tile(4, n_terms, terms, i, j, m, n, C, ld); break;
        case 5: add_tile(5, n_terms, terms, i, j, m, n, C, ld); break;
        case 6: add_tile(6, n_terms, terms, i, j, m, n, C, ld); break;
        case 7: add_tile(7, n_terms, terms, i, j, m, n, C, ld); break;
#endif
        default: add_tile(TILE_COLUMNS, n_terms, terms, i, j, m, n, C, ld); break;
      }
    }
  }
}

/* one more triple: of the run before, or the first of a new one */
INLINE int32_t add_term(struct sap_term *terms, int32_t n_terms, struct sap_term term,
                        int32_t row_stride, int32_t column_stride) {
  struct sap_term *last = &terms[n_terms - 1];
  if (n_terms > 0 && last->rows == term.rows && last->columns == term.columns &&
      last->GJ + last->n_rows * row_stride == term.GJ &&
      last->J + last->n_rows * column_stride == term.J) {
    last->n_rows += 3;
    return n_terms;
  }
  terms[n_terms] = term;
  return n_terms + 1;
}

/* GJ = G J for the three rows of triple i, where they are not zero */
INLINE void multiply_triple(const struct sap_pool *pool, int32_t i, int32_t n, uint64_t chunks,
                            const double *J, double *GJ) {
  const int64_t stride = sap_stride(n);
  for (uint64_t left = chunks; left != 0; left &= left - 1) {
    const int32_t c = __builtin_ctzll(left);
    for (int32_t k = first_vector(n, c); k < last_vector(n, c); ++k) {
      const simd_mask part = part_of(n, k);
      simd row[3], product[3];
      for (int r = 0; r < 3; ++r) {
        row[r] = simd_load_part(J + r * stride + k * SIMD_WIDTH, part);
      }
      multiply_block(pool, i, row, product);
      for (int r = 0; r < 3; ++r) {
        simd_store_part(GJ + r * stride + k * SIMD_WIDTH, product[r], part);
      }
    }
  }
}

static void assemble_tree(const struct sap_jacobian *J, int32_t node, const double *A,
                          const struct sap_pool *pool, struct sap_scratch scratch,
                          struct sap_factor *factor) {
  const struct sap_graph *graph = J->graph;
  const int32_t n = sap_node_size(&graph->tree, node), width = 3 * sap_stride(n);
  const struct sap_place place = factor->diagonal[node];
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t k = 0; k < vectors_of(n); ++k) {
      const simd_mask part = part_of(n, k);
      simd_store_part(factor->values + place.offset + (int64_t)j * place.ld + k * SIMD_WIDTH,
                      simd_load_part(A + (int64_t)j * n + k * SIMD_WIDTH, part), part);
    }
  }
  const double *row = J->values + graph->node_J[node];
  double *GJ = scratch.GJ;
  int32_t n_terms = 0;
  for (int32_t k = graph->incidence_start[node]; k < graph->incidence_start[node + 1]; ++k) {
    const struct sap_incidence *incidence = &graph->incidence[k];
    const uint64_t *chunks = chunks_of(J, node, incidence);
    for (int32_t i = incidence->begin; i < incidence->end; ++i, row += width) {
      if (acts(pool, i)) {
        multiply_triple(pool, i, n, chunks[i], row, GJ);
        n_terms =
            add_term(scratch.terms, n_terms, (struct sap_term){GJ, row, chunks[i], chunks[i], 3},
                     width / 3, width / 3);
        GJ += width;
      }
    }
  }
  add_terms(n_terms, scratch.terms, n, n, factor->values + place.offset, place.ld, 1);
}

static void assemble_edge(const struct sap_jacobian *J, const struct sap_patch *patch,
                          const struct sap_pool *pool, struct sap_scratch scratch,
                          struct sap_factor *factor) {
  struct side sides[2];
  sides_of(J, patch, sides);
  const struct side *low = &sides[0], *high = &sides[1];
  const struct sap_place place = factor->edge[patch->edge];
  double *GJ = scratch.GJ;
  int32_t n_terms = 0;
  for (int32_t i = patch->begin; i < patch->end; ++i) {
    const int32_t k = i - patch->begin;
    if (acts(pool, i)) {
      multiply_triple(pool, i, high->n, high->chunks[k], high->J + 3 * (int64_t)k * high->stride,
                      GJ);
      n_terms = add_term(scratch.terms, n_terms,
                         (struct sap_term){GJ, low->J + 3 * (int64_t)k * low->stride,
                                           high->chunks[k], low->chunks[k], 3},
                         high->stride, low->stride);
      GJ += 3 * high->stride;
    }
  }
  add_terms(n_terms, scratch.terms, high->n, low->n, factor->values + place.offset, place.ld, 0);
}

void SAP_OF_ISA(sap_assemble_)(const struct sap_jacobian *J, const struct sap_island *island,
                               const double *const *A, const struct sap_pool *pool,
                               struct sap_scratch scratch, struct sap_factor *factor) {
  const struct sap_graph *graph = J->graph;
  const struct sap_component *component = &graph->tree.component[island->index];
  int32_t p = island->patch_begin;
  for (int32_t k = component->supernode_begin; k < component->supernode_end; ++k) {
    const struct sap_supernode *s = &graph->tree.supernode[k];
    sap_factor_clear(factor, s);
    for (int32_t node = s->node_begin; node < s->node_end; ++node) {
      if (sap_node_size(&graph->tree, node) == BODY) {
        assemble_body(J, node, A[node], pool, factor);
      } else {
        assemble_tree(J, node, A[node], pool, scratch, factor);
      }
    }
    /* patches come by their lower position, law after law: every panel is cleared before its blocks come */
    for (; p < island->patch_end && graph->patch[p].low < s->node_end; ++p) {
      const struct sap_patch *patch = &graph->patch[p];
      if (patch->high < 0) {
        continue;
      }
      if (sap_node_size(&graph->tree, patch->low) == BODY &&
          sap_node_size(&graph->tree, patch->high) == BODY) {
        assemble_body_edge(J, patch, pool, factor);
      } else {
        assemble_edge(J, patch, pool, scratch, factor);
      }
    }
  }
}
