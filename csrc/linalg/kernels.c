#include "linalg/kernels.h"

#include <float.h>
#include <math.h>

#include "linalg/simd.h"

/* compiled once per instruction set: SAP_ISA names the table */
#ifndef SAP_ISA
#define SAP_ISA baseline
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

#define INLINE static inline __attribute__((always_inline))

/* columns of C, or of a panel, that stay in registers */
enum { COLUMNS = 6 };

/* ---- multiply ---- */

/* C (rows of V vectors, the last one cut by `last`; N columns) += sign A B^T */
INLINE void multiply_block(const int V, const int N, int32_t k, double sign, const double *A,
                           int32_t lda, const double *B, int32_t ldb, double *C, int32_t ldc,
                           simd_mask last) {
  simd sum[2][COLUMNS];
  for (int v = 0; v < V; ++v) {
    for (int j = 0; j < N; ++j) {
      sum[v][j] = simd_zero();
    }
  }
  for (int32_t p = 0; p < k; ++p) {
    const double *a = A + (int64_t)p * lda;
    const double *b = B + (int64_t)p * ldb;
    simd column[2];
    for (int v = 0; v < V; ++v) {
      column[v] =
          v + 1 < V ? simd_load(a + v * SIMD_WIDTH) : simd_load_part(a + v * SIMD_WIDTH, last);
    }
    for (int j = 0; j < N; ++j) {
      const simd scale = simd_all(b[j]);
      for (int v = 0; v < V; ++v) {
        sum[v][j] += column[v] * scale;
      }
    }
  }
  const simd signs = simd_all(sign);
  for (int j = 0; j < N; ++j) {
    double *c = C + (int64_t)j * ldc;
    for (int v = 0; v + 1 < V; ++v) {
      simd_store(c + v * SIMD_WIDTH, simd_load(c + v * SIMD_WIDTH) + signs * sum[v][j]);
    }
    double *tail = c + (V - 1) * SIMD_WIDTH;
    simd_store_part(tail, simd_load_part(tail, last) + signs * sum[V - 1][j], last);
  }
}

/* one strip of N columns of C, two vectors of rows at a time */
INLINE void multiply_strip(const int N, int32_t m, int32_t k, double sign, const double *A,
                           int32_t lda, const double *B, int32_t ldb, double *C, int32_t ldc) {
  int32_t i = 0;
  for (; m - i > SIMD_WIDTH; i += 2 * SIMD_WIDTH) {
    const int32_t left = m - i - SIMD_WIDTH;
    multiply_block(2, N, k, sign, A + i, lda, B, ldb, C + i, ldc,
                   simd_first(left < SIMD_WIDTH ? left : SIMD_WIDTH));
  }
  if (i < m) {
    multiply_block(1, N, k, sign, A + i, lda, B, ldb, C + i, ldc, simd_first(m - i));
  }
}

static void multiply(int32_t m, int32_t n, int32_t k, double sign, const double *A, int32_t lda,
                     const double *B, int32_t ldb, double *C, int32_t ldc, int lower) {
  for (int32_t j = 0; j < n; j += COLUMNS) {
    const int32_t first = lower ? j : 0;
    const double *a = A + first;
    const double *b = B + j;
    double *c = C + (int64_t)j * ldc + first;
    switch (n - j) {
      case 1: multiply_strip(1, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 2: multiply_strip(2, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 3: multiply_strip(3, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 4: multiply_strip(4, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 5: multiply_strip(5, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      default: multiply_strip(6, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
    }
  }
}

/* ---- factor ---- */

/* L L^T = P for the n x n square at P, n <= COLUMNS; 1/L_jj on the diagonal */
INLINE int32_t factor_square(const int n, double *P, int32_t ld) {
  double L[COLUMNS][COLUMNS];
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      L[j][i] = P[(int64_t)j * ld + i];
    }
  }
  for (int j = 0; j < n; ++j) {
    if (!(L[j][j] > 0 && L[j][j] <= DBL_MAX)) {
      return j;
    }
    const double inverse = 1 / sqrt(L[j][j]);
    L[j][j] = inverse;
    for (int i = j + 1; i < n; ++i) {
      L[j][i] *= inverse;
    }
    for (int l = j + 1; l < n; ++l) {
      for (int i = l; i < n; ++i) {
        L[l][i] -= L[j][i] * L[j][l];
      }
    }
  }
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      P[(int64_t)j * ld + i] = L[j][i];
    }
  }
  return n;
}

/* B <- B L^-T for m rows at B and the square L above them */
INLINE void factor_rows(const int n, int32_t m, const double *L, double *B, int32_t ld) {
  for (int32_t i = 0; i < m; i += SIMD_WIDTH) {
    const simd_mask part = simd_first(m - i < SIMD_WIDTH ? m - i : SIMD_WIDTH);
    simd x[COLUMNS];
    for (int j = 0; j < n; ++j) {
      simd sum = simd_load_part(B + (int64_t)j * ld + i, part);
      for (int l = 0; l < j; ++l) {
        sum -= x[l] * simd_all(L[(int64_t)l * ld + j]);
      }
      x[j] = sum * simd_all(L[(int64_t)j * ld + j]);
      simd_store_part(B + (int64_t)j * ld + i, x[j], part);
    }
  }
}

INLINE int32_t factor_strip(const int n, int32_t m, double *P, int32_t ld) {
  const int32_t done = factor_square(n, P, ld);
  if (done == n) {
    factor_rows(n, m - n, P, P + n, ld);
  }
  return done;
}

static int32_t factor(int32_t rows, int32_t cols, double *P, int32_t ld) {
  for (int32_t j = 0; j < cols; j += COLUMNS) {
    const int32_t n = cols - j < COLUMNS ? cols - j : COLUMNS;
    double *strip = P + (int64_t)j * ld + j;
    if (j > 0) {
      multiply(rows - j, n, j, -1, P + j, ld, P + j, ld, strip, ld, 0);
    }
    int32_t done = 0;
    switch (n) {
      case 1: done = factor_strip(1, rows - j, strip, ld); break;
      case 2: done = factor_strip(2, rows - j, strip, ld); break;
      case 3: done = factor_strip(3, rows - j, strip, ld); break;
      case 4: done = factor_strip(4, rows - j, strip, ld); break;
      case 5: done = factor_strip(5, rows - j, strip, ld); break;
      default: done = factor_strip(6, rows - j, strip, ld); break;
    }
    if (done < n) {
      return j + done;
    }
  }
  return cols;
}

/* ---- matrix times vector ---- */

static void gemv(int32_t m, int32_t n, const double *A, int32_t lda, const double *x, double *y) {
  for (int32_t i = 0; i < m; i += SIMD_WIDTH) {
    const simd_mask part = simd_first(m - i < SIMD_WIDTH ? m - i : SIMD_WIDTH);
    simd sum[3] = {simd_load_part(y + i, part), simd_zero(), simd_zero()};
    int32_t j = 0;
    for (; j + 2 < n; j += 3) {
      for (int32_t k = 0; k < 3; ++k) {
        sum[k] += simd_load_part(A + (int64_t)(j + k) * lda + i, part) * simd_all(x[j + k]);
      }
    }
    for (; j < n; ++j) {
      sum[0] += simd_load_part(A + (int64_t)j * lda + i, part) * simd_all(x[j]);
    }
    simd_store_part(y + i, sum[0] + (sum[1] + sum[2]), part);
  }
}

INLINE double dot(int32_t n, const double *a, const double *b) {
  simd sum = simd_zero();
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = simd_first(n - i < SIMD_WIDTH ? n - i : SIMD_WIDTH);
    sum += simd_load_part(a + i, part) * simd_load_part(b + i, part);
  }
  return simd_sum(sum);
}

static void gemv_transposed(int32_t m, int32_t n, const double *A, int32_t lda, const double *x,
                            double *y) {
  for (int32_t j = 0; j < n; ++j) {
    y[j] += dot(m, A + (int64_t)j * lda, x);
  }
}

static void gram(int32_t n, const double *S, const double *J, double W[9]) {
  simd sum[3][3];
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) {
      sum[r][c] = simd_zero();
    }
  }
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    /* rows i.. of X; S is zero beyond the diagonal */
    const simd_mask part = simd_first(n - i < SIMD_WIDTH ? n - i : SIMD_WIDTH);
    const int32_t last = n - i < SIMD_WIDTH ? n : i + SIMD_WIDTH;
    simd x[3] = {simd_zero(), simd_zero(), simd_zero()};
    for (int32_t k = 0; k < last; ++k) {
      const simd column = simd_load_part(S + (int64_t)k * n + i, part);
      for (int r = 0; r < 3; ++r) {
        x[r] += column * simd_all(J[(int64_t)r * n + k]);
      }
    }
    for (int r = 0; r < 3; ++r) {
      for (int c = r; c < 3; ++c) {
        sum[r][c] += x[r] * x[c];
      }
    }
  }
  for (int r = 0; r < 3; ++r) {
    for (int c = r; c < 3; ++c) {
      const double w = simd_sum(sum[r][c]);
      W[3 * r + c] += w;
      W[3 * c + r] += r < c ? w : 0;
    }
  }
}

/* ---- triangular solves ---- */

static void solve_forward(int32_t rows, int32_t cols, const double *P, int32_t ld, double *x,
                          double *t) {
  for (int32_t j = 0; j < cols; ++j) {
    const double *column = P + (int64_t)j * ld;
    x[j] *= column[j];
    for (int32_t i = j + 1; i < cols; ++i) {
      x[i] -= column[i] * x[j];
    }
  }
  for (int32_t i = 0; i < rows - cols; ++i) {
    t[i] = 0;
  }
  gemv(rows - cols, cols, P + cols, ld, x, t);
}

/* x (N) -= A^T t for A (m, N), N <= COLUMNS */
INLINE void subtract_products(const int N, int32_t m, const double *A, int32_t lda, const double *t,
                              double *x) {
  simd sum[COLUMNS];
  for (int j = 0; j < N; ++j) {
    sum[j] = simd_zero();
  }
  for (int32_t i = 0; i < m; i += SIMD_WIDTH) {
    const simd_mask part = simd_first(m - i < SIMD_WIDTH ? m - i : SIMD_WIDTH);
    const simd rows = simd_load_part(t + i, part);
    for (int j = 0; j < N; ++j) {
      sum[j] += simd_load_part(A + (int64_t)j * lda + i, part) * rows;
    }
  }
  for (int j = 0; j < N; ++j) {
    x[j] -= simd_sum(sum[j]);
  }
}

static void solve_backward(int32_t rows, int32_t cols, const double *P, int32_t ld, double *x,
                           const double *t) {
  /* strips from the last to the first: what lies below a strip first, then its triangle */
  for (int32_t first = (cols - 1) / COLUMNS * COLUMNS; first >= 0; first -= COLUMNS) {
    const int32_t n = cols - first < COLUMNS ? cols - first : COLUMNS;
    const double *strip = P + (int64_t)first * ld;
    double *y = x + first;
    if (n == COLUMNS) {
      subtract_products(COLUMNS, cols - first - n, strip + first + n, ld, y + n, y);
      subtract_products(COLUMNS, rows - cols, strip + cols, ld, t, y);
    } else {
      for (int32_t j = 0; j < n; ++j) {
        subtract_products(1, cols - first - n, strip + (int64_t)j * ld + first + n, ld, y + n,
                          y + j);
        subtract_products(1, rows - cols, strip + (int64_t)j * ld + cols, ld, t, y + j);
      }
    }
    for (int32_t j = n - 1; j >= 0; --j) {
      y[j] *= strip[(int64_t)j * ld + first + j];
      for (int32_t i = 0; i < j; ++i) {
        y[i] -= strip[(int64_t)i * ld + first + j] * y[j];
      }
    }
  }
}

const struct sap_kernels JOIN(sap_kernels_, SAP_ISA);
const struct sap_kernels JOIN(sap_kernels_, SAP_ISA) = {
    TEXT(SAP_ISA), multiply, factor, solve_forward, solve_backward, gemv, gram, gemv_transposed,
};
