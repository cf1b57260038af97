/* This module defines the vector type of the kernels in single precision, under the names of
 * simd.h: twice as many lanes. Strips stay as wide as in double precision, so that lanes are read
 * from the first SIMD_STRIP lanes, and sums stored there. */
#ifndef SAPWOOD_LINALG_KERNELS_SIMD_SINGLE_H
#define SAPWOOD_LINALG_KERNELS_SIMD_SINGLE_H

#include <math.h>
#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>

/* Loads and stores the first n <= 4 lanes, 0 beyond, and touches no others. */
static inline __m128 sap_load_four(const float *p, int n) {
  const __m128 none = _mm_setzero_ps();
  switch (n) {
    case 4: return _mm_loadu_ps(p);
    case 3: return _mm_movelh_ps(_mm_loadl_pi(none, (const __m64 *)p), _mm_load_ss(p + 2));
    case 2: return _mm_loadl_pi(none, (const __m64 *)p);
    case 1: return _mm_load_ss(p);
    default: return none;
  }
}
static inline void sap_store_four(float *p, __m128 x, int n) {
  if (n == 4) {
    _mm_storeu_ps(p, x);
  } else if (n > 1) {
    _mm_storel_pi((__m64 *)p, x);
  } else if (n > 0) {
    _mm_store_ss(p, x);
  }
  if (n == 3) {
    _mm_store_ss(p + 2, _mm_movehl_ps(x, x));
  }
}
#endif

#if defined(__AVX512F__)
#define SAP_SIMD_WIDTH 16
#define SAP_SIMD_REGISTERS 32
typedef __m512 simd;
typedef __m128 simd_scalar;
typedef __mmask16 simd_mask;

static inline simd_mask simd_first(int32_t n) { return (simd_mask)((1u << n) - 1u); } /* NOLINT */
static inline simd simd_zero(void) { return _mm512_setzero_ps(); }
static inline simd simd_all(float x) { return _mm512_set1_ps(x); }
static inline simd simd_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void simd_store(float *p, simd x) { _mm512_storeu_ps(p, x); }
static inline simd simd_load_part(const float *p, simd_mask m) {
  return _mm512_maskz_loadu_ps(m, p);
}
static inline void simd_store_part(float *p, simd x, simd_mask m) {
  _mm512_mask_storeu_ps(p, m, x);
}
static inline simd simd_load_first(const float *p, int n) {
  const __m128 low = sap_load_four(p, n < 4 ? n : 4), high = sap_load_four(p + 4, n - 4);
  return _mm512_zextps256_ps512(_mm256_set_m128(high, low));
}
static inline void simd_store_first(float *p, simd x, int n) {
  sap_store_four(p, _mm512_castps512_ps128(x), n < 4 ? n : 4);
  sap_store_four(p + 4, _mm512_extractf32x4_ps(x, 1), n - 4);
}
static inline simd simd_lane_to_all(simd x, int lane) {
  return _mm512_permutexvar_ps(_mm512_set1_epi32(lane), x);
}
static inline simd_scalar simd_lane(simd x, int lane) {
  return _mm512_castps512_ps128(simd_lane_to_all(x, lane));
}
static inline simd simd_spread(simd_scalar x) { return _mm512_broadcastss_ps(x); }
static inline int simd_within(simd x, float low, float high) {
  return (_mm512_cmp_ps_mask(x, simd_all(low), _CMP_GE_OQ) &
          _mm512_cmp_ps_mask(x, simd_all(high), _CMP_LE_OQ)) == 0xffff;
}
static inline simd simd_with_lane(simd x, int lane, simd y) {
  return _mm512_mask_mov_ps(x, (simd_mask)(1u << lane), y);
}
static inline simd simd_beyond(simd x, int lane) {
  return _mm512_maskz_mov_ps((simd_mask)(0xfffeu << lane), x);
}
static inline simd simd_sums(const simd x[]) {
  __m256 half[8];
  for (int i = 0; i < 8; ++i) {
    half[i] = _mm512_castps512_ps256(x[i]) + _mm512_extractf32x8_ps(x[i], 1);
  }
  for (int i = 0; i < 4; ++i) {
    half[i] = _mm256_hadd_ps(half[2 * i], half[2 * i + 1]);
  }
  const __m256 low = _mm256_hadd_ps(half[0], half[1]), high = _mm256_hadd_ps(half[2], half[3]);
  return _mm512_zextps256_ps512(_mm256_permute2f128_ps(low, high, 0x20) +
                                _mm256_permute2f128_ps(low, high, 0x31));
}

#elif defined(__AVX2__)
#define SAP_SIMD_WIDTH 8
#define SAP_SIMD_REGISTERS 16
typedef __m256 simd;
typedef __m128 simd_scalar;
typedef __m256i simd_mask;

static inline simd_mask simd_first(int32_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline simd simd_zero(void) { return _mm256_setzero_ps(); }
static inline simd simd_all(float x) { return _mm256_set1_ps(x); }
static inline simd simd_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void simd_store(float *p, simd x) { _mm256_storeu_ps(p, x); }
static inline simd simd_load_part(const float *p, simd_mask m) { return _mm256_maskload_ps(p, m); }
static inline void simd_store_part(float *p, simd x, simd_mask m) { _mm256_maskstore_ps(p, m, x); }
static inline simd simd_load_first(const float *p, int n) {
  return _mm256_zextps128_ps256(sap_load_four(p, n));
}
static inline void simd_store_first(float *p, simd x, int n) {
  sap_store_four(p, _mm256_castps256_ps128(x), n);
}
static inline simd simd_lane_to_all(simd x, int lane) { return simd_all(x[lane]); }
static inline simd_scalar simd_lane(simd x, int lane) {
  return _mm256_castps256_ps128(simd_lane_to_all(x, lane));
}
static inline simd simd_spread(simd_scalar x) { return _mm256_broadcastss_ps(x); }
static inline int simd_within(simd x, float low, float high) {
  return _mm256_movemask_ps(_mm256_and_ps(_mm256_cmp_ps(x, simd_all(low), _CMP_GE_OQ),
                                          _mm256_cmp_ps(x, simd_all(high), _CMP_LE_OQ))) == 0xff;
}
static inline simd simd_sums(const simd x[]) {
  const simd sums = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
  return _mm256_zextps128_ps256(_mm256_castps256_ps128(sums) + _mm256_extractf128_ps(sums, 1));
}

#elif defined(__GNUC__)
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#define SAP_SIMD_WIDTH 4
#define SAP_SIMD_REGISTERS 16
typedef float simd __attribute__((vector_size(16)));
typedef simd simd_scalar;
typedef float simd_unaligned __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t simd_mask;

static inline simd_mask simd_first(int32_t n) { return n; }
static inline simd simd_zero(void) { return (simd){0, 0, 0, 0}; }
static inline simd simd_all(float x) { return (simd){x, x, x, x}; }
static inline simd simd_load(const float *p) { return *(const simd_unaligned *)p; }
static inline void simd_store(float *p, simd x) { *(simd_unaligned *)p = x; }
static inline simd simd_load_part(const float *p, simd_mask m) {
  if (m > 3) {
    return simd_load(p);
  }
  return (simd){m > 0 ? p[0] : 0, m > 1 ? p[1] : 0, m > 2 ? p[2] : 0, 0};
}
static inline void simd_store_part(float *p, simd x, simd_mask m) {
  if (m > 3) {
    simd_store(p, x);
    return;
  }
  for (int i = 0; i < m; ++i) {
    p[i] = x[i];
  }
}
static inline simd simd_load_first(const float *p, int n) { return simd_load_part(p, n); }
static inline void simd_store_first(float *p, simd x, int n) { simd_store_part(p, x, n); }
static inline simd simd_lane_to_all(simd x, int lane) { return simd_all(x[lane]); }
static inline simd_scalar simd_lane(simd x, int lane) { return simd_all(x[lane]); }
static inline simd simd_spread(simd_scalar x) { return x; }
static inline int simd_within(simd x, float low, float high) {
  int within = 1;
  for (int i = 0; i < SAP_SIMD_WIDTH; ++i) {
    within &= x[i] >= low && x[i] <= high;
  }
  return within;
}
static inline simd simd_sums(const simd x[]) {
  return (simd){(x[0][0] + x[0][2]) + (x[0][1] + x[0][3]),
                (x[1][0] + x[1][2]) + (x[1][1] + x[1][3]), 0, 0};
}

#else
#error "the kernels need the vector extensions of GCC or Clang"
#endif

#if SAP_SIMD_WIDTH < 16
static inline simd simd_with_lane(simd x, int lane, simd y) {
  x[lane] = y[lane];
  return x;
}
static inline simd simd_beyond(simd x, int lane) {
  for (int i = 0; i <= lane; ++i) {
    x[i] = 0;
  }
  return x;
}
#endif

/* Scalars are equal lanes, so that compilers do not move them through memory. */
static inline simd_scalar simd_scalar_of(float x) { return (simd_scalar){x, x, x, x}; }
static inline simd_scalar simd_scalar_sqrt(simd_scalar x) {
#ifdef __SSE2__
  return _mm_sqrt_ps(x);
#else
  return simd_scalar_of(sqrtf(x[0]));
#endif
}

#define SAP_SIMD_STRIP (SAP_SIMD_WIDTH / 2)
enum { SIMD_WIDTH = SAP_SIMD_WIDTH, SIMD_STRIP = SAP_SIMD_STRIP };

#endif
