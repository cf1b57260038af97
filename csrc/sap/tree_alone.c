#include "sap/tree_alone.h"

#include <math.h>
#include <string.h>

void sap_tree_alone_assemble(const struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
                             double *H, int32_t ld) {
  const int32_t n = tree->n;
  const struct sap_kernels *kernels = alone->masses.kernels;
  double *root = alone->root;
  int32_t k = 0;
  for (int32_t j = 0; j < n; ++j) {
    memcpy(H + (int64_t)j * ld, tree->A + (int64_t)j * n, (size_t)n * sizeof *H);
  }
  for (const struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    if (sap_row_is_free(row) && row->dof >= 0) {
      H[(int64_t)row->dof * (ld + 1)] += *row->J * *row->J * row->inverse_R;
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
