/* Which variant of the loops that are compiled once per instruction set a solver uses. */
#include <stddef.h>

#include "problem/products/packed_jacobian.h"
#include "problem/products/vectors.h"

extern const struct sap_jacobian_loops sap_jacobian_loops_baseline;
extern const struct sap_vector_loops sap_vector_loops_baseline;
#ifdef SAP_MULTI_ISA
extern const struct sap_jacobian_loops sap_jacobian_loops_avx2, sap_jacobian_loops_avx512;
extern const struct sap_vector_loops sap_vector_loops_avx2, sap_vector_loops_avx512;
#endif

const struct sap_jacobian_loops *sap_jacobian_loops_of(int32_t set) {
#ifdef SAP_MULTI_ISA
  const struct sap_jacobian_loops *const loops[] = {
      &sap_jacobian_loops_baseline, &sap_jacobian_loops_avx2, &sap_jacobian_loops_avx512};
  return loops[set];
#else
  return set == 0 ? &sap_jacobian_loops_baseline : NULL;
#endif
}

const struct sap_vector_loops *sap_vector_loops_of(int32_t set) {
#ifdef SAP_MULTI_ISA
  const struct sap_vector_loops *const loops[] = {&sap_vector_loops_baseline,
                                                  &sap_vector_loops_avx2, &sap_vector_loops_avx512};
  return loops[set];
#else
  return set == 0 ? &sap_vector_loops_baseline : NULL;
#endif
}
