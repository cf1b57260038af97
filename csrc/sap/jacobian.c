#include "sap/jacobian.h"

#include <string.h>

#include "linalg/simd.h"

/* compiled once per instruction set: SAP_ISA names the table */
#ifndef SAP_ISA
#define SAP_ISA baseline
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define INLINE static inline __attribute__((always_inline))

/* one side of a patch: the rows of J that belong to one tree */
struct side {
  const double *J;
  int32_t node, scalar, n, stride;
};

INLINE struct side side_of(const struct sap_jacobian *J, int32_t node, int64_t offset) {
  const int32_t *scalar = J->graph->tree.node_scalar;
  const int32_t n = scalar[node + 1] - scalar[node];
  return (struct side){J->values + offset, node, scalar[node], n, sap_stride(n)};
}

/* the sides of a patch, the second one a copy of the first where there is none; returns how many there are */
INLINE int sides_of(const struct sap_jacobian *J, const struct sap_patch *patch,
                    struct side sides[2]) {
  sides[0] = sides[1] = side_of(J, patch->low, patch->J_low);
  if (patch->high < 0) {
    return 1;
  }
  sides[1] = side_of(J, patch->high, patch->J_high);
  return 2;
}

/* vectors that n doubles take */
INLINE int32_t vectors_of(int32_t n) { return (n + SIMD_WIDTH - 1) / SIMD_WIDTH; }

/* the part of vector k that lies within n doubles */
INLINE simd_mask part_of(int32_t n, int32_t k) {
  const int32_t left = n - k * SIMD_WIDTH;
  return simd_first(left < SIMD_WIDTH ? left : SIMD_WIDTH);
}

/* ---- packing ---- */

/* three rows of n, one after the other -> rows of a stride, padded by zeros; adds NaN to *bad where a value is
 * not finite */
INLINE const double *pack_rows(int32_t n, const double *from, double *to, simd *bad) {
  const int32_t stride = sap_stride(n);
  for (int r = 0; r < 3; ++r, from += n, to += stride) {
    for (int32_t k = 0; k < vectors_of(n); ++k) {
      const simd x = simd_load_part(from + k * SIMD_WIDTH, part_of(n, k));
      simd_store_part(to + k * SIMD_WIDTH, x, part_of(stride, k));
      *bad += simd_zero() * x;
    }
  }
  return from;
}

/* the same for a reduced tree: the columns that stay, which are finite */
INLINE const double *pack_columns(const struct sap_reduced_tree *tree, const double *from,
                                  double *to) {
  const int32_t stride = sap_stride(tree->n_t);
  for (int r = 0; r < 3; ++r, from += tree->n, to += stride) {
    for (int32_t j = 0; j < tree->n_t; ++j) {
      to[j] = from[tree->t[j]];
    }
    for (int32_t j = tree->n_t; j < stride; ++j) {
      to[j] = 0;
    }
  }
  return from;
}

INLINE int pack_any(const struct sap_jacobian *J, const struct sap_island *island,
                    const double *from, const int any_reduced) {
  const struct sap_graph *graph = J->graph;
  simd bad = simd_zero();
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    struct side sides[2];
    const int n_sides = sides_of(J, patch, sides);
    double *to[2] = {J->values + patch->J_low, J->values + patch->J_high};
    for (int32_t i = patch->begin; i < patch->end; ++i) {
      /* tree_a comes first */
      const int first = graph->tree_position[graph->tree_a[graph->contact[i]]] != patch->low;
      const double *rows = from + graph->contact_J[i];
      for (int k = 0; k < n_sides; ++k) {
        const int s = k == 0 ? first : !first;
        const struct sap_reduced_tree *reduced = any_reduced ? J->reduced[sides[s].node] : NULL;
        rows =
            reduced ? pack_columns(reduced, rows, to[s]) : pack_rows(sides[s].n, rows, to[s], &bad);
        to[s] += 3 * (int64_t)sides[s].stride;
      }
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

/* ---- J x, and |J| |x| with it where `bounds` ---- */

struct row_sums {
  simd product[3], bound[3];
};

INLINE struct row_sums no_sums(void) {
  return (struct row_sums){{simd_zero(), simd_zero(), simd_zero()},
                           {simd_zero(), simd_zero(), simd_zero()}};
}

/* adds one vector of the three rows at J */
INLINE void add_rows(const double *J, int32_t stride, simd_mask part, simd x, const int bounds,
                     struct row_sums *sums) {
  for (int r = 0; r < 3; ++r) {
    const simd product = simd_load_part(J + (int64_t)r * stride, part) * x;
    sums->product[r] += product;
    if (bounds) {
      sums->bound[r] += simd_abs(product);
    }
  }
}

INLINE void store_sums(const struct row_sums *sums, int32_t i, double *const x_c[3],
                       double *const bound[3]) {
  for (int r = 0; r < 3; ++r) {
    x_c[r][i] = simd_sum(sums->product[r]);
    if (bound) {
      bound[r][i] = simd_sum(sums->bound[r]);
    }
  }
}

/* a patch whose rows take V vectors on each of n_sides: x stays in registers */
INLINE void multiply_short(const int V, const int n_sides, const struct side sides[2],
                           const struct sap_patch *patch, const double *x, double *const x_c[3],
                           double *const bound[3]) {
  simd x_side[2][2];
  for (int s = 0; s < n_sides; ++s) {
    for (int k = 0; k < V; ++k) {
      x_side[s][k] =
          simd_load_part(x + sides[s].scalar + k * SIMD_WIDTH, part_of(sides[s].n, k));
    }
  }
  for (int32_t i = patch->begin; i < patch->end; ++i) {
    struct row_sums sums = no_sums();
    for (int s = 0; s < n_sides; ++s) {
      const double *J = sides[s].J + 3 * (int64_t)(i - patch->begin) * sides[s].stride;
      for (int k = 0; k < V; ++k) {
        add_rows(J + k * SIMD_WIDTH, sides[s].stride, part_of(sides[s].n, k), x_side[s][k],
                 bound != NULL, &sums);
      }
    }
    store_sums(&sums, i, x_c, bound);
  }
}

INLINE void multiply_long(int n_sides, const struct side sides[2], const struct sap_patch *patch,
                          const double *x, double *const x_c[3], double *const bound[3]) {
  for (int32_t i = patch->begin; i < patch->end; ++i) {
    struct row_sums sums = no_sums();
    for (int s = 0; s < n_sides; ++s) {
      const double *J = sides[s].J + 3 * (int64_t)(i - patch->begin) * sides[s].stride;
      for (int32_t k = 0; k < vectors_of(sides[s].n); ++k) {
        const simd_mask part = part_of(sides[s].n, k);
        add_rows(J + k * SIMD_WIDTH, sides[s].stride, part,
                 simd_load_part(x + sides[s].scalar + k * SIMD_WIDTH, part), bound != NULL, &sums);
      }
    }
    store_sums(&sums, i, x_c, bound);
  }
}

INLINE void multiply_any(const struct sap_jacobian *J, const struct sap_island *island,
                         const double *x, double *const x_c[3], double *const bound[3]) {
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &J->graph->patch[p];
    struct side sides[2];
    const int n_sides = sides_of(J, patch, sides);
    const int32_t V = vectors_of(sides[0].n);
    if (V > 2 || vectors_of(sides[1].n) != V) {
      multiply_long(n_sides, sides, patch, x, x_c, bound);
    } else if (n_sides == 2) {
      V == 1 ? multiply_short(1, 2, sides, patch, x, x_c, bound)
             : multiply_short(2, 2, sides, patch, x, x_c, bound);
    } else {
      V == 1 ? multiply_short(1, 1, sides, patch, x, x_c, bound)
             : multiply_short(2, 1, sides, patch, x, x_c, bound);
    }
  }
}

static void multiply(const struct sap_jacobian *J, const struct sap_island *island, const double *x,
                     double *const x_c[3]) {
  multiply_any(J, island, x, x_c, NULL);
}

static void multiply_bounded(const struct sap_jacobian *J, const struct sap_island *island,
                             const double *x, double *const x_c[3], double *const bound[3]) {
  multiply_any(J, island, x, x_c, bound);
}

/* ---- J^T x_c, and |J|^T bound with it ---- */

/* one vector of the scalars of a node */
INLINE simd add_transposed(const struct sap_graph *graph, int32_t node, const double *row,
                           int32_t stride, simd_mask part, double *const x_c[3],
                           const int absolute) {
  simd sum[3] = {simd_zero(), simd_zero(), simd_zero()};
  for (int32_t k = graph->incidence_start[node]; k < graph->incidence_start[node + 1]; ++k) {
    for (int32_t i = graph->incidence[k].begin; i < graph->incidence[k].end; ++i) {
      for (int r = 0; r < 3; ++r, row += stride) {
        const simd J = simd_load_part(row, part);
        sum[r] += (absolute ? simd_abs(J) : J) * simd_all(x_c[r][i]);
      }
    }
  }
  return sum[0] + (sum[1] + sum[2]);
}

INLINE void transpose_any(const struct sap_jacobian *J, const struct sap_island *island,
                          double *const x_c[3], double *y, const int absolute) {
  const struct sap_graph *graph = J->graph;
  for (int32_t node = island->node_begin; node < island->node_end; ++node) {
    const int32_t n = sap_node_size(&graph->tree, node);
    for (int32_t k = 0; k < vectors_of(n); ++k) {
      const simd_mask part = part_of(n, k);
      const double *rows = J->values + graph->node_J[node] + k * SIMD_WIDTH;
      const simd sum = add_transposed(graph, node, rows, sap_stride(n), part, x_c, absolute);
      simd_store_part(y + graph->tree.node_scalar[node] + k * SIMD_WIDTH, sum, part);
    }
  }
}

static void multiply_transposed(const struct sap_jacobian *J, const struct sap_island *island,
                                double *const x_c[3], double *y) {
  transpose_any(J, island, x_c, y, 0);
}

static void multiply_transposed_absolute(const struct sap_jacobian *J,
                                         const struct sap_island *island, double *const x_c[3],
                                         double *y) {
  transpose_any(J, island, x_c, y, 1);
}

/* ---- A + J^T G J ---- */

INLINE int acts(const struct sap_contact_pool *contacts, int32_t i) {
  return contacts->G[SAP_G_NN][i] > 0;
}

/* G J for one vector of the rows of contact i */
INLINE void multiply_block(const struct sap_contact_pool *contacts, int32_t i, const simd J[3],
                           simd GJ[3]) {
  double *const *G = contacts->G;
  const simd G_11 = simd_all(G[SAP_G_11][i]), G_12 = simd_all(G[SAP_G_12][i]);
  const simd G_22 = simd_all(G[SAP_G_22][i]), G_1n = simd_all(G[SAP_G_1N][i]);
  const simd G_2n = simd_all(G[SAP_G_2N][i]), G_nn = simd_all(G[SAP_G_NN][i]);
  GJ[0] = G_11 * J[0] + G_12 * J[1] + G_1n * J[2];
  GJ[1] = G_12 * J[0] + G_22 * J[1] + G_2n * J[2];
  GJ[2] = G_1n * J[0] + G_2n * J[1] + G_nn * J[2];
}

/* free bodies: their 6 x 6 blocks stay in registers */
enum { BODY = 6, BODY_STRIDE = 8, BODY_VECTORS = (BODY + SIMD_WIDTH - 1) / SIMD_WIDTH };

/* sum += (G J_row)^T J_column for the acting contacts [begin, end) */
INLINE void add_body_rows(const struct sap_contact_pool *contacts, int32_t begin, int32_t end,
                          const double *J_row, const double *J_column,
                          simd sum[BODY][BODY_VECTORS]) {
  for (int32_t i = begin; i < end; ++i, J_row += 3 * BODY_STRIDE, J_column += 3 * BODY_STRIDE) {
    if (!acts(contacts, i)) {
      continue;
    }
    for (int k = 0; k < BODY_VECTORS; ++k) {
      simd J[3], GJ[3];
      for (int r = 0; r < 3; ++r) {
        J[r] = simd_load(J_row + r * BODY_STRIDE + k * SIMD_WIDTH);
      }
      multiply_block(contacts, i, J, GJ);
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
                          const struct sap_contact_pool *contacts, struct sap_factor *factor) {
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
    add_body_rows(contacts, begin, end, rows, rows, sum);
    rows += (int64_t)(end - begin) * (3 * BODY_STRIDE);
  }
  store_body_block(sum, factor->diagonal[node], factor->values);
}

INLINE void assemble_body_edge(const struct sap_jacobian *J, const struct sap_patch *patch,
                               const struct sap_contact_pool *contacts, struct sap_factor *factor) {
  simd sum[BODY][BODY_VECTORS];
  for (int j = 0; j < BODY; ++j) {
    for (int k = 0; k < BODY_VECTORS; ++k) {
      sum[j][k] = simd_zero();
    }
  }
  add_body_rows(contacts, patch->begin, patch->end, J->values + patch->J_high,
                J->values + patch->J_low, sum);
  store_body_block(sum, factor->edge[patch->edge], factor->values);
}

/* trees of any size: GJ = G J for the acting contacts of [begin, end), one after the other; returns their
 * number of rows */
INLINE int32_t multiply_rows(const struct sap_contact_pool *contacts, int32_t begin, int32_t end,
                             int32_t n, const double *J, double *GJ) {
  const int32_t stride = sap_stride(n);
  int32_t rows = 0;
  for (int32_t i = begin; i < end; ++i, J += 3 * (int64_t)stride) {
    if (!acts(contacts, i)) {
      continue;
    }
    double *to = GJ + rows * (int64_t)stride;
    rows += 3;
    for (int32_t k = 0; k < vectors_of(n); ++k) {
      const simd_mask part = part_of(n, k);
      simd row[3], product[3];
      for (int r = 0; r < 3; ++r) {
        row[r] = simd_load_part(J + r * (int64_t)stride + k * SIMD_WIDTH, part);
      }
      multiply_block(contacts, i, row, product);
      for (int r = 0; r < 3; ++r) {
        simd_store_part(to + r * (int64_t)stride + k * SIMD_WIDTH, product[r], part);
      }
    }
  }
  return rows;
}

/* J of the acting contacts of [begin, end), one after the other */
INLINE void copy_rows(const struct sap_contact_pool *contacts, int32_t begin, int32_t end,
                      int32_t n, const double *J, double *to) {
  const int32_t width = 3 * sap_stride(n);
  for (int32_t i = begin; i < end; ++i, J += width) {
    if (acts(contacts, i)) {
      memcpy(to, J, (size_t)width * sizeof *to);
      to += width;
    }
  }
}

static void assemble_tree(const struct sap_jacobian *J, int32_t node, const double *A,
                          const struct sap_contact_pool *contacts, double *scratch,
                          struct sap_factor *factor) {
  const struct sap_graph *graph = J->graph;
  const int32_t n = sap_node_size(&graph->tree, node), stride = sap_stride(n);
  const struct sap_place place = factor->diagonal[node];
  for (int32_t j = 0; j < n; ++j) {
    memcpy(factor->values + place.offset + (size_t)j * (size_t)place.ld, A + (int64_t)j * n,
           (size_t)n * sizeof(double));
  }
  const double *J_patch = J->values + graph->node_J[node];
  double *GJ = scratch, *J_acting = scratch + graph->max_node_width;
  int32_t rows = 0;
  for (int32_t k = graph->incidence_start[node]; k < graph->incidence_start[node + 1]; ++k) {
    const int32_t begin = graph->incidence[k].begin, end = graph->incidence[k].end;
    copy_rows(contacts, begin, end, n, J_patch, J_acting + rows * (int64_t)stride);
    rows += multiply_rows(contacts, begin, end, n, J_patch, GJ + rows * (int64_t)stride);
    J_patch += 3 * (int64_t)(end - begin) * stride;
  }
  factor->kernels->multiply(n, n, rows, 1, GJ, stride, J_acting, stride,
                            factor->values + place.offset, place.ld, 1);
}

static void assemble_edge(const struct sap_jacobian *J, const struct sap_patch *patch,
                          const struct sap_contact_pool *contacts, double *scratch,
                          struct sap_factor *factor) {
  const struct sap_graph *graph = J->graph;
  const int32_t n_low = sap_node_size(&graph->tree, patch->low);
  const int32_t n_high = sap_node_size(&graph->tree, patch->high);
  const struct sap_place place = factor->edge[patch->edge];
  double *GJ = scratch, *J_acting = scratch + graph->max_node_width;
  copy_rows(contacts, patch->begin, patch->end, n_low, J->values + patch->J_low, J_acting);
  const int32_t rows = multiply_rows(contacts, patch->begin, patch->end, n_high,
                                     J->values + patch->J_high, GJ);
  factor->kernels->multiply(n_high, n_low, rows, 1, GJ, sap_stride(n_high), J_acting,
                            sap_stride(n_low), factor->values + place.offset, place.ld, 0);
}

static void assemble(const struct sap_jacobian *J, const struct sap_island *island,
                     const double *const *A, const struct sap_contact_pool *contacts,
                     double *scratch, struct sap_factor *factor) {
  const struct sap_graph *graph = J->graph;
  for (int32_t node = island->node_begin; node < island->node_end; ++node) {
    if (sap_node_size(&graph->tree, node) == BODY) {
      assemble_body(J, node, A[node], contacts, factor);
    } else {
      assemble_tree(J, node, A[node], contacts, scratch, factor);
    }
  }
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    if (patch->high < 0) {
      continue;
    }
    if (sap_node_size(&graph->tree, patch->low) == BODY &&
        sap_node_size(&graph->tree, patch->high) == BODY) {
      assemble_body_edge(J, patch, contacts, factor);
    } else {
      assemble_edge(J, patch, contacts, scratch, factor);
    }
  }
}

const struct sap_jacobian_loops JOIN(sap_jacobian_loops_, SAP_ISA);
const struct sap_jacobian_loops JOIN(sap_jacobian_loops_, SAP_ISA) = {
    pack,
    pack_reduced,
    multiply,
    multiply_bounded,
    multiply_transposed,
    multiply_transposed_absolute,
    assemble,
};
