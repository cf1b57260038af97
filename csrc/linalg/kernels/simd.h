/* This module defines the vector type of the kernels per instruction set: width, load, store and
 * their partial forms, lanes and sums. Only this file, simd_single.h and flush.h use intrinsics.
 *
 * simd_lane_to_all one lane, in all lanes simd_with_lane x, with one lane of y simd_lane one lane,
 * as a scalar simd_beyond x, with zeros up to a lane simd_spread a scalar, in all lanes simd_sums
 * lane l is the sum of x[l] simd_before x, with zeros from a lane on simd_sum_three the sums of
 * x[0] to x[2], stored simd_largest of all lanes simd_within are all lanes in a closed range?
 * simd_nonzero lanes that are not 0, as bits simd_load_single, simd_store_single the first n lanes,
 * floats in memory
 *
 * The partial forms come twice: `part` takes a mask, `first` a constant number of lanes and touches
 * no others. A load has to wait for an earlier store that it overlaps, even in masked lanes. */
#ifndef SAPWOOD_LINALG_KERNELS_SIMD_H
#define SAPWOOD_LINALG_KERNELS_SIMD_H

#include <math.h>
#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>

/* Loads the first n <= 4 lanes and sets the others to 0. */
static inline __m256d sap_load_four(const double *p, int n) {
  if (n == 4) {
    return _mm256_loadu_pd(p);
  }
  const __m128d low = n > 1 ? _mm_loadu_pd(p) : n > 0 ? _mm_load_sd(p) : _mm_setzero_pd();
  const __m128d high = n > 2 ? _mm_load_sd(p + 2) : _mm_setzero_pd();
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}
static inline void sap_store_four(double *p, __m256d x, int n) {
  if (n == 4) {
    _mm256_storeu_pd(p, x);
  } else if (n > 1) {
    _mm_storeu_pd(p, _mm256_castpd256_pd128(x));
  } else if (n > 0) {
    _mm_store_sd(p, _mm256_castpd256_pd128(x));
  }
  if (n == 3) {
    _mm_store_sd(p + 2, _mm256_extractf128_pd(x, 1));
  }
}
#endif

#if defined(__AVX512F__)
#define SAP_SIMD_WIDTH 8
#define SAP_SIMD_REGISTERS 32
typedef __m512d simd;
typedef __m128d simd_scalar;
typedef __mmask8 simd_mask;

static inline simd_mask simd_first(int32_t n) { return (simd_mask)((1u << n) - 1u); } /* NOLINT */
static inline simd simd_zero(void) { return _mm512_setzero_pd(); }
static inline simd simd_all(double x) { return _mm512_set1_pd(x); }
static inline simd simd_load(const double *p) { return _mm512_loadu_pd(p); }
static inline void simd_store(double *p, simd x) { _mm512_storeu_pd(p, x); }
static inline simd simd_load_part(const double *p, simd_mask m) {
  return _mm512_maskz_loadu_pd(m, p);
}
static inline void simd_store_part(double *p, simd x, simd_mask m) {
  _mm512_mask_storeu_pd(p, m, x);
}
static inline simd simd_load_first(const double *p, int n) {
  if (n == 8) {
    return simd_load(p);
  }
  const __m256d low = sap_load_four(p, n < 4 ? n : 4),
                high = sap_load_four(p + 4, n > 4 ? n - 4 : 0);
  return _mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1);
}
static inline void simd_store_first(double *p, simd x, int n) {
  if (n == 8) {
    simd_store(p, x);
    return;
  }
  sap_store_four(p, _mm512_castpd512_pd256(x), n < 4 ? n : 4);
  sap_store_four(p + 4, _mm512_extractf64x4_pd(x, 1), n > 4 ? n - 4 : 0);
}
static inline simd simd_load_single(const float *p, int n) {
  return _mm512_cvtps_pd(_mm256_maskz_loadu_ps((__mmask8)((1u << n) - 1u), p));
}
static inline void simd_store_single(float *p, simd x, int n) {
  _mm256_mask_storeu_ps(p, (__mmask8)((1u << n) - 1u), _mm512_cvtpd_ps(x));
}
static inline simd simd_abs(simd x) { return _mm512_abs_pd(x); }
static inline simd simd_max(simd x, simd y) { return _mm512_max_pd(x, y); }
static inline simd simd_sqrt(simd x) { return _mm512_sqrt_pd(x); }
static inline double simd_sum(simd x) { return _mm512_reduce_add_pd(x); }
static inline double simd_largest(simd x) { return _mm512_reduce_max_pd(x); }
static inline simd simd_lane_to_all(simd x, int lane) {
  return _mm512_permutexvar_pd(_mm512_set1_epi64(lane), x);
}
static inline simd_scalar simd_lane(simd x, int lane) {
  return _mm512_castpd512_pd128(simd_lane_to_all(x, lane));
}
static inline simd simd_spread(simd_scalar x) { return _mm512_broadcastsd_pd(x); }
static inline int simd_within(simd x, double low, double high) {
  return (_mm512_cmp_pd_mask(x, simd_all(low), _CMP_GE_OQ) &
          _mm512_cmp_pd_mask(x, simd_all(high), _CMP_LE_OQ)) == 0xff;
}
static inline uint32_t simd_nonzero(simd x) {
  return _mm512_cmp_pd_mask(x, simd_zero(), _CMP_NEQ_UQ);
}
static inline simd simd_with_lane(simd x, int lane, simd y) {
  return _mm512_mask_mov_pd(x, (simd_mask)(1u << lane), y);
}
static inline simd simd_beyond(simd x, int lane) {
  return _mm512_maskz_mov_pd((simd_mask)(0xfeu << lane), x);
}
static inline simd simd_before(simd x, int lane) {
  return _mm512_maskz_mov_pd((simd_mask)((1u << lane) - 1u), x);
}
static inline simd simd_sums(const simd x[]) {
  simd half[4], quarter[2];
  for (int i = 0; i < 4; ++i) {
    half[i] =
        _mm512_mask_blend_pd(0xf0, x[i], x[i + 4]) + _mm512_shuffle_f64x2(x[i], x[i + 4], 0x4e);
  }
  for (int i = 0; i < 2; ++i) {
    const simd other = _mm512_mask_blend_pd(0xcc, half[i + 2], half[i]);
    quarter[i] =
        _mm512_mask_blend_pd(0xcc, half[i], half[i + 2]) + _mm512_shuffle_f64x2(other, other, 0xb1);
  }
  return _mm512_unpacklo_pd(quarter[0], quarter[1]) + _mm512_unpackhi_pd(quarter[0], quarter[1]);
}
static inline void simd_sum_three(const simd x[3], double *a, double *b, double *c) {
  /* ab holds halves of a and b, cc holds c in both; then two holds quarters a, c, b, c */
  const simd ab = _mm512_mask_blend_pd(0xf0, x[0], x[1]) + _mm512_shuffle_f64x2(x[0], x[1], 0x4e);
  const simd cc = x[2] + _mm512_shuffle_f64x2(x[2], x[2], 0x4e);
  const simd other = _mm512_mask_blend_pd(0xcc, cc, ab);
  const simd two = _mm512_mask_blend_pd(0xcc, ab, cc) + _mm512_shuffle_f64x2(other, other, 0xb1);
  const simd one = two + _mm512_permute_pd(two, 0x55);
  _mm_storel_pd(a, _mm512_castpd512_pd128(one));
  _mm_storel_pd(c, _mm512_extractf64x2_pd(one, 1));
  _mm_storel_pd(b, _mm512_extractf64x2_pd(one, 2));
}

#elif defined(__AVX2__)
#define SAP_SIMD_WIDTH 4
#define SAP_SIMD_REGISTERS 16
typedef __m256d simd;
typedef __m128d simd_scalar;
typedef __m256i simd_mask;

static inline simd_mask simd_first(int32_t n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
static inline simd simd_zero(void) { return _mm256_setzero_pd(); }
static inline simd simd_all(double x) { return _mm256_set1_pd(x); }
static inline simd simd_load(const double *p) { return _mm256_loadu_pd(p); }
static inline void simd_store(double *p, simd x) { _mm256_storeu_pd(p, x); }
static inline simd simd_load_part(const double *p, simd_mask m) { return _mm256_maskload_pd(p, m); }
static inline void simd_store_part(double *p, simd x, simd_mask m) { _mm256_maskstore_pd(p, m, x); }
static inline simd simd_load_first(const double *p, int n) { return sap_load_four(p, n); }
static inline void simd_store_first(double *p, simd x, int n) { sap_store_four(p, x, n); }
static inline simd simd_load_single(const float *p, int n) {
  return n == 4 ? _mm256_cvtps_pd(_mm_loadu_ps(p))
                : (simd){n > 0 ? p[0] : 0, n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, 0};
}
static inline void simd_store_single(float *p, simd x, int n) {
  const __m128 single = _mm256_cvtpd_ps(x);
  if (n == 4) {
    _mm_storeu_ps(p, single);
    return;
  }
  for (int i = 0; i < n; ++i) {
    p[i] = single[i];
  }
}
static inline simd simd_abs(simd x) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x); }
static inline simd simd_max(simd x, simd y) { return _mm256_max_pd(x, y); }
static inline simd simd_sqrt(simd x) { return _mm256_sqrt_pd(x); }
static inline double simd_sum(simd x) { return (x[0] + x[2]) + (x[1] + x[3]); }
static inline double simd_largest(simd x) {
  const double a = x[0] > x[2] ? x[0] : x[2], b = x[1] > x[3] ? x[1] : x[3];
  return a > b ? a : b;
}
static inline simd simd_lane_to_all(simd x, int lane) { return simd_all(x[lane]); }
static inline simd_scalar simd_lane(simd x, int lane) {
  return _mm256_castpd256_pd128(simd_lane_to_all(x, lane));
}
static inline simd simd_spread(simd_scalar x) { return _mm256_broadcastsd_pd(x); }
static inline int simd_within(simd x, double low, double high) {
  return _mm256_movemask_pd(_mm256_and_pd(_mm256_cmp_pd(x, simd_all(low), _CMP_GE_OQ),
                                          _mm256_cmp_pd(x, simd_all(high), _CMP_LE_OQ))) == 0xf;
}
static inline uint32_t simd_nonzero(simd x) {
  return (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(x, simd_zero(), _CMP_NEQ_UQ));
}
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
static inline simd simd_before(simd x, int lane) {
  for (int i = lane; i < 4; ++i) {
    x[i] = 0;
  }
  return x;
}
static inline simd simd_sums(const simd x[]) {
  const simd low = _mm256_hadd_pd(x[0], x[1]), high = _mm256_hadd_pd(x[2], x[3]);
  return _mm256_permute2f128_pd(low, high, 0x21) + _mm256_blend_pd(low, high, 0xc);
}

#elif defined(__GNUC__)
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#define SAP_SIMD_WIDTH 2
#define SAP_SIMD_REGISTERS 16
typedef double simd __attribute__((vector_size(16)));
typedef simd simd_scalar;
typedef double simd_unaligned __attribute__((vector_size(16), aligned(8), may_alias));
typedef int32_t simd_mask;

static inline simd_mask simd_first(int32_t n) { return n; }
static inline simd simd_zero(void) { return (simd){0, 0}; }
static inline simd simd_all(double x) { return (simd){x, x}; }
static inline simd simd_load(const double *p) { return *(const simd_unaligned *)p; }
static inline void simd_store(double *p, simd x) { *(simd_unaligned *)p = x; }
static inline simd simd_load_part(const double *p, simd_mask m) {
  return m > 1 ? simd_load(p) : m > 0 ? (simd){p[0], 0} : simd_zero();
}
static inline void simd_store_part(double *p, simd x, simd_mask m) {
  if (m > 1) {
    simd_store(p, x);
  } else if (m > 0) {
    p[0] = x[0];
  }
}
static inline simd simd_load_first(const double *p, int n) { return simd_load_part(p, n); }
static inline void simd_store_first(double *p, simd x, int n) { simd_store_part(p, x, n); }
static inline simd simd_load_single(const float *p, int n) {
  return (simd){n > 0 ? p[0] : 0, n > 1 ? p[1] : 0};
}
static inline void simd_store_single(float *p, simd x, int n) {
  for (int i = 0; i < n; ++i) {
    p[i] = (float)x[i];
  }
}
static inline simd simd_abs(simd x) { return (simd){__builtin_fabs(x[0]), __builtin_fabs(x[1])}; }
static inline simd simd_max(simd x, simd y) {
  return (simd){x[0] > y[0] ? x[0] : y[0], x[1] > y[1] ? x[1] : y[1]};
}
static inline simd simd_sqrt(simd x) { return (simd){sqrt(x[0]), sqrt(x[1])}; }
static inline double simd_sum(simd x) { return x[0] + x[1]; }
static inline double simd_largest(simd x) { return x[0] > x[1] ? x[0] : x[1]; }
static inline simd simd_lane_to_all(simd x, int lane) { return simd_all(x[lane]); }
static inline simd_scalar simd_lane(simd x, int lane) { return simd_all(x[lane]); }
static inline simd simd_spread(simd_scalar x) { return x; }
static inline int simd_within(simd x, double low, double high) {
  return x[0] >= low && x[1] >= low && x[0] <= high && x[1] <= high;
}
static inline uint32_t simd_nonzero(simd x) {
  return (uint32_t)(x[0] != 0) | (uint32_t)(x[1] != 0) << 1;
}
static inline simd simd_with_lane(simd x, int lane, simd y) {
  x[lane] = y[lane];
  return x;
}
static inline simd simd_beyond(simd x, int lane) { return (simd){0, lane < 1 ? x[1] : 0}; }
static inline simd simd_before(simd x, int lane) {
  return (simd){lane > 0 ? x[0] : 0, lane > 1 ? x[1] : 0};
}
static inline simd simd_sums(const simd x[]) {
  return (simd){x[0][0], x[1][0]} + (simd){x[0][1], x[1][1]};
}

#else
#error "the kernels need the vector extensions of GCC or Clang"
#endif

#if SAP_SIMD_WIDTH < 8
static inline void simd_sum_three(const simd x[3], double *a, double *b, double *c) {
  *a = simd_sum(x[0]), *b = simd_sum(x[1]), *c = simd_sum(x[2]);
}
#endif

/* Scalars are two equal lanes, so that compilers do not move them through memory. */
static inline simd_scalar simd_scalar_of(double x) { return (simd_scalar){x, x}; }
static inline simd_scalar simd_scalar_sqrt(simd_scalar x) {
#ifdef __SSE2__
  return _mm_sqrt_pd(x);
#else
  return simd_scalar_of(sqrt(x[0]));
#endif
}

/* SIMD_STRIP is the number of columns of a panel that are worked on together */
#define SAP_SIMD_STRIP SAP_SIMD_WIDTH
enum { SIMD_WIDTH = SAP_SIMD_WIDTH, SIMD_STRIP = SAP_SIMD_STRIP };

#endif
