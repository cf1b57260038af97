#include "linalg/kernels.h"

#include "linalg/isa.h"

/* Most columns of J (3, n) may be zero where a tree is wide: lists the others. Returns how many
 * there are, n where they are too many. */
enum { WIDE = 24, LISTED = 64 };
static int32_t list_columns(int32_t n, const double *J, int32_t column[LISTED]) {
  int32_t count = 0;
  for (int32_t k = 0; k < n; ++k) {
    if (count == LISTED) {
      return n;
    }
    column[count] = k;
    count += J[k] != 0 || J[n + k] != 0 || J[2 * (int64_t)n + k] != 0;
  }
  return count;
}

/* J A^-1 J^T */
static void gram(int32_t n, const double *S, const double *J, double W[9]) {
  int32_t column[LISTED];
  const int32_t listed = n > WIDE ? list_columns(n, J, column) : n;
  const int all = listed == n;
  simd sum[3][3];
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) {
      sum[r][c] = simd_zero();
    }
  }
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    /* rows i.. of X; S is zero beyond the diagonal */
    const simd_mask part = simd_first(n - i < SIMD_WIDTH ? n - i : SIMD_WIDTH);
    const int32_t last = n - i < SIMD_WIDTH ? n : i + SIMD_WIDTH;
    simd x[3] = {simd_zero(), simd_zero(), simd_zero()};
    for (int32_t l = 0; l < listed; ++l) {
      const int32_t k = all ? l : column[l];
      if (k >= last) {
        break;
      }
      const simd entries = simd_load_part(S + (int64_t)k * n + i, part);
      for (int r = 0; r < 3; ++r) {
        x[r] += entries * simd_all(J[(int64_t)r * n + k]);
      }
    }
    for (int r = 0; r < 3; ++r) {
      for (int c = r; c < 3; ++c) {
        sum[r][c] += x[r] * x[c];
      }
    }
  }
  for (int r = 0; r < 3; ++r) {
    for (int c = r; c < 3; ++c) {
      const double w = simd_sum(sum[r][c]);
      W[3 * r + c] += w;
      W[3 * c + r] += r < c ? w : 0;
    }
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
