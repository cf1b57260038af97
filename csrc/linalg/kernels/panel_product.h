/* This module computes products C += sign A B^T of column-major blocks, for files that are compiled
 * once per instruction set and precision. C stays in registers; the caller owns all memory. */
#ifndef SAPWOOD_LINALG_KERNELS_PANEL_PRODUCT_H
#define SAPWOOD_LINALG_KERNELS_PANEL_PRODUCT_H

#include "linalg/kernels/isa.h"
#include "linalg/linalg_tuning.h"

enum { BLOCK = SAP_LU_BLOCK };

/* Calls f(n, ...) with the size of a pivot block as a constant; free bodies come first. */
#define FOR_BLOCK(n, f, ...)               \
  switch (n) {                             \
    case 6: f(6, __VA_ARGS__); break;      \
    case 1: f(1, __VA_ARGS__); break;      \
    case 2: f(2, __VA_ARGS__); break;      \
    case 3: f(3, __VA_ARGS__); break;      \
    case 4: f(4, __VA_ARGS__); break;      \
    case 5: f(5, __VA_ARGS__); break;      \
    case 7: f(7, __VA_ARGS__); break;      \
    default: f(BLOCK, __VA_ARGS__); break; \
  }

/* columns of C and vectors of its rows that stay in registers */
enum { COLUMNS = SAP_SIMD_REGISTERS == 32 ? 8 : 6, TALL = SAP_SIMD_REGISTERS == 32 ? 3 : 2 };

/* Adds sign A B^T to C (`rows` rows, which fill V vectors or end in the last of them; N columns).
 * With `padded` A may be read beyond its rows. */
INLINE void multiply_block(const int padded, const int V, const int N, int32_t rows, int32_t k,
                           real sign, const real *A, int32_t lda, const real *B, int32_t ldb,
                           real *C, int32_t ldc) {
  const simd_mask last = simd_first(rows - (V - 1) * SIMD_WIDTH);
  simd sum[TALL][COLUMNS];
  UNROLL
  for (int j = 0; j < N; ++j) {
    for (int v = 0; v < V; ++v) {
      sum[v][j] = simd_zero();
    }
  }
  for (int32_t p = 0; p < k; ++p) {
    const real *a = A + (int64_t)p * lda;
    const real *b = B + (int64_t)p * ldb;
    simd column[TALL];
    for (int v = 0; v < V; ++v) {
      const int whole = padded || v + 1 < V;
      column[v] = whole ? simd_load(a + v * SIMD_WIDTH) : simd_load_part(a + v * SIMD_WIDTH, last);
    }
    UNROLL
    for (int j = 0; j < N; ++j) {
      const simd scale = simd_all(b[j]);
      for (int v = 0; v < V; ++v) {
        sum[v][j] += column[v] * scale;
      }
    }
  }
  const simd signs = simd_all(sign);
  const int whole = rows == V * SIMD_WIDTH;
  UNROLL
  for (int j = 0; j < N; ++j) {
    real *c = C + (int64_t)j * ldc;
    for (int v = 0; v < V; ++v) {
      real *to = c + v * SIMD_WIDTH;
      if (v + 1 < V || whole) {
        simd_store(to, simd_load(to) + signs * sum[v][j]);
      } else {
        simd_store_part(to, simd_load_part(to, last) + signs * sum[v][j], last);
      }
    }
  }
}

/* Works on one strip of N columns of C, up to TALL vectors of rows at a time. */
INLINE void multiply_strip(const int padded, const int N, int32_t m, int32_t k, real sign,
                           const real *A, int32_t lda, const real *B, int32_t ldb, real *C,
                           int32_t ldc) {
  for (int32_t i = 0; i < m;) {
    const int32_t vectors = simd_count(m - i);
    const int32_t V = vectors == 4 ? 2 : sap_smaller(vectors, TALL);
    const int32_t rows = sap_smaller(m - i, V * SIMD_WIDTH);
    const real *a = A + i;
    real *c = C + i;
    switch (V) {
      case 1: multiply_block(padded, 1, N, rows, k, sign, a, lda, B, ldb, c, ldc); break;
      case 2: multiply_block(padded, 2, N, rows, k, sign, a, lda, B, ldb, c, ldc); break;
      default: multiply_block(padded, TALL, N, rows, k, sign, a, lda, B, ldb, c, ldc); break;
    }
    i += V * SIMD_WIDTH;
  }
}

/* Multiplies at most SAP_SLICE columns. */
INLINE void multiply_slice(const int padded, int32_t m, int32_t n, int32_t k, real sign,
                           const real *A, int32_t lda, const real *B, int32_t ldb, real *C,
                           int32_t ldc, int lower) {
  for (int32_t j = 0; j < n;) {
    /* two strips of about equal width are faster than a broad and a narrow one */
    const int32_t left = n - j;
    const int32_t N = left <= COLUMNS ? left : left < 2 * COLUMNS ? (left + 1) / 2 : COLUMNS;
    const int32_t first = lower ? j : 0;
    const real *a = A + first;
    const real *b = B + j;
    real *c = C + (int64_t)j * ldc + first;
    switch (N) {
      case 1: multiply_strip(padded, 1, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 2: multiply_strip(padded, 2, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 3: multiply_strip(padded, 3, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 4: multiply_strip(padded, 4, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 5: multiply_strip(padded, 5, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 6: multiply_strip(padded, 6, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
#if SAP_SIMD_REGISTERS == 32
      case 7: multiply_strip(padded, 7, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 8: multiply_strip(padded, 8, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
#endif
      default: break;
    }
    j += N;
  }
}

INLINE void multiply_any(const int padded, int32_t m, int32_t n, int32_t k, real sign,
                         const real *A, int32_t lda, const real *B, int32_t ldb, real *C,
                         int32_t ldc, int lower) {
  for (int32_t p = 0; p < k; p += SAP_SLICE) {
    multiply_slice(padded, m, n, sap_smaller(k - p, SAP_SLICE), sign, A + (int64_t)p * lda, lda,
                   B + (int64_t)p * ldb, ldb, C, ldc, lower);
  }
}

#endif
