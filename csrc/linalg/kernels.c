#include "linalg/kernels.h"

#include "linalg/isa.h"

/* Most columns of J (rows, n) may be zero where a tree is wide: lists the others. Returns how many
 * there are, n where they are too many. */
enum { WIDE = 40, LISTED = 64 };
INLINE int32_t list_columns(const int rows, int32_t n, const double *J, int32_t column[LISTED]) {
  int32_t count = 0;
  for (int32_t k = 0; k < n; ++k) {
    if (count == LISTED) {
      return n;
    }
    int any = 0;
    UNROLL
    for (int r = 0; r < rows; ++r) {
      any |= J[(int64_t)r * n + k] != 0;
    }
    column[count] = k;
    count += any;
  }
  return count;
}

/* Blocks of one or two contacts at once: the three sums of one wait for each other's end longer
 * than those of two take. */
INLINE void add_grams(const int contacts, int32_t n, const double *S, const double *J, double *W) {
  enum { MOST = 2 };
  const int rows = 3 * contacts;
  int32_t column[LISTED];
  const int32_t listed = n > WIDE ? list_columns(rows, n, J, column) : n;
  const int all = listed == n;
  simd sum[MOST][6]; /* of the upper triangle, row by row */
  UNROLL
  for (int k = 0; k < 6 * contacts; ++k) {
    sum[k / 6][k % 6] = simd_zero();
  }
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    /* rows i.. of X; S is zero beyond the diagonal */
    const simd_mask part = simd_first(n - i < SIMD_WIDTH ? n - i : SIMD_WIDTH);
    const int32_t last = n - i < SIMD_WIDTH ? n : i + SIMD_WIDTH;
    simd x[3 * MOST];
    UNROLL
    for (int r = 0; r < rows; ++r) {
      x[r] = simd_zero();
    }
    for (int32_t l = 0; l < listed; ++l) {
      const int32_t k = all ? l : column[l];
      if (k >= last) {
        break;
      }
      const simd entries = simd_load_part(S + (int64_t)k * n + i, part);
      UNROLL
      for (int r = 0; r < rows; ++r) {
        x[r] += entries * simd_all(J[(int64_t)r * n + k]);
      }
    }
    UNROLL
    for (int c = 0; c < contacts; ++c) {
      const simd *y = x + 3 * c;
      sum[c][0] += y[0] * y[0];
      sum[c][1] += y[0] * y[1];
      sum[c][2] += y[0] * y[2];
      sum[c][3] += y[1] * y[1];
      sum[c][4] += y[1] * y[2];
      sum[c][5] += y[2] * y[2];
    }
  }
  for (int c = 0; c < contacts; ++c, W += 9) {
    double w[6];
    simd_sum_three(sum[c], w, w + 1, w + 2);
    simd_sum_three(sum[c] + 3, w + 3, w + 4, w + 5);
    const double whole[9] = {w[0], w[1], w[2], w[1], w[3], w[4], w[2], w[4], w[5]};
    for (int k = 0; k < 9; ++k) {
      W[k] += whole[k];
    }
  }
}

/* J A^-1 J^T of each */
static void gram(int32_t n, const double *S, int32_t count, const double *J, double *W) {
  int32_t i = 0;
  for (; i + 1 < count; i += 2) {
    add_grams(2, n, S, J + 3 * (int64_t)n * i, W + 9 * (int64_t)i);
  }
  if (i < count) {
    add_grams(1, n, S, J + 3 * (int64_t)n * i, W + 9 * (int64_t)i);
  }
}

#define SAP_PANELS(of) \
  {of(sap_factor_panel_), of(sap_push_updates_), of(sap_push_solution_), of(sap_pull_solution_)}

const struct sap_kernels SAP_OF_ISA(sap_kernels_);
const struct sap_kernels SAP_OF_ISA(sap_kernels_) = {
    SAP_TEXT(SAP_ISA),
    SAP_OF_ISA(sap_multiply_),
    SAP_OF_ISA(sap_factor_),
    SAP_OF_ISA(sap_solve_forward_),
    SAP_OF_ISA(sap_solve_backward_),
    gram,
    {SAP_PANELS(SAP_OF_ISA), SAP_PANELS(SAP_OF_SINGLE)},
};
