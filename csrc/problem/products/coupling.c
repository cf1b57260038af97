/* This file adds the unsymmetric part J^T U J of Coulomb's law to the panels of a matrix whose
 * symmetric part is assembled (lu_factor.h).
 *
 * U of a contact has one column, for its normal row, so that its part is a product of two vectors:
 * a = J_t^T u of the tangential rows, and b, the normal row of J. The contacts of a patch share
 * their blocks, which are loaded and stored once for a group of them; chunks of zeros of J are
 * skipped. This file is compiled once per instruction set. */
#include "problem/products/panel_entries.h"

/* contacts of a group, and velocities of a free body, whose blocks are held in registers */
enum { GROUP = SAP_COUPLED_CONTACTS, BODY = 6 };

/* One side of a group: n vectors a, `stride` apart, and b of m entries each, which are zero outside
 * of the chunks. */
struct factors {
  int32_t n, m, stride;
  uint64_t chunks;
  double *a;
  const double *b[GROUP];
};

/* Adds the sum of x y^T over a group to rows [begin, end) of N columns of a block, column j first;
 * x = a and y = b, or the other way round if `transposed`. */
INLINE void add_columns(const int N, const int32_t begin, const int32_t end, const int transposed,
                        double *values, struct sap_place place, int32_t j,
                        const struct factors *rows, const struct factors *columns) {
  const struct factors *with_a = transposed ? columns : rows;
  for (int32_t i = begin; i < end; i += SIMD_WIDTH) {
    const int32_t left = sap_smaller(end - i, SIMD_WIDTH);
    simd sum[BODY];
    UNROLL
    for (int l = 0; l < N; ++l) {
      sum[l] = load_entries(0, values, entry(place, i, j + l), left);
    }
    for (int32_t k = 0; k < rows->n; ++k) {
      const double *a = with_a->a + k * with_a->stride;
      const double *x = transposed ? rows->b[k] : a, *y = transposed ? a : columns->b[k];
      const simd part = simd_load(x + i);
      UNROLL
      for (int l = 0; l < N; ++l) {
        sum[l] += part * simd_all(y[j + l]);
      }
    }
    UNROLL
    for (int l = 0; l < N; ++l) {
      store_entries(0, values, entry(place, i, j + l), sum[l], left);
    }
  }
}

INLINE void add_group(const int transposed, double *values, struct sap_place place,
                      const struct factors *rows, const struct factors *columns) {
  if (rows->m == BODY && columns->m == BODY) {
    add_columns(BODY, 0, BODY, transposed, values, place, 0, rows, columns);
    return;
  }
  const int32_t height = sap_chunk(rows->m), width = sap_chunk(columns->m);
  for (uint64_t across = columns->chunks; across != 0; across &= across - 1) {
    const int32_t first = __builtin_ctzll(across) * width;
    const int32_t last = sap_smaller(first + width, columns->m);
    for (uint64_t down = rows->chunks; down != 0; down &= down - 1) {
      const int32_t begin = __builtin_ctzll(down) * height;
      const int32_t end = sap_smaller(begin + height, rows->m);
      for (int32_t j = first; j < last; ++j) {
        add_columns(1, begin, end, transposed, values, place, j, rows, columns);
      }
    }
  }
}

/* Computes a = J_t^T u for the rows of one side of the contact at place i, which may be a pair. */
INLINE void combine(const struct sap_jacobian *J, const struct sap_patch *patch, int high,
                    int32_t i, double *const u[3], double *a) {
  const struct sap_packed_row first = sap_packed_row(J, patch, high, i, 0);
  const int32_t stride = sap_stride(first.n);
  for (int32_t k = 0; k < stride; k += SIMD_WIDTH) {
    simd sum = simd_all(u[0][i]) * simd_load(first.J + k) +
               simd_all(u[1][i]) * simd_load(first.J + stride + k);
    for (int r = 0; patch->pairs && r < 3; ++r) {
      sum += simd_all(u[r][i + 1]) * simd_load(first.J + (3 + r) * (int64_t)stride + k);
    }
    simd_store(a + k, sum);
  }
}

/* Adds the parts of a group to the blocks of the patch. */
static void add_blocks(const struct sap_patch *patch, int n_sides, const struct factors side[2],
                       const struct sap_lu *lu) {
  const struct sap_factor *factor = lu->factor;
  const int32_t node[2] = {patch->low, patch->high};
  for (int s = 0; s < n_sides; ++s) {
    const struct sap_place place = factor->diagonal[node[s]];
    add_group(0, factor->values, place, &side[s], &side[s]);
    if (side[s].m > SAP_LU_BLOCK) {
      /* the pieces above the diagonal ones belong to the upper panel */
      add_group(1, lu->upper, place, &side[s], &side[s]);
    }
  }
  if (n_sides == 2) {
    const struct sap_place place = factor->edge[patch->edge];
    add_group(0, factor->values, place, &side[1], &side[0]);
    add_group(1, lu->upper, place, &side[1], &side[0]);
  }
}

INLINE void add_patch(const struct sap_jacobian *J, const struct sap_patch *patch,
                      double *const u[3], const struct sap_lu *lu, double *scratch) {
  const int n_sides = patch->high < 0 ? 1 : 2, step = patch->pairs ? 2 : 1;
  const int32_t most = sap_smaller((patch->end - patch->begin) / step, GROUP);
  struct factors side[2];
  for (int s = 0; s < n_sides; ++s) {
    const int32_t m = sap_packed_row(J, patch, s, patch->begin, 0).n;
    side[s] = (struct factors){.m = m, .stride = sap_stride(m), .a = scratch};
    scratch += most * sap_stride(m);
  }
  for (int32_t i = patch->begin; i < patch->end; i += step) {
    double size = fabs(u[0][i]) + fabs(u[1][i]);
    for (int r = 0; patch->pairs && r < 3; ++r) {
      size += fabs(u[r][i + 1]);
    }
    for (int s = 0; s < n_sides && size != 0; ++s) {
      const struct sap_packed_row normal = sap_packed_row(J, patch, s, i, 2);
      side[s].b[side[s].n] = normal.J;
      side[s].chunks |= normal.chunks;
      combine(J, patch, s, i, u, side[s].a + side[s].n++ * side[s].stride);
    }
    if (side[0].n == most || (side[0].n > 0 && i + step >= patch->end)) {
      add_blocks(patch, n_sides, side, lu);
      side[0].n = side[n_sides - 1].n = 0;
      side[0].chunks = side[n_sides - 1].chunks = 0;
    }
  }
}

void SAP_OF_ISA(sap_add_coupling_)(const struct sap_jacobian *J, const struct sap_island *island,
                                   double *const u[3], double *scratch, const struct sap_lu *lu) {
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &J->graph->patch[p];
    if (!patch->is_diagonal && !sap_laws[patch->law]->takes_rows) {
      add_patch(J, patch, u, lu, scratch);
    }
  }
}
