/* Checks that the library has the options of the build. */
#include "check.h"
#include "linalg/kernels/kernels.h"
#include "sapwood.h"

/* The kernels for a machine without vector extensions are always there. */
static void kernel_sets(void) {
  CHECK(sap_kernels_of(0) != NULL);
  CHECK(sap_kernels_best() != NULL);
#if EXPECT_MULTI_ISA
  CHECK_EQUAL(sap_kernels_of(1) != NULL,
              __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#else
  CHECK(sap_kernels_best() == sap_kernels_of(0));
#endif
}

static const check_test tests[] = {CHECK_TEST(kernel_sets)};
CHECK_FILE(test_build_options, tests);
