/* This file solves with one panel for a set of SAP_PATH_COLUMNS right-hand sides (path_columns.h).
 * They are the columns of X, which is stored row by row: vectors run along its rows. */
#include "linalg/kernels/panel_product.h"

enum { COLUMNS_SET = SAP_PATH_COLUMNS, PASS = SAP_PATH_COLUMNS / SIMD_WIDTH < 2 ? 1 : 2 };

/* Solves with the pivot block at column c for its n rows y of V vectors: nothing for L, D^-T for
 * U^T, and the triangle with reciprocal diagonal for Cholesky's L. */
INLINE void solve_pivot(const int V, const int n, const enum sap_path_side side,
                        const double *block, int32_t ld, simd y[][PASS]) {
  if (side == SAP_PATH_UPPER) {
    simd x[BLOCK][PASS];
    UNROLL
    for (int i = 0; i < n; ++i) {
      for (int v = 0; v < V; ++v) {
        x[i][v] = simd_zero();
      }
      for (int k = 0; k < n; ++k) {
        const simd entry = simd_all(block[(int64_t)i * ld + k]);
        for (int v = 0; v < V; ++v) {
          x[i][v] += entry * y[k][v];
        }
      }
    }
    UNROLL
    for (int i = 0; i < n; ++i) {
      for (int v = 0; v < V; ++v) {
        y[i][v] = x[i][v];
      }
    }
  }
  UNROLL
  for (int k = 0; side == SAP_PATH_CHOLESKY && k < n; ++k) {
    const double *column = block + (int64_t)k * ld;
    for (int v = 0; v < V; ++v) {
      y[k][v] *= simd_all(column[k]);
    }
    UNROLL
    for (int i = k + 1; i < n; ++i) {
      for (int v = 0; v < V; ++v) {
        y[i][v] -= simd_all(column[i]) * y[k][v];
      }
    }
  }
}

/* Computes X <- X - A y for m rows of X. */
INLINE void subtract_rows(const int V, const int n, int32_t m, const double *A, int32_t ld,
                          simd y[][PASS], double *X) {
  for (int32_t i = 0; i < m; ++i, X += COLUMNS_SET) {
    simd sum[PASS];
    for (int v = 0; v < V; ++v) {
      sum[v] = simd_load(X + v * SIMD_WIDTH);
    }
    UNROLL
    for (int l = 0; l < n; ++l) {
      const simd entry = simd_all(A[(int64_t)l * ld + i]);
      for (int v = 0; v < V; ++v) {
        sum[v] -= entry * y[l][v];
      }
    }
    for (int v = 0; v < V; ++v) {
      simd_store(X + v * SIMD_WIDTH, sum[v]);
    }
  }
}

/* Takes V vectors of each row of X. */
INLINE void push_vectors(const int V, const int n, const enum sap_path_side side,
                         const struct sap_supernode *s, const struct sap_segment *segment,
                         const double *P, int32_t c, double *X) {
  const int32_t ld = s->ld, next = c + n;
  const double *block = P + (int64_t)c * ld, *B = block + s->n_cols;
  double *own = X + (int64_t)(s->scalar + c) * COLUMNS_SET;
  simd y[BLOCK][PASS];
  UNROLL
  for (int l = 0; l < n; ++l) {
    for (int v = 0; v < V; ++v) {
      y[l][v] = simd_load(own + l * COLUMNS_SET + v * SIMD_WIDTH);
    }
  }
  solve_pivot(V, n, side, block + c, ld, y);
  UNROLL
  for (int l = 0; l < n && side != SAP_PATH_LOWER; ++l) {
    for (int v = 0; v < V; ++v) {
      simd_store(own + l * COLUMNS_SET + v * SIMD_WIDTH, y[l][v]);
    }
  }
  subtract_rows(V, n, s->n_cols - next, block + next, ld, y, own + (int64_t)n * COLUMNS_SET);
  for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
    subtract_rows(V, n, segment[g].length, B, ld, y, X + (int64_t)segment[g].scalar * COLUMNS_SET);
    B += segment[g].length;
  }
}

INLINE void push_columns_block(const int n, const enum sap_path_side side,
                               const struct sap_supernode *s, const struct sap_segment *segment,
                               const double *P, int32_t c, int32_t n_columns, double *X) {
  int32_t w = 0;
  for (; w + SIMD_WIDTH < n_columns; w += PASS * SIMD_WIDTH) {
    push_vectors(PASS, n, side, s, segment, P, c, X + w);
  }
  if (w < n_columns) {
    push_vectors(1, n, side, s, segment, P, c, X + w);
  }
}

INLINE void push_columns(const enum sap_path_side side, const struct sap_supernode *s,
                         const struct sap_segment *segment, const int32_t *node_scalar,
                         const double *P, int32_t n, double *X) {
  for (int32_t node = s->node_begin; node < s->node_end; ++node) {
    const int32_t end = node_scalar[node + 1] - s->scalar;
    for (int32_t c = node_scalar[node] - s->scalar; c < end; c += BLOCK) {
      FOR_BLOCK(sap_smaller(end - c, BLOCK), push_columns_block, side, s, segment, P, c, n, X);
    }
  }
}

void SAP_OF_ISA(sap_push_columns_)(enum sap_path_side side, const struct sap_supernode *s,
                                   const struct sap_segment *segment, const int32_t *node_scalar,
                                   const double *values, int32_t n, double *X) {
  const double *P = values + s->values;
  switch (side) {
    case SAP_PATH_LOWER: push_columns(SAP_PATH_LOWER, s, segment, node_scalar, P, n, X); break;
    case SAP_PATH_UPPER: push_columns(SAP_PATH_UPPER, s, segment, node_scalar, P, n, X); break;
    default: push_columns(SAP_PATH_CHOLESKY, s, segment, node_scalar, P, n, X); break;
  }
}

/* Adds R rows and V vectors of columns of Z^T Y to S, for Z and Y from these on. */
INLINE void add_tile(const int R, const int V, int32_t m, const double *Z, const double *Y,
                     double *S) {
  simd sum[4][3];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      sum[r][v] = simd_load(S + r * COLUMNS_SET + v * SIMD_WIDTH);
    }
  }
  for (int32_t i = 0; i < m; ++i, Z += COLUMNS_SET, Y += COLUMNS_SET) {
    simd y[3];
    for (int v = 0; v < V; ++v) {
      y[v] = simd_load(Y + v * SIMD_WIDTH);
    }
    UNROLL
    for (int r = 0; r < R; ++r) {
      const simd entry = simd_all(Z[r]);
      for (int v = 0; v < V; ++v) {
        sum[r][v] += entry * y[v];
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      simd_store(S + r * COLUMNS_SET + v * SIMD_WIDTH, sum[r][v]);
    }
  }
}

void SAP_OF_ISA(sap_add_columns_product_)(int32_t m, int n_rows, int n_columns, const double *Z,
                                          const double *Y, double *S) {
  for (int row = 0; row < n_rows; row += 4) {
    double *rows = S + row * COLUMNS_SET;
    int w = 0;
    for (; w + 2 * SIMD_WIDTH < n_columns && w + 3 * SIMD_WIDTH <= COLUMNS_SET;
         w += 3 * SIMD_WIDTH) {
      add_tile(4, 3, m, Z + row, Y + w, rows + w);
    }
    for (; w + SIMD_WIDTH < n_columns; w += 2 * SIMD_WIDTH) {
      add_tile(4, 2, m, Z + row, Y + w, rows + w);
    }
    if (w < n_columns) {
      add_tile(4, 1, m, Z + row, Y + w, rows + w);
    }
  }
}
