/* Selects the variant of linear_law_loops.c, which is compiled once per instruction set. */
#include "constraints/linear_law.h"

#include <stddef.h>

extern const struct sap_linear_loops sap_linear_loops_baseline;
#ifdef SAP_MULTI_ISA
extern const struct sap_linear_loops sap_linear_loops_avx2, sap_linear_loops_avx512;
#endif

const struct sap_linear_loops *sap_linear_loops_of(int32_t set) {
  static const struct sap_linear_loops *const loops[] = {
      &sap_linear_loops_baseline,
#ifdef SAP_MULTI_ISA
      &sap_linear_loops_avx2,
      &sap_linear_loops_avx512,
#endif
  };
  return set < (int32_t)(sizeof loops / sizeof *loops) ? loops[set] : NULL;
}
