/* Numbers too small for single precision count as zero between begin and end, on this thread: entries of J that are
 * round-off would otherwise become denormal numbers, with which processors compute a hundred times slower. */
#ifndef SAPWOOD_LINALG_FLUSH_H
#define SAPWOOD_LINALG_FLUSH_H

#ifdef __SSE2__
#include <emmintrin.h>

static inline unsigned int sap_flush_begin(void) {
  enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x40 };
  const unsigned int before = _mm_getcsr();
  _mm_setcsr(before | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
  return before;
}

static inline void sap_flush_end(unsigned int before) { _mm_setcsr(before); }

#else

static inline unsigned int sap_flush_begin(void) { return 0; }
static inline void sap_flush_end(unsigned int before) { (void)before; }

#endif

#endif
