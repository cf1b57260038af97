#include <math.h>
#include <stddef.h>

#include "problem/products/packed_rows.h"

/* ---- packing ---- */

/* Rows of one side of a triple in the problem. */
struct rows {
  const double *J;
  int64_t step; /* doubles, from one row to the next */
  int32_t n;    /* number of rows, at most 3 */
};

/* Packs rows of n into rows of a stride, padded by zeros; adds NaN to *bad if a value is not
 * finite. Returns the nonzero chunks. */
INLINE uint64_t pack_rows(int32_t n, const int n_rows, struct rows from, double *to, simd *bad) {
  const int32_t stride = sap_stride(n), chunk = sap_chunk(n);
  uint64_t chunks = 0;
  for (int32_t k = 0; k < vectors_of(n); ++k) {
    simd size = simd_zero();
    for (int r = 0; r < 3; ++r) {
      const int64_t at = k * SIMD_WIDTH;
      const simd x =
          r < n_rows ? simd_load_part(from.J + r * from.step + at, part_of(n, k)) : simd_zero();
      simd_store(to + r * (int64_t)stride + at, x);
      size += simd_abs(x);
      *bad += simd_zero() * x;
    }
    /* a row of one chunk is never skipped */
    chunks |= (uint64_t)(n <= chunk || simd_sum(size) != 0) << (k * SIMD_WIDTH / chunk);
  }
  return chunks;
}

/* Packs short rows, which are one chunk and never skipped; peak becomes the largest |J_1| + |J_2|
 * and |J_n|, column by column. */
INLINE void pack_short(int32_t n, const int n_rows, struct rows from, double *to,
                       simd peak[2][SHORT_VECTORS], simd *bad) {
  const int32_t stride = sap_stride(n);
  for (int k = 0; k < SHORT_VECTORS; ++k) {
    const simd_mask part = part_of(n, k);
    simd x[3];
    for (int r = 0; r < 3; ++r) {
      const int64_t at = k * SIMD_WIDTH;
      x[r] = r < n_rows ? simd_load_part(from.J + r * from.step + at, part) : simd_zero();
      simd_store(to + r * (int64_t)stride + at, x[r]);
      *bad += simd_zero() * x[r];
    }
    const simd tangential = simd_abs(x[0]) + simd_abs(x[1]), normal = simd_abs(x[2]);
    peak[0][k] = simd_max(peak[0][k], tangential);
    peak[1][k] = simd_max(peak[1][k], normal);
  }
}

/* Packs the remaining columns of a reduced tree, which are finite. */
INLINE uint64_t pack_columns(const struct sap_reduced_tree *tree, struct rows from, double *to) {
  const int32_t n_t = tree->n_t, stride = sap_stride(n_t), chunk = sap_chunk(n_t);
  uint64_t chunks = n_t <= chunk;
  int32_t j = 0;
  for (int32_t c = 0; j < n_t; ++c) {
    double size = 0;
    for (const int32_t end = n_t - j < chunk ? n_t : j + chunk; j < end; ++j) {
      const double *column = from.J + tree->t[j];
      const double x_1 = column[0], x_2 = from.n > 1 ? column[from.step] : 0;
      const double x_n = from.n > 2 ? column[2 * from.step] : 0;
      to[j] = x_1;
      to[stride + j] = x_2;
      to[2 * (int64_t)stride + j] = x_n;
      size += fabs(x_1) + fabs(x_2) + fabs(x_n);
    }
    chunks |= (uint64_t)(size != 0) << c;
  }
  for (; j < stride; ++j) {
    to[j] = to[stride + j] = to[2 * (int64_t)stride + j] = 0;
  }
  return chunks;
}

/* Source of the rows of the triples of a patch: `from`, a list, or both in turn. */
enum source { CONTACTS, LISTED, PAIRED };

INLINE int is_listed(const enum source source, const struct sap_patch *patch, int32_t place) {
  return source == PAIRED ? (place - patch->begin) % 2 : source == LISTED;
}

/* Returns the rows of the side of a triple that has n velocities, stored after those of its tree_a,
 * which has `skip` velocities; skip is 0 for tree_a itself. */
INLINE struct rows rows_at(const struct sap_jacobian *J, int32_t place, const int listed,
                           const double *from, int64_t n, int64_t skip) {
  const struct sap_graph *graph = J->graph;
  if (!listed) {
    return (struct rows){from + graph->contact_J[place] + 3 * skip, n, 3};
  }
  const struct sap_triple_rows *triple =
      &J->triples->rows[graph->triple[place] - J->triples->n_contacts];
  return skip > 0 ? (struct rows){triple->J + triple->b, triple->b_step, triple->n}
                  : (struct rows){triple->J, triple->a_step, triple->n};
}

/* Packs the rows of one side of a patch, whose node has n velocities; the other side has other_n, 0
 * if there is none. */
INLINE void pack_side(const struct sap_jacobian *J, const struct sap_patch *patch, const int high,
                      const struct sap_reduced_tree *reduced, int32_t n, int32_t other_n,
                      const double *from, const enum source source, simd *bad) {
  const struct sap_graph *graph = J->graph;
  const int32_t tree = graph->node_tree[high ? patch->high : patch->low];
  const int64_t width = 3 * (int64_t)sap_stride(reduced ? reduced->n_t : n);
  double *to = J->values + (high ? patch->J_high : patch->J_low);
  simd peak[2][SHORT_VECTORS];
  for (int k = 0; k < SHORT_VECTORS; ++k) {
    peak[0][k] = peak[1][k] = simd_zero();
  }
  for (int32_t i = patch->begin; i < patch->end; ++i, to += width) {
    const int32_t skip = graph->tree_a[graph->triple[i]] == tree ? 0 : other_n;
    const struct rows rows = rows_at(J, i, is_listed(source, patch, i), from, n, skip);
    const int n_rows = source == LISTED ? rows.n : 3;
    J->chunks[high][i] = 1;
    if (reduced) {
      J->chunks[high][i] = pack_columns(reduced, rows, to);
    } else if (n <= SAP_SHORT) {
      pack_short(n, n_rows, rows, to, peak, bad);
    } else {
      J->chunks[high][i] = pack_rows(n, n_rows, rows, to, bad);
    }
  }
  for (int32_t i = patch->begin; source == PAIRED && i < patch->end; i += 2) {
    J->chunks[high][i] = J->chunks[high][i + 1] |= J->chunks[high][i];
  }
  double *to_peak = peak_of(J, patch, high);
  for (int k = 0; k < SHORT_VECTORS; ++k) {
    simd_store(to_peak + k * SIMD_WIDTH, peak[0][k]);
    simd_store(to_peak + SAP_SHORT + k * SIMD_WIDTH, peak[1][k]);
  }
}

INLINE void pack_patch(const struct sap_jacobian *J, const struct sap_patch *patch,
                       const double *from, const int any_reduced, const enum source source,
                       simd *bad) {
  const int32_t node[2] = {patch->low, patch->high};
  const struct sap_reduced_tree *reduced[2] = {NULL, NULL};
  int32_t n[2] = {0, 0};
  const int n_sides = patch->high < 0 ? 1 : 2;
  for (int s = 0; s < n_sides; ++s) {
    reduced[s] = any_reduced ? J->reduced[node[s]] : NULL;
    n[s] = reduced[s] ? reduced[s]->n : sap_node_size(&J->graph->tree, node[s]);
  }
  pack_side(J, patch, 0, reduced[0], n[0], n[1], from, source, bad);
  if (n_sides == 2) {
    pack_side(J, patch, 1, reduced[1], n[1], n[0], from, source, bad);
  }
}

/* Returns the scalar of a velocity of a node: 0 for an eliminated one, which no row moves. */
INLINE int32_t find_scalar(const struct sap_reduced_tree *reduced, int32_t dof) {
  int32_t j = reduced ? 0 : dof;
  while (reduced && j < reduced->n_t && reduced->t[j] != dof) {
    ++j;
  }
  return reduced && j == reduced->n_t ? 0 : j;
}

/* Packs the only entries of the rows of a patch. */
INLINE void pack_diagonal(const struct sap_jacobian *J, const struct sap_patch *patch,
                          const int any_reduced, simd *bad) {
  const struct sap_graph *graph = J->graph;
  const struct sap_reduced_tree *reduced = any_reduced ? J->reduced[patch->low] : NULL;
  const int32_t first = graph->tree.node_scalar[patch->low];
  double zeros = 0;
  for (int32_t i = patch->begin; i < patch->end; ++i) {
    const struct sap_triple_rows *rows =
        &J->triples->rows[graph->triple[i] - J->triples->n_contacts];
    for (int r = 0; r < 3; ++r) {
      const int given = r < rows->n;
      J->scalar[r][i] = first + (given ? find_scalar(reduced, rows->dof[r]) : 0);
      J->entry[r][i] = given ? rows->J[r] : 0;
      zeros += 0 * J->entry[r][i];
    }
  }
  *bad += simd_all(zeros);
}

INLINE int pack_any(const struct sap_jacobian *J, const struct sap_island *island,
                    const double *from, const int any_reduced) {
  simd bad = simd_zero();
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &J->graph->patch[p];
    if (patch->is_diagonal) {
      pack_diagonal(J, patch, any_reduced, &bad);
    } else if (patch->pairs) {
      pack_patch(J, patch, from, any_reduced, PAIRED, &bad);
    } else if (sap_laws[patch->law]->takes_rows) {
      pack_patch(J, patch, from, any_reduced, LISTED, &bad);
    } else {
      pack_patch(J, patch, from, any_reduced, CONTACTS, &bad);
    }
  }
  return simd_sum(bad) == 0;
}

static int pack(const struct sap_jacobian *J, const struct sap_island *island, const double *from) {
  return pack_any(J, island, from, 0);
}

static int pack_reduced(const struct sap_jacobian *J, const struct sap_island *island,
                        const double *from) {
  return pack_any(J, island, from, 1);
}

/* ---- J x ---- */

/* Adds one vector of the three rows at J, times x. */
INLINE void add_rows(const double *J, int32_t stride, simd x, simd sum[3]) {
  for (int r = 0; r < 3; ++r) {
    sum[r] += simd_load(J + (int64_t)r * stride) * x;
  }
}

INLINE void store_sums(const simd sum[3], int32_t i, double *const x_c[3]) {
  simd_sum_three(sum, x_c[0] + i, x_c[1] + i, x_c[2] + i);
}

/* Multiplies a patch whose rows have V vectors on each of n_sides: x stays in registers. */
INLINE void multiply_short(const int V, const int n_sides, const struct side low,
                           const struct side high, const struct sap_patch *patch, const double *x,
                           double *const x_c[3]) {
  simd x_low[2], x_high[2];
  for (int k = 0; k < V; ++k) {
    x_low[k] = simd_load_part(x + low.scalar + k * SIMD_WIDTH, part_of(low.n, k));
    if (n_sides == 2) {
      x_high[k] = simd_load_part(x + high.scalar + k * SIMD_WIDTH, part_of(high.n, k));
    }
  }
  const int32_t stride = sap_stride(V * SIMD_WIDTH);
  const double *J_low = low.J, *J_high = high.J;
  for (int32_t i = patch->begin; i < patch->end; ++i) {
    simd sum[3] = {simd_zero(), simd_zero(), simd_zero()};
    for (int k = 0; k < V; ++k) {
      add_rows(J_low + k * SIMD_WIDTH, stride, x_low[k], sum);
      if (n_sides == 2) {
        add_rows(J_high + k * SIMD_WIDTH, stride, x_high[k], sum);
      }
    }
    J_low += 3 * stride;
    J_high += 3 * stride;
    store_sums(sum, i, x_c);
  }
}

INLINE void multiply_long(int n_sides, const struct side sides[2], const struct sap_patch *patch,
                          const double *x, double *const x_c[3]) {
  for (int32_t i = patch->begin; i < patch->end; ++i) {
    simd sum[3] = {simd_zero(), simd_zero(), simd_zero()};
    for (int s = 0; s < n_sides; ++s) {
      const struct side *side = &sides[s];
      const double *J = side->J + 3 * (int64_t)(i - patch->begin) * side->stride;
      for (uint64_t left = side->chunks[i - patch->begin]; left != 0; left &= left - 1) {
        const int32_t c = __builtin_ctzll(left);
        for (int32_t k = first_vector(side->n, c); k < last_vector(side->n, c); ++k) {
          add_rows(J + k * SIMD_WIDTH, side->stride,
                   simd_load_part(x + side->scalar + k * SIMD_WIDTH, part_of(side->n, k)), sum);
        }
      }
    }
    store_sums(sum, i, x_c);
  }
}

INLINE void multiply_diagonal(const struct sap_jacobian *J, const struct sap_patch *patch,
                              const double *x, double *const x_c[3]) {
  for (int r = 0; r < 3; ++r) {
    const int32_t *scalar = J->scalar[r];
    const double *entry = J->entry[r];
    for (int32_t i = patch->begin; i < patch->end; ++i) {
      x_c[r][i] = entry[i] * x[scalar[i]];
    }
  }
}

static void multiply(const struct sap_jacobian *J, const struct sap_island *island, const double *x,
                     double *const x_c[3]) {
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &J->graph->patch[p];
    if (patch->is_diagonal) {
      multiply_diagonal(J, patch, x, x_c);
      continue;
    }
    const int n_sides = patch->high < 0 ? 1 : 2;
    const struct side low = side_of(J, patch, 0), high = side_of(J, patch, n_sides - 1);
    const int32_t V = vectors_of(low.n);
    if (V > 2 || vectors_of(high.n) != V) {
      multiply_long(n_sides, (const struct side[]){low, high}, patch, x, x_c);
    } else if (n_sides == 2) {
      V == 1 ? multiply_short(1, 2, low, high, patch, x, x_c)
             : multiply_short(2, 2, low, high, patch, x, x_c);
    } else {
      V == 1 ? multiply_short(1, 1, low, high, patch, x, x_c)
             : multiply_short(2, 1, low, high, patch, x, x_c);
    }
  }
}

/* ---- J^T x_c ---- */

/* Returns one vector of the scalars of a node that has n, of chunk c, which may be the only one. */
INLINE simd add_transposed(const int only, const struct sap_jacobian *J, int32_t node,
                           const double *row, int32_t n, int32_t c, double *const x_c[3]) {
  const struct sap_graph *graph = J->graph;
  const int64_t stride = only ? SAP_SHORT : sap_stride(n);
  simd sum[3] = {simd_zero(), simd_zero(), simd_zero()};
  for (int32_t k = graph->incidence_start[node]; k < graph->incidence_start[node + 1]; ++k) {
    const struct sap_incidence *incidence = &graph->incidence[k];
    const uint64_t *chunks = chunks_of(J, node, incidence);
    for (int32_t i = incidence->begin; i < incidence->end; ++i, row += 3 * stride) {
      if (!only && !(chunks[i] >> c & 1)) {
        continue;
      }
      for (int r = 0; r < 3; ++r) {
        sum[r] += simd_load(row + r * stride) * simd_all(x_c[r][i]);
      }
    }
  }
  return sum[0] + (sum[1] + sum[2]);
}

INLINE void add_transposed_diagonal(const struct sap_jacobian *J, const struct sap_patch *patch,
                                    double *const x_c[3], double *y) {
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = patch->begin; i < patch->end; ++i) {
      y[J->scalar[r][i]] += J->entry[r][i] * x_c[r][i];
    }
  }
}

static void multiply_transposed(const struct sap_jacobian *J, const struct sap_island *island,
                                double *const x_c[3], double *y) {
  const struct sap_graph *graph = J->graph;
  for (int32_t node = island->node_begin; node < island->node_end; ++node) {
    const int32_t n = sap_node_size(&graph->tree, node);
    for (int32_t k = 0; k < vectors_of(n); ++k) {
      const double *rows = J->values + graph->node_J[node] + k * SIMD_WIDTH;
      const simd sum =
          n <= SAP_SHORT ? add_transposed(1, J, node, rows, n, 0, x_c)
                         : add_transposed(0, J, node, rows, n, k * SIMD_WIDTH / sap_chunk(n), x_c);
      simd_store_part(y + graph->tree.node_scalar[node] + k * SIMD_WIDTH, sum, part_of(n, k));
    }
  }
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    if (graph->patch[p].is_diagonal) {
      add_transposed_diagonal(J, &graph->patch[p], x_c, y);
    }
  }
}

const struct sap_jacobian_loops SAP_OF_ISA(sap_jacobian_loops_);
const struct sap_jacobian_loops SAP_OF_ISA(sap_jacobian_loops_) = {
    pack,
    pack_reduced,
    multiply,
    multiply_transposed,
    SAP_OF_ISA(sap_bound_impulse_),
    SAP_OF_ISA(sap_assemble_),
    SAP_OF_ISA(sap_add_coupling_),
};
