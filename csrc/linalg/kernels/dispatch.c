#include "linalg/kernels/kernels.h"

#include <stddef.h>

extern const struct sap_kernels sap_kernels_baseline;
#ifdef SAP_MULTI_ISA
extern const struct sap_kernels sap_kernels_avx2;
extern const struct sap_kernels sap_kernels_avx512;
#endif

const struct sap_kernels *sap_kernels_of(int32_t set) {
  if (set == 0) {
    return &sap_kernels_baseline;
  }
#ifdef SAP_MULTI_ISA
  if (set == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return &sap_kernels_avx2;
  }
  if (set == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    return &sap_kernels_avx512;
  }
#endif
  return NULL;
}

int32_t sap_kernels_best_set(void) {
  int32_t set = SAP_KERNEL_SETS - 1;
  while (!sap_kernels_of(set)) {
    --set;
  }
  return set;
}

const struct sap_kernels *sap_kernels_best(void) { return sap_kernels_of(sap_kernels_best_set()); }
