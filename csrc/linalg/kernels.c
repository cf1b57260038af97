#include "linalg/kernels.h"

#include "linalg/isa.h"

/* J A^-1 J^T */
static void gram(int32_t n, const double *S, const double *J, double W[9]) {
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
    for (int32_t k = 0; k < last; ++k) {
      const simd column = simd_load_part(S + (int64_t)k * n + i, part);
      for (int r = 0; r < 3; ++r) {
        x[r] += column * simd_all(J[(int64_t)r * n + k]);
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
