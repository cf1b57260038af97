/* Between begin and end this thread treats numbers too small for single precision as zero, if
 * `single` is set: round-off in J would otherwise become denormal numbers, which processors handle
 * a hundred times slower. */
#ifndef SAPWOOD_LINALG_KERNELS_FLUSH_H
#define SAPWOOD_LINALG_KERNELS_FLUSH_H

#ifdef __SSE2__
#include <emmintrin.h>

static inline unsigned int sap_flush_begin(int single) {
  enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x40 };
  const unsigned int before = single ? _mm_getcsr() : 0;
  if (single) {
    _mm_setcsr(before | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
  }
  return before;
}

static inline void sap_flush_end(int single, unsigned int before) {
  if (single) {
    _mm_setcsr(before);
  }
}

#else

static inline unsigned int sap_flush_begin(int single) {
  (void)single;
  return 0;
}
static inline void sap_flush_end(int single, unsigned int before) {
  (void)single;
  (void)before;
}

#endif

#endif
