#include "geometry/cell_search.h"

#include <stddef.h>

extern const struct geo_search geo_search_baseline;
#ifdef SAP_MULTI_ISA
extern const struct geo_search geo_search_avx2;
#endif

const struct geo_search *geo_search_of(int32_t set) {
  if (set == 0) {
    return &geo_search_baseline;
  }
#ifdef SAP_MULTI_ISA
  if (set == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return &geo_search_avx2;
  }
#endif
  return NULL;
}

const struct geo_search *geo_search_best(void) {
  const struct geo_search *wide = geo_search_of(1);
  return wide ? wide : geo_search_of(0);
}
