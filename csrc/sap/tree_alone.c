#include "sap/tree_alone.h"

#include <math.h>
#include <string.h>

/* entries that a row may have beside zeros to be added one by one: those that couple two joints
 * have two */
enum { FEW = 4 };

/* H += J^T J/R in the lower triangle; 0 where J has more entries than a few */
static int add_few(const struct sap_row_alone *row, int32_t n, double *H, int32_t ld) {
  int32_t entry[FEW], k = 0;
  for (int32_t i = 0; i < n; ++i) {
    if (row->J[i] != 0) {
      if (k == FEW) {
        return 0;
      }
      entry[k++] = i;
    }
  }
  for (int32_t b = 0; b < k; ++b) {
    for (int32_t a = b; a < k; ++a) {
      H[(int64_t)entry[b] * ld + entry[a]] += row->J[entry[a]] * row->J[entry[b]] * row->inverse_R;
    }
  }
  return 1;
}

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
    } else if (sap_row_is_free(row) && !add_few(row, n, H, ld)) {
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
