/* This file solves with one panel for a set of SAP_PATH_COLUMNS right-hand sides (path_columns.h).
 * They are the columns of X, which is stored row by row: vectors run along its rows. */
#include "linalg/panel_product.h"

enum { COLUMNS_SET = SAP_PATH_COLUMNS, PASS = SAP_PATH_COLUMNS / SIMD_WIDTH < 2 ? 1 : 2 };

/* Solves with the pivot block at column c for its n rows y of PASS vectors: nothing for L, D^-T for
 * U^T, and the triangle with reciprocal diagonal for Cholesky's L. */
INLINE void solve_pivot(const int n, const enum sap_path_side side, const double *block, int32_t ld,
                        simd y[][PASS]) {
  if (side == SAP_PATH_UPPER) {
    simd x[BLOCK][PASS];
    UNROLL
    for (int i = 0; i < n; ++i) {
      for (int v = 0; v < PASS; ++v) {
        x[i][v] = simd_zero();
      }
      for (int k = 0; k < n; ++k) {
        const simd entry = simd_all(block[(int64_t)i * ld + k]);
        for (int v = 0; v < PASS; ++v) {
          x[i][v] += entry * y[k][v];
        }
      }
    }
    UNROLL
    for (int i = 0; i < n; ++i) {
      for (int v = 0; v < PASS; ++v) {
        y[i][v] = x[i][v];
      }
    }
  }
  UNROLL
  for (int k = 0; side == SAP_PATH_CHOLESKY && k < n; ++k) {
    const double *column = block + (int64_t)k * ld;
    for (int v = 0; v < PASS; ++v) {
      y[k][v] *= simd_all(column[k]);
    }
    UNROLL
    for (int i = k + 1; i < n; ++i) {
      for (int v = 0; v < PASS; ++v) {
        y[i][v] -= simd_all(column[i]) * y[k][v];
      }
    }
  }
}

/* Computes X <- X - A y for m rows of X. */
INLINE void subtract_rows(const int n, int32_t m, const double *A, int32_t ld, simd y[][PASS],
                          double *X) {
  for (int32_t i = 0; i < m; ++i, X += COLUMNS_SET) {
    simd sum[PASS];
    for (int v = 0; v < PASS; ++v) {
      sum[v] = simd_load(X + v * SIMD_WIDTH);
    }
    UNROLL
    for (int l = 0; l < n; ++l) {
      const simd entry = simd_all(A[(int64_t)l * ld + i]);
      for (int v = 0; v < PASS; ++v) {
        sum[v] -= entry * y[l][v];
      }
    }
    for (int v = 0; v < PASS; ++v) {
      simd_store(X + v * SIMD_WIDTH, sum[v]);
    }
  }
}

INLINE void push_columns_block(const int n, const enum sap_path_side side,
                               const struct sap_supernode *s, const struct sap_segment *segment,
                               const double *P, int32_t c, double *X) {
  const int32_t ld = s->ld, next = c + n;
  const double *block = P + (int64_t)c * ld;
  for (int32_t w = 0; w < COLUMNS_SET; w += PASS * SIMD_WIDTH) {
    double *own = X + (int64_t)(s->scalar + c) * COLUMNS_SET + w;
    const double *B = block + s->n_cols;
    simd y[BLOCK][PASS];
    UNROLL
    for (int l = 0; l < n; ++l) {
      for (int v = 0; v < PASS; ++v) {
        y[l][v] = simd_load(own + l * COLUMNS_SET + v * SIMD_WIDTH);
      }
    }
    solve_pivot(n, side, block + c, ld, y);
    UNROLL
    for (int l = 0; l < n && side != SAP_PATH_LOWER; ++l) {
      for (int v = 0; v < PASS; ++v) {
        simd_store(own + l * COLUMNS_SET + v * SIMD_WIDTH, y[l][v]);
      }
    }
    subtract_rows(n, s->n_cols - next, block + next, ld, y, own + (int64_t)n * COLUMNS_SET);
    for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
      subtract_rows(n, segment[g].length, B, ld, y,
                    X + (int64_t)segment[g].scalar * COLUMNS_SET + w);
      B += segment[g].length;
    }
  }
}

INLINE void push_columns(const enum sap_path_side side, const struct sap_supernode *s,
                         const struct sap_segment *segment, const int32_t *node_scalar,
                         const double *P, double *X) {
  for (int32_t node = s->node_begin; node < s->node_end; ++node) {
    const int32_t end = node_scalar[node + 1] - s->scalar;
    for (int32_t c = node_scalar[node] - s->scalar; c < end; c += BLOCK) {
      FOR_BLOCK(sap_smaller(end - c, BLOCK), push_columns_block, side, s, segment, P, c, X);
    }
  }
}

void SAP_OF_ISA(sap_push_columns_)(enum sap_path_side side, const struct sap_supernode *s,
                                   const struct sap_segment *segment, const int32_t *node_scalar,
                                   const double *values, double *X) {
  const double *P = values + s->values;
  switch (side) {
    case SAP_PATH_LOWER: push_columns(SAP_PATH_LOWER, s, segment, node_scalar, P, X); break;
    case SAP_PATH_UPPER: push_columns(SAP_PATH_UPPER, s, segment, node_scalar, P, X); break;
    default: push_columns(SAP_PATH_CHOLESKY, s, segment, node_scalar, P, X); break;
  }
}

/* Adds R rows of Z^T Y, from column `row` of Z on. */
INLINE void add_product_rows(const int R, int32_t m, const double *Z, const double *Y, int row,
                             double *S) {
  for (int32_t w = 0; w < COLUMNS_SET; w += PASS * SIMD_WIDTH) {
    simd sum[12][PASS];
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < PASS; ++v) {
        sum[r][v] = simd_zero();
      }
    }
    const double *z = Z + row, *y = Y + w;
    for (int32_t i = 0; i < m; ++i, z += COLUMNS_SET, y += COLUMNS_SET) {
      UNROLL
      for (int r = 0; r < R; ++r) {
        const simd entry = simd_all(z[r]);
        for (int v = 0; v < PASS; ++v) {
          sum[r][v] += entry * simd_load(y + v * SIMD_WIDTH);
        }
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < PASS; ++v) {
        double lanes[SIMD_WIDTH];
        simd_store(lanes, sum[r][v]);
        for (int k = 0; k < SIMD_WIDTH; ++k) {
          S[(row + r) * COLUMNS_SET + w + v * SIMD_WIDTH + k] += lanes[k];
        }
      }
    }
  }
}

void SAP_OF_ISA(sap_add_columns_product_)(int32_t m, int n_rows, const double *Z, const double *Y,
                                          double *S) {
  if (PASS == 1 && n_rows == 12) {
    add_product_rows(12, m, Z, Y, 0, S); /* enough registers for four contacts at once */
    return;
  }
  for (int row = 0; row < n_rows; row += 4) {
    add_product_rows(4, m, Z, Y, row, S);
  }
}
