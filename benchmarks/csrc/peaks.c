/* What this core reaches at most: multiply-adds, roots and memory traffic in plain loops, and the
 * dense kernels of the solver at given sizes with everything in the first-level cache. Each
 * function returns the seconds of `rounds` rounds. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "linalg/kernels/kernels.h"

#if defined(__AVX512F__)
enum { WIDTH = 8 };
#elif defined(__AVX__)
enum { WIDTH = 4 };
#else
enum { WIDTH = 2 };
#endif
typedef double vector __attribute__((vector_size(WIDTH * sizeof(double))));
typedef double unaligned
    __attribute__((vector_size(WIDTH * sizeof(double)), aligned(sizeof(double)), may_alias));

/* as many as hide the latency of a multiply-add on two units */
enum { CHAINS = 12, ROOTS = 512 };

/* results go here, so that no compiler drops a loop */
static volatile double sink;

/* flops of a round of benchmark_multiply_add, roots of one of benchmark_roots */
double benchmark_multiply_add_flops(void) { return 2.0 * CHAINS * WIDTH; }
double benchmark_roots_count(void) { return 2.0 * ROOTS; }

double benchmark_multiply_add(long rounds) {
  vector x[CHAINS], scale, shift;
  for (int i = 0; i < WIDTH; ++i) {
    scale[i] = 0.999;
    shift[i] = 1e-3;
  }
  for (int c = 0; c < CHAINS; ++c) {
    x[c] = shift * (double)c;
  }
  const double start = sap_seconds();
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < CHAINS; ++c) {
      x[c] = x[c] * scale + shift;
    }
  }
  const double seconds = sap_seconds() - start;
  for (int c = 0; c < CHAINS; ++c) {
    sink = x[c][0];
  }
  return seconds;
}

/* a square root and a division of every entry */
double benchmark_roots(long rounds) {
  static double x[ROOTS], y[ROOTS];
  for (int i = 0; i < ROOTS; ++i) {
    x[i] = 1 + i;
  }
  const double start = sap_seconds();
  for (long r = 0; r < rounds; ++r) {
    for (int i = 0; i < ROOTS; ++i) {
      y[i] = 1 / sqrt(x[i]);
    }
    x[r % ROOTS] = y[r % ROOTS] + 1;
  }
  const double seconds = sap_seconds() - start;
  sink = y[1];
  return seconds;
}

/* sum of a, 8 bytes per entry */
double benchmark_read(long n, const double *a, long rounds) {
  const double start = sap_seconds();
  for (long r = 0; r < rounds; ++r) {
    vector sum[CHAINS] = {0};
    long i = 0;
    for (; i + CHAINS * WIDTH <= n; i += CHAINS * WIDTH) {
#pragma GCC unroll 12
      for (int c = 0; c < CHAINS; ++c) {
        sum[c] += *(const unaligned *)(a + i + c * WIDTH);
      }
    }
    for (int c = 1; c < CHAINS; ++c) {
      sum[0] += sum[c];
    }
    for (; i < n; ++i) {
      sum[0][0] += a[i];
    }
    sink = sum[0][0];
  }
  return sap_seconds() - start;
}

/* b = a, 16 bytes per entry */
double benchmark_copy(long n, const double *a, double *b, long rounds) {
  const double start = sap_seconds();
  for (long r = 0; r < rounds; ++r) {
    memcpy(b, a, (size_t)n * sizeof *a);
    sink = b[r % n];
  }
  return sap_seconds() - start;
}

/* a = b + s c, 24 bytes per entry */
double benchmark_triad(long n, double *restrict a, const double *restrict b,
                       const double *restrict c, long rounds) {
  const double start = sap_seconds();
  for (long r = 0; r < rounds; ++r) {
    const double s = 1e-3 * (double)(r & 7);
    for (long i = 0; i < n; ++i) {
      a[i] = b[i] + s * c[i];
    }
    sink = a[r % n];
  }
  return sap_seconds() - start;
}

/* C (m, n) -= A (m, k) B (n, k)^T, the lower half where `lower` */
double benchmark_multiply(int32_t m, int32_t n, int32_t k, int lower, const double *A,
                          const double *B, double *C, long rounds) {
  const struct sap_kernels *kernels = sap_kernels_best();
  const double start = sap_seconds();
  for (long r = 0; r < rounds; ++r) {
    kernels->multiply(m, n, k, -1, A, m, B, n, C, m, lower);
  }
  return sap_seconds() - start;
}

/* Cholesky of a panel (rows, cols) that is copied from P to scratch each time; without `factor` the
 * copy alone. Returns a negative number where a pivot fails. */
double benchmark_factor(int32_t rows, int32_t cols, const double *P, double *scratch, int factor,
                        long rounds) {
  const struct sap_kernels *kernels = sap_kernels_best();
  const size_t bytes = (size_t)rows * (size_t)cols * sizeof *P;
  const double start = sap_seconds();
  for (long r = 0; r < rounds; ++r) {
    memcpy(scratch, P, bytes);
    sink = scratch[0];
    if (factor && kernels->factor(rows, cols, scratch, rows) < cols) {
      return -1;
    }
  }
  return sap_seconds() - start;
}

const char *benchmark_instruction_set(void) { return sap_kernels_best()->name; }
