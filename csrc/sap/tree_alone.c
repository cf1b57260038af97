#include "sap/tree_alone.h"

#include <math.h>
#include <string.h>

/* H += J^T J/R in the lower triangle, of a row of few entries */
static void add_few(const struct sap_row_alone *row, double *H, int32_t ld) {
  for (int32_t b = 0; b < row->n_entries; ++b) {
    double *column = H + (int64_t)row->entry[b] * ld;
    for (int32_t a = b; a < row->n_entries; ++a) {
      column[row->entry[a]] += row->J[a] * row->J[b] * row->inverse_R;
    }
  }
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

/* ---- along a step --------------------------------------------------------------------------- */

/* slope of the cost in t at v + t dv, from what it is without rows and from that of rows */
static double slope_at(const struct sap_tree_alone *tree, double t, double slope) {
  for (const struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    slope -= row->dv_c * sap_clamp_impulse(row->y - t * row->dy, row->lower, row->upper);
  }
  return slope;
}

/* where a row comes to one of its bounds between low and high, nearest to t; INFINITY: nowhere */
static double kink_near(const struct sap_tree_alone *tree, double t, double low, double high) {
  double nearest = INFINITY;
  for (const struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    const double kinks[2] = {(row->y - row->lower) / row->dy, (row->y - row->upper) / row->dy};
    for (int side = 0; side < 2; ++side) {
      const double kink = kinks[side];
      if (low < kink && kink < high && fabs(kink - t) < fabs(nearest - t)) {
        nearest = kink;
      }
    }
  }
  return nearest;
}

void sap_tree_alone_go_back(const struct sap_rows_alone *alone, const struct sap_tree_alone *tree) {
  enum { MOST = 20 };
  const int32_t n = tree->n;
  for (struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    row->dv_c = sap_row_multiply(row, alone->masses.loops, alone->dv);
    row->dy = row->dv_c * row->inverse_R;
  }
  const double mass = sap_vector_dot(n, alone->dv, alone->dw);
  const double momentum = sap_vector_dot(n, alone->dv, alone->momentum);
  double low = 0, high = 1;
  double at_low = slope_at(tree, low, momentum), at_high = slope_at(tree, high, momentum + mass);
  if (!(at_low < 0 && at_high > 0)) {
    return; /* the minimum is no nearer */
  }
  double t = 0;
  for (int k = 0; k < MOST; ++k) {
    t = low - at_low * (high - low) / (at_high - at_low);
    const double kink = kink_near(tree, t, low, high);
    if (isinf(kink)) {
      break;
    }
    const double slope = slope_at(tree, kink, momentum + kink * mass);
    if (slope < 0) {
      low = kink;
      at_low = slope;
    } else {
      high = kink;
      at_high = slope;
    }
  }
  sap_vector_add(n, t, alone->dv, tree->v);
}
