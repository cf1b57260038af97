/* This file assembles H = A + J^T G J (VIII-A), block by block.
 *
 * A tree gathers the terms of all its triples in its diagonal block, and each patch writes the one
 * block of its edge, or adds to it: every block is written once for each law. Blocks of free bodies
 * stay in registers (body_blocks.h). Blocks of other trees are computed by tiles in registers,
 * where chunks of columns are not zero. Panels are cleared one by one, so that each is still in the
 * cache when its blocks are written. */
#include "linalg/kernels/flush.h"
#include "problem/products/body_blocks.h"

/* sizes of the register tiles of blocks of trees of any size */
enum {
  TILE_VECTORS = SIMD_WIDTH == 8 ? 1 : 2,
  TILE_ROWS = TILE_VECTORS * SIMD_WIDTH,
  TILE_COLUMNS = SIMD_WIDTH == 8 ? 8 : 4
};

/* A block (m, n) = A + sum of GJ^T J over the terms; without A they are added to its values. There
 * is room for as many terms again behind them. */
struct block {
  struct sap_term *terms;
  int32_t n_terms;
  int32_t m, n;
  const double *A;
  struct panels panels;
  struct sap_place place;
};

/* Adds a tile of a block at row i, column j, N columns: those of n_terms terms that have both
 * chunks. */
INLINE void add_tile(const int single, const int N, const struct block *block,
                     const struct sap_term *terms, int32_t n_terms, int32_t i, int32_t j) {
  const int32_t row_chunk = i / sap_chunk(block->m), column_chunk = j / sap_chunk(block->n);
  const int64_t row_stride = sap_stride(block->m), column_stride = sap_stride(block->n);
  const int32_t ld = block->place.ld;
  void *values = block->panels.values;
  const size_t at = entry(block->place, i, j);
  int32_t left[TILE_VECTORS];
  simd sum[TILE_COLUMNS][TILE_VECTORS];
  UNROLL
  for (int v = 0; v < TILE_VECTORS; ++v) {
    const int32_t rows = block->m - i - v * SIMD_WIDTH;
    left[v] = rows > 0 ? sap_smaller(rows, SIMD_WIDTH) : 0;
    if (block->A) {
      const double *A = block->A + (int64_t)j * block->m + i + v * SIMD_WIDTH;
      UNROLL
      for (int l = 0; l < N; ++l) {
        sum[l][v] = simd_load_part(A + (int64_t)l * block->m, simd_first(left[v]));
      }
    } else {
      UNROLL
      for (int l = 0; l < N; ++l) {
        sum[l][v] = load_entries(single, values, at + (size_t)(l * ld + v * SIMD_WIDTH), left[v]);
      }
    }
  }
  for (const struct sap_term *term = terms; term < terms + n_terms; ++term) {
    if (!(term->rows >> row_chunk & term->columns >> column_chunk & 1)) {
      continue;
    }
    const double *GJ = term->GJ + i, *J = term->J + j;
    for (int64_t r = 0; r < term->n_rows; ++r, GJ += row_stride, J += column_stride) {
      UNROLL
      for (int v = 0; v < TILE_VECTORS; ++v) {
        const simd row = simd_load(GJ + v * SIMD_WIDTH);
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
      store_entries(single, values, at + (size_t)(l * ld + v * SIMD_WIDTH), sum[l][v], left[v]);
    }
  }
}

/* Copies the terms that have a chunk of rows behind all terms, and returns their number. */
static int32_t choose_terms(const struct block *block, int32_t row_chunk) {
  struct sap_term *chosen = block->terms + block->n_terms;
  int32_t n = 0;
  for (int32_t t = 0; t < block->n_terms; ++t) {
    if (block->terms[t].rows >> row_chunk & 1) {
      chosen[n++] = block->terms[t];
    }
  }
  return n;
}

INLINE void add_tiles(const int single, const struct block *block, int lower) {
  const int32_t n = block->n;
  uint64_t rows = 0, columns = 0;
  for (int32_t t = 0; t < block->n_terms; ++t) {
    rows |= block->terms[t].rows;
    columns |= block->terms[t].columns;
  }
  const int many = block->n_terms >= SAP_CHOSEN_TERMS;
  const struct sap_term *terms = block->terms + (many ? block->n_terms : 0);
  for (int32_t i = 0; i < block->m; i += TILE_ROWS) {
    const int32_t end = lower ? sap_smaller(i + TILE_ROWS, n) : n;
    const int32_t row_chunk = i / sap_chunk(block->m);
    const int32_t of_row = many ? choose_terms(block, row_chunk) : block->n_terms;
    for (int32_t j = 0; j < end; j += TILE_COLUMNS) {
      const int any = rows >> row_chunk & columns >> j / sap_chunk(n) & 1;
      if (!any && !block->A) {
        continue;
      }
      const int32_t n_terms = any ? of_row : 0;
      switch (n - j) {
        case 1: add_tile(single, 1, block, terms, n_terms, i, j); break;
        case 2: add_tile(single, 2, block, terms, n_terms, i, j); break;
        case 3: add_tile(single, 3, block, terms, n_terms, i, j); break;
#if SAP_SIMD_WIDTH == 8
        case 4: add_tile(single, 4, block, terms, n_terms, i, j); break;
        case 5: add_tile(single, 5, block, terms, n_terms, i, j); break;
        case 6: add_tile(single, 6, block, terms, n_terms, i, j); break;
        case 7: add_tile(single, 7, block, terms, n_terms, i, j); break;
#endif
        default: add_tile(single, TILE_COLUMNS, block, terms, n_terms, i, j); break;
      }
    }
  }
}

static __attribute__((noinline)) void add_to_doubles(const struct block *block, int lower) {
  add_tiles(0, block, lower);
}

static __attribute__((noinline)) void add_to_singles(const struct block *block, int lower) {
  add_tiles(1, block, lower);
}

/* Adds all tiles of a block; with `lower` the part above the diagonal is undefined. */
static void add_terms(const struct block *block, int lower) {
  if (block->panels.single) {
    add_to_singles(block, lower);
  } else {
    add_to_doubles(block, lower);
  }
}

/* Appends a triple or pair to the last run, or begins a new one; returns the number of runs. */
INLINE int32_t add_term(struct sap_term *terms, int32_t n_terms, struct sap_term term,
                        int32_t row_stride, int32_t column_stride) {
  struct sap_term *last = &terms[n_terms - 1];
  if (n_terms > 0 && last->rows == term.rows && last->columns == term.columns &&
      last->GJ + last->n_rows * row_stride == term.GJ &&
      last->J + last->n_rows * column_stride == term.J) {
    last->n_rows += term.n_rows;
    return n_terms;
  }
  terms[n_terms] = term;
  return n_terms + 1;
}

/* Sets GJ = G J for the three rows of triple i, where they are not zero. */
INLINE void multiply_triple(const struct sap_pool *pool, int32_t i, int32_t n, uint64_t chunks,
                            const double *J, double *GJ) {
  const int64_t stride = sap_stride(n);
  simd G[SAP_G_ENTRIES];
  load_G(pool, i, G);
  for (uint64_t left = chunks; left != 0; left &= left - 1) {
    const int32_t c = __builtin_ctzll(left);
    for (int32_t k = first_vector(n, c); k < last_vector(n, c); ++k) {
      simd row[3], product[3];
      for (int r = 0; r < 3; ++r) {
        row[r] = simd_load(J + r * stride + k * SIMD_WIDTH);
      }
      multiply_block(G, row, product);
      for (int r = 0; r < 3; ++r) {
        simd_store(GJ + r * stride + k * SIMD_WIDTH, product[r]);
      }
    }
  }
}

/* Does the same for the six rows of triples i and i + 1, whose chunks are the same. */
INLINE void multiply_pair(const struct sap_pool *pool, int32_t i, int32_t n, uint64_t chunks,
                          const double *J, double *GJ) {
  const int64_t stride = sap_stride(n);
  struct pair_G G;
  load_pair_G(pool, i, &G);
  for (uint64_t left = chunks; left != 0; left &= left - 1) {
    const int32_t c = __builtin_ctzll(left);
    for (int32_t k = first_vector(n, c); k < last_vector(n, c); ++k) {
      simd row[6], product[6];
      for (int r = 0; r < 6; ++r) {
        row[r] = simd_load(J + r * stride + k * SIMD_WIDTH);
      }
      multiply_pair_block(&G, row, product);
      for (int r = 0; r < 6; ++r) {
        simd_store(GJ + r * stride + k * SIMD_WIDTH, product[r]);
      }
    }
  }
}

/* Returns the number of triples of a patch that are taken together. */
INLINE int32_t step_of(const struct sap_patch *patch) { return patch->pairs ? 2 : 1; }

INLINE void multiply_step(const struct sap_patch *patch, const struct sap_pool *pool, int32_t i,
                          int32_t n, uint64_t chunks, const double *J, double *GJ) {
  if (patch->pairs) {
    multiply_pair(pool, i, n, chunks, J, GJ);
  } else {
    multiply_triple(pool, i, n, chunks, J, GJ);
  }
}

/* Assembles the block of a patch from G J of its higher side, which is computed unless `ready`;
 * returns the end of its part of GJ. */
INLINE double *assemble_edge(const struct sap_jacobian *J, const struct sap_patch *patch,
                             const struct sap_pool *pool, struct sap_term *terms, double *GJ,
                             const int ready, const struct sap_factor *factor,
                             struct panels panels) {
  const struct side low = side_of(J, patch, 0), high = side_of(J, patch, 1);
  const struct sap_place place = factor->edge[patch->edge];
  const int32_t step = step_of(patch), n_rows = 3 * step;
  int32_t n_terms = 0;
  for (int32_t i = patch->begin; i < patch->end; i += step) {
    const int32_t k = i - patch->begin;
    if (acts(pool, i)) {
      if (!ready) {
        multiply_step(patch, pool, i, high.n, high.chunks[k], high.J + 3 * (int64_t)k * high.stride,
                      GJ);
      }
      n_terms = add_term(terms, n_terms,
                         (struct sap_term){GJ, low.J + 3 * (int64_t)k * low.stride, high.chunks[k],
                                           low.chunks[k], n_rows},
                         high.stride, low.stride);
      GJ += n_rows * high.stride;
    }
  }
  const struct block block = {terms, n_terms, high.n, low.n, NULL, panels, place};
  add_terms(&block, 0);
  return GJ;
}

/* Assembles the diagonal block of a tree, and the blocks of its edges to lower ones. */
static void assemble_tree(const struct sap_jacobian *J, int32_t node, const double *A,
                          const struct sap_pool *pool, struct sap_scratch scratch,
                          const struct sap_factor *factor, struct panels panels) {
  const struct sap_graph *graph = J->graph;
  const struct sap_incidence *begin = &graph->incidence[graph->incidence_start[node]];
  const struct sap_incidence *end = &graph->incidence[graph->incidence_start[node + 1]];
  const int32_t n = sap_node_size(&graph->tree, node), stride = sap_stride(n);
  const double *row = J->values + graph->node_J[node];
  double *GJ = scratch.GJ;
  int32_t n_terms = 0;
  for (const struct sap_incidence *incidence = begin; incidence < end; ++incidence) {
    const struct sap_patch *patch = &graph->patch[incidence->patch];
    const uint64_t *chunks = chunks_of(J, node, incidence);
    const int32_t step = step_of(patch), n_rows = 3 * step, width = n_rows * stride;
    for (int32_t i = incidence->begin; i < incidence->end; i += step, row += width) {
      if (acts(pool, i)) {
        multiply_step(patch, pool, i, n, chunks[i], row, GJ);
        n_terms =
            add_term(scratch.terms, n_terms,
                     (struct sap_term){GJ, row, chunks[i], chunks[i], n_rows}, stride, stride);
        GJ += width;
      }
    }
  }
  const struct block block = {scratch.terms, n_terms, n, n, A, panels, factor->diagonal[node]};
  add_terms(&block, 1);

  GJ = scratch.GJ;
  for (const struct sap_incidence *incidence = begin; incidence < end; ++incidence) {
    const struct sap_patch *patch = &graph->patch[incidence->patch];
    if (patch->high == node) {
      GJ = assemble_edge(J, patch, pool, scratch.terms, GJ, 1, factor, panels);
      continue;
    }
    const int32_t step = step_of(patch);
    for (int32_t i = incidence->begin; i < incidence->end; i += step) {
      GJ += acts(pool, i) ? 3 * step * stride : 0;
    }
  }
}

/* Adds the terms of rows of one entry to the diagonal. */
INLINE void add_diagonal(const struct sap_jacobian *J, const struct sap_patch *patch,
                         const struct sap_pool *pool, const struct sap_factor *factor,
                         struct panels panels) {
  static const int diagonal[3] = {SAP_G_11, SAP_G_22, SAP_G_NN};
  const struct sap_place place = factor->diagonal[patch->low];
  const int32_t first = J->graph->tree.node_scalar[patch->low];
  for (int r = 0; r < 3; ++r) {
    const double *G = pool->G[diagonal[r]], *J_r = J->entry[r];
    for (int32_t i = patch->begin; i < patch->end; ++i) {
      const int32_t j = J->scalar[r][i] - first;
      const double added = J_r[i] * G[i] * J_r[i];
      if (panels.single) {
        ((float *)panels.values)[entry(place, j, j)] += (float)added;
      } else {
        ((double *)panels.values)[entry(place, j, j)] += added;
      }
    }
  }
}

void SAP_OF_ISA(sap_assemble_)(const struct sap_jacobian *J, const struct sap_island *island,
                               const double *const *A, const struct sap_pool *pool,
                               struct sap_scratch scratch, const struct sap_factor *factor) {
  const struct sap_graph *graph = J->graph;
  const struct sap_component *component = &graph->tree.component[island->index];
  void *values = sap_factor_panels(factor, island->index);
  const struct panels panels = {values, factor->precision[island->index] == SAP_SINGLE};
  const unsigned int state = sap_flush_begin(panels.single);
  int only_bodies = 1;
  for (int32_t k = component->supernode_begin; k < component->supernode_end; ++k) {
    const struct sap_supernode *s = &graph->tree.supernode[k];
    sap_factor_clear(factor, island->index, s);
    /* a tree writes the blocks of its edges to lower ones, whose panels have been cleared */
    for (int32_t node = s->node_begin; node < s->node_end; ++node) {
      if (!is_body(J, node)) {
        only_bodies = 0;
        assemble_tree(J, node, A[node], pool, scratch, factor, panels);
      } else if (panels.single) {
        assemble_body(1, J, node, A[node], pool, factor, values);
      } else {
        assemble_body(0, J, node, A[node], pool, factor, values);
      }
    }
  }
  /* edges from a body to a lower tree that is no body */
  for (int32_t p = island->patch_begin; !only_bodies && p < island->patch_end; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    if (patch->high >= 0 && is_body(J, patch->high) && !is_body(J, patch->low)) {
      assemble_edge(J, patch, pool, scratch.terms, scratch.GJ, 0, factor, panels);
    }
  }
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    if (graph->patch[p].is_diagonal) {
      add_diagonal(J, &graph->patch[p], pool, factor, panels);
    }
  }
  sap_flush_end(panels.single, state);
}
