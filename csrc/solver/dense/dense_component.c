#include "solver/dense/dense_component.h"

#include <math.h>
#include <string.h>

/* Adds J^T J/R of a row with few entries to the lower triangle of H. */
static void add_few(const struct sap_dense_row *row, double *H, int32_t ld) {
  for (int32_t b = 0; b < row->n_entries; ++b) {
    double *column = H + (int64_t)row->entry[b] * ld;
    for (int32_t a = b; a < row->n_entries; ++a) {
      column[row->entry[a]] += row->J[a] * row->J[b] * row->inverse_R;
    }
  }
}

void sap_dense_component_assemble(const struct sap_dense *dense,
                                  const struct sap_dense_component *tree, double *H, int32_t ld) {
  const int32_t n = tree->n;
  const struct sap_kernels *kernels = dense->masses.kernels;
  double *root = dense->root;
  int32_t k = 0;
  for (int32_t j = 0; j < n; ++j) {
    memcpy(H + (int64_t)j * (ld + 1), tree->A + (int64_t)j * (n + 1), (size_t)(n - j) * sizeof *H);
  }
  for (const struct sap_dense_row *row = tree->row; row < tree->end; ++row) {
    if (sap_row_is_free(row) && row->entry) {
      add_few(row, H, ld);
    } else if (sap_row_is_free(row)) {
      const double factor = sqrt(row->inverse_R);
      for (int32_t i = 0; i < n; ++i) {
        root[(int64_t)k * n + i] = factor * row->J[i];
      }
      ++k;
    }
    if (k == SAP_ROWS_AT_ONCE || (k > 0 && row + 1 == tree->end)) {
      kernels->multiply(n, n, k, 1, root, n, root, n, H, ld, 1);
      k = 0;
    }
  }
}
