/* Tests the factorization of panels of several slices of columns, for every instruction set. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "linalg/junction_tree.h"
#include "linalg/kernels/kernels.h"
#include "linalg/linalg_tuning.h"

enum {
  N = 2 * SAP_SLICE + 61,
  ROWS = N + 21,
  WIDE_LD = (ROWS + 7) / 8 * 8,
  ROOM = N * WIDE_LD + 16
};

static double H[ROOM], L[ROOM], U[ROOM], plain[ROOM];
static float single[ROOM];

/* Fills the panel: positive definite on top if `symmetric`, else with a dominant diagonal. */
static void make(int symmetric, uint64_t seed) {
  memset(H, 0, sizeof H);
  for (int32_t j = 0; j < N; ++j) {
    for (int32_t i = 0; i < ROWS; ++i) {
      H[j * WIDE_LD + i] = check_random(&seed, -1, 1) + (i == j ? N : 0);
      if (symmetric && i < j) {
        H[j * WIDE_LD + i] = H[i * WIDE_LD + j];
      }
    }
  }
}

static void slices_give_the_factor_of_the_whole(void) {
  const struct sap_supernode s = {.n_cols = N, .n_rows = ROWS - N, .ld = WIDE_LD};
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_kernels *kernels = sap_kernels_of(set);
    if (!kernels) {
      continue;
    }
    make(1, 5);
    memcpy(plain, H, sizeof H);
    memcpy(L, H, sizeof H);
    for (int32_t k = 0; k < ROOM; ++k) {
      single[k] = (float)H[k];
    }
    REQUIRE(kernels->factor(ROWS, N, plain, WIDE_LD) == N);
    REQUIRE(kernels->panels[SAP_DOUBLE].factor(&s, L) == N);
    REQUIRE(kernels->panels[SAP_SINGLE].factor(&s, single) == N);
    for (int32_t j = 0; j < N; ++j) {
      CHECK_ALL_CLOSE(L + j * WIDE_LD + j, plain + j * WIDE_LD + j, ROWS - j, 1e-13);
      for (int32_t i = j; i < ROWS; ++i) {
        CHECK_CLOSE(single[j * WIDE_LD + i], plain[j * WIDE_LD + i], 1e-4);
      }
    }
    memcpy(L, H, sizeof H);
    L[(N - 9) * WIDE_LD + N - 9] = -1;
    CHECK_EQUAL(kernels->panels[SAP_DOUBLE].factor(&s, L), N - 9);
  }
}

/* Pivot blocks end where nodes end, and one of them lies across the end of a slice. */
static void unsymmetric_slices_solve_the_dense_system(void) {
  static const int32_t node_scalar[] = {0, 5, SAP_SLICE + 3, 2 * SAP_SLICE, N};
  const struct sap_supernode s = {.node_end = 4, .n_cols = N, .ld = WIDE_LD};
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_kernels *kernels = sap_kernels_of(set);
    if (!kernels) {
      continue;
    }
    make(0, 6);
    double x[N], b[N];
    uint64_t seed = 7;
    for (int32_t j = 0; j < N; ++j) {
      x[j] = b[j] = check_random(&seed, -1, 1);
      for (int32_t i = 0; i < N; ++i) {
        L[j * WIDE_LD + i] = H[j * WIDE_LD + i];
        U[j * WIDE_LD + i] = H[i * WIDE_LD + j];
      }
    }
    CHECK_EQUAL(kernels->lu.factor(&s, node_scalar, L, U), -1);
    kernels->lu.push_solution(&s, NULL, node_scalar, L, 0, x);
    kernels->lu.pull_solution(&s, NULL, node_scalar, U, 1, x);
    double worst = 0;
    for (int32_t i = 0; i < N; ++i) {
      double left = b[i];
      for (int32_t j = 0; j < N; ++j) {
        left -= H[j * WIDE_LD + i] * x[j];
      }
      worst = fmax(worst, fabs(left));
    }
    CHECK(worst < 1e-12);
  }
}

static const check_test tests[] = {
    CHECK_TEST(slices_give_the_factor_of_the_whole),
    CHECK_TEST(unsymmetric_slices_solve_the_dense_system),
};
CHECK_FILE(test_wide_panels, tests);
