/* Which variant of impulses.c, which is compiled once per instruction set, a solver uses. */
#include <stddef.h>

#include "sap/impulses.h"

sap_impulses_function sap_impulses_find_baseline;
#ifdef SAP_MULTI_ISA
sap_impulses_function sap_impulses_find_avx2, sap_impulses_find_avx512;
#endif

sap_impulses_function *sap_impulses_of(int32_t set) {
#ifdef SAP_MULTI_ISA
  sap_impulses_function *const functions[] = {sap_impulses_find_baseline, sap_impulses_find_avx2,
                                              sap_impulses_find_avx512};
  return functions[set];
#else
  return set == 0 ? sap_impulses_find_baseline : NULL;
#endif
}
