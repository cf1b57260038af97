#include "linalg/kernels.h"

#include "linalg/isa.h"

/* ---- multiply ---- */

/* columns of C, and vectors of its rows, that stay in registers */
enum { COLUMNS = SAP_SIMD_WIDTH == 8 ? 8 : 6, TALL = SAP_SIMD_WIDTH == 8 ? 3 : 2 };

/* C (rows of V vectors, the last one cut by `last`; N columns) += sign A B^T. With `padded` A may be read
 * beyond its rows. */
INLINE void multiply_block(const int padded, const int V, const int N, int32_t k, double sign,
                           const double *A, int32_t lda, const double *B, int32_t ldb, double *C,
                           int32_t ldc, simd_mask last) {
  simd sum[TALL][COLUMNS];
  UNROLL
  for (int j = 0; j < N; ++j) {
    for (int v = 0; v < V; ++v) {
      sum[v][j] = simd_zero();
    }
  }
  for (int32_t p = 0; p < k; ++p) {
    const double *a = A + (int64_t)p * lda;
    const double *b = B + (int64_t)p * ldb;
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
  UNROLL
  for (int j = 0; j < N; ++j) {
    double *c = C + (int64_t)j * ldc;
    for (int v = 0; v + 1 < V; ++v) {
      simd_store(c + v * SIMD_WIDTH, simd_load(c + v * SIMD_WIDTH) + signs * sum[v][j]);
    }
    double *tail = c + (V - 1) * SIMD_WIDTH;
    simd_store_part(tail, simd_load_part(tail, last) + signs * sum[V - 1][j], last);
  }
}

/* one strip of N columns of C, up to TALL vectors of rows at a time */
INLINE void multiply_strip(const int padded, const int N, int32_t m, int32_t k, double sign,
                           const double *A, int32_t lda, const double *B, int32_t ldb, double *C,
                           int32_t ldc) {
  for (int32_t i = 0; i < m;) {
    const int32_t vectors = simd_count(m - i);
    const int32_t V = vectors == 4 ? 2 : sap_smaller(vectors, TALL);
    const simd_mask last = simd_left(m - i - (V - 1) * SIMD_WIDTH);
    const double *a = A + i;
    double *c = C + i;
    switch (V) {
      case 1: multiply_block(padded, 1, N, k, sign, a, lda, B, ldb, c, ldc, last); break;
      case 2: multiply_block(padded, 2, N, k, sign, a, lda, B, ldb, c, ldc, last); break;
      default: multiply_block(padded, TALL, N, k, sign, a, lda, B, ldb, c, ldc, last); break;
    }
    i += V * SIMD_WIDTH;
  }
}

INLINE void multiply_any(const int padded, int32_t m, int32_t n, int32_t k, double sign,
                         const double *A, int32_t lda, const double *B, int32_t ldb, double *C,
                         int32_t ldc, int lower) {
  for (int32_t j = 0; j < n;) {
    /* two strips of about equal width rather than a wide and a narrow one */
    const int32_t left = n - j;
    const int32_t N = left <= COLUMNS ? left : left < 2 * COLUMNS ? (left + 1) / 2 : COLUMNS;
    const int32_t first = lower ? j : 0;
    const double *a = A + first;
    const double *b = B + j;
    double *c = C + (int64_t)j * ldc + first;
    switch (N) {
      case 1: multiply_strip(padded, 1, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 2: multiply_strip(padded, 2, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 3: multiply_strip(padded, 3, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 4: multiply_strip(padded, 4, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 5: multiply_strip(padded, 5, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 6: multiply_strip(padded, 6, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
#if SAP_SIMD_WIDTH == 8
      case 7: multiply_strip(padded, 7, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
      case 8: multiply_strip(padded, 8, m - first, k, sign, a, lda, b, ldb, c, ldc); break;
#endif
      default: break;
    }
    j += N;
  }
}

static void multiply(int32_t m, int32_t n, int32_t k, double sign, const double *A, int32_t lda,
                     const double *B, int32_t ldb, double *C, int32_t ldc, int lower) {
  multiply_any(0, m, n, k, sign, A, lda, B, ldb, C, ldc, lower);
}

static void push_updates(const struct sap_supernode *s, const struct sap_update *update,
                         const double *P, double *values) {
  for (int32_t i = s->update_begin; i < s->update_end; ++i) {
    const struct sap_update *u = &update[i];
    /* of free bodies, the most frequent by far: no way to it through tables of jumps */
    if (u->n_cols == 6 && u->n_rows <= SIMD_WIDTH) {
      multiply_block(1, 1, 6, s->n_cols, -1, P + u->row, s->ld, P + u->col, s->ld,
                     values + u->target, u->target_ld, simd_left(u->n_rows));
      continue;
    }
    multiply_any(1, u->n_rows, u->n_cols, s->n_cols, -1, P + u->row, s->ld, P + u->col, s->ld,
                 values + u->target, u->target_ld, u->row == u->col);
  }
}

/* ---- J A^-1 J^T ---- */

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

const struct sap_kernels SAP_OF_ISA(sap_kernels_);
const struct sap_kernels SAP_OF_ISA(sap_kernels_) = {
    SAP_TEXT(SAP_ISA),
    multiply,
    SAP_OF_ISA(sap_factor_),
    SAP_OF_ISA(sap_solve_forward_),
    SAP_OF_ISA(sap_solve_backward_),
    gram,
    SAP_OF_ISA(sap_factor_panel_),
    push_updates,
    SAP_OF_ISA(sap_push_solution_),
    SAP_OF_ISA(sap_pull_solution_),
};
