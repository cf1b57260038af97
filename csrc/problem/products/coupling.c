/* This file adds the unsymmetric part J^T U J of Coulomb's law to the panels of a matrix whose
 * symmetric part is assembled (lu_factor.h).
 *
 * U of a contact has one column, for its normal row, so that its part is a product of two vectors:
 * a = J_t^T u of the tangential rows, and b, the normal row of J. This file is compiled once per
 * instruction set. */
#include "problem/products/packed_rows.h"

/* Adds a b^T to a block (m, n). */
INLINE void add_product(double *values, struct sap_place place, int32_t m, int32_t n,
                        const double *a, const double *b) {
  for (int32_t j = 0; j < n; ++j) {
    if (b[j] == 0) {
      continue;
    }
    double *column = values + place.offset + (size_t)j * (size_t)place.ld;
    for (int32_t i = 0; i < m; ++i) {
      column[i] += a[i] * b[j];
    }
  }
}

/* Computes a = J_t^T u for the rows of one side of the contact at place i, which may be a pair. */
INLINE void combine(const struct sap_jacobian *J, const struct sap_patch *patch, int high,
                    int32_t i, double *const u[3], double *a) {
  const struct sap_packed_row first = sap_packed_row(J, patch, high, i, 0);
  const int32_t n = first.n, stride = sap_stride(n);
  for (int32_t k = 0; k < n; ++k) {
    a[k] = u[0][i] * first.J[k] + u[1][i] * first.J[stride + k];
  }
  for (int r = 0; patch->pairs && r < 3; ++r) {
    const double *row = first.J + (3 + r) * (int64_t)stride;
    for (int32_t k = 0; k < n; ++k) {
      a[k] += u[r][i + 1] * row[k];
    }
  }
}

INLINE void add_patch(const struct sap_jacobian *J, const struct sap_patch *patch,
                      double *const u[3], const struct sap_lu *lu, double *scratch) {
  const struct sap_factor *factor = lu->factor;
  const int n_sides = patch->high < 0 ? 1 : 2, step = patch->pairs ? 2 : 1;
  const int32_t node[2] = {patch->low, patch->high};
  for (int32_t i = patch->begin; i < patch->end; i += step) {
    double spin = 0;
    for (int r = 0; patch->pairs && r < 3; ++r) {
      spin += fabs(u[r][i + 1]);
    }
    if (fabs(u[0][i]) + fabs(u[1][i]) + spin == 0) {
      continue;
    }
    struct sap_packed_row b[2];
    double *a[2] = {scratch, scratch};
    for (int s = 0; s < n_sides; ++s) {
      b[s] = sap_packed_row(J, patch, s, i, 2);
      a[s] = scratch + (s > 0 ? b[0].n : 0);
      combine(J, patch, s, i, u, a[s]);
      add_product(factor->values, factor->diagonal[node[s]], b[s].n, b[s].n, a[s], b[s].J);
      if (b[s].n > SAP_LU_BLOCK) {
        /* the pieces above the diagonal ones belong to the upper panel */
        add_product(lu->upper, factor->diagonal[node[s]], b[s].n, b[s].n, b[s].J, a[s]);
      }
    }
    if (n_sides == 2) {
      const struct sap_place place = factor->edge[patch->edge];
      add_product(factor->values, place, b[1].n, b[0].n, a[1], b[0].J);
      add_product(lu->upper, place, b[1].n, b[0].n, b[1].J, a[0]);
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
