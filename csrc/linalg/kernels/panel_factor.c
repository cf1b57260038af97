/* This file factors one panel (Cholesky) in strips of SIMD_STRIP columns.
 *
 * All rows lie on a grid of whole vectors from the top of each strip on, so the triangle of a strip
 * is in one vector per column. The contributions of the strips to the left are summed in registers,
 * then the strip is eliminated there too, without square roots in the chain from column to column:
 *
 *        c_l <- c_l - (c_j c_lj) r_j,    r_j = 1/c_jj,    L_j = c_j sqrt(r_j)
 *
 * Two columns go together, since the second pivot is known before the first is divided by: r_j+1 =
 * c_jj / (c_jj c_j+1,j+1 - c_j+1,j^2). Lanes above the diagonal hold meaningless values on the way
 * and are stored as zeros. Wide panels go slice by slice: a factored slice of columns is subtracted
 * from all columns to the right, while it is in the cache. */
#include <math.h>

#include "linalg/kernels/isa.h"
#include "linalg/linalg_tuning.h"

/* vectors of rows that are worked on together below the triangle */
enum { TALL = 3 };

/* range of 1/pivot in which no product of two pivots overflows or loses digits, even if numbers
 * that underflow count as zero */
#ifdef SAP_IN_SINGLE
static const real SMALL = 0x1p-50F, LARGE = 0x1p+50F;
#else
static const real SMALL = 0x1p-500, LARGE = 0x1p+500;
#endif

/* Returns the mask of vector v; all V vectors are whole except the last. */
INLINE simd_mask part_of(const int v, const int V, simd_mask part) {
  return v + 1 < V ? simd_first(SIMD_WIDTH) : part;
}

/* values of a triangle L that the rows below need */
struct triangle {
  real unit[SIMD_STRIP * SIMD_WIDTH]; /* L_lj / L_jj, column by column */
  real inverse[SIMD_WIDTH];           /* 1 / L_jj */
};

/* Loads V vectors of rows of a strip of n columns at T, less the products with the `cols` columns
 * to the left; B is the triangle of the strip, T and B in the same panel. */
INLINE void load_strip(const int padded, const int V, const int n, int32_t cols, const real *T,
                       const real *B, int32_t ld, simd_mask part, simd x[][SIMD_STRIP]) {
  UNROLL
  for (int l = 0; l < n; ++l) {
    for (int v = 0; v < V; ++v) {
      x[v][l] = load_rows(padded, T + (int64_t)l * ld + v * SIMD_WIDTH, part);
    }
  }
  for (int32_t k = -cols; k < 0; ++k) {
    const real *b = B + (int64_t)k * ld;
    simd column[TALL];
    for (int v = 0; v < V; ++v) {
      column[v] = load_rows(padded, T + (int64_t)k * ld + v * SIMD_WIDTH, part);
    }
    UNROLL
    for (int l = 0; l < n; ++l) {
      const simd scale = simd_all(b[l]);
      for (int v = 0; v < V; ++v) {
        x[v][l] -= column[v] * scale;
      }
    }
  }
}

/* Eliminates the n columns c of V vectors of rows, the triangle in the first; r receives the
 * reciprocals of the pivots. The next two pivots are formed ahead of their columns. */
INLINE void eliminate(const int V, const int n, simd c[][SIMD_STRIP], simd_scalar r[]) {
  simd *const top = c[0];
  simd_scalar c_jj = simd_lane(top[0], 0), c_ij = c_jj, c_ii = c_jj;
  if (n > 1) {
    c_ij = simd_lane(top[0], 1);
    c_ii = simd_lane(top[1], 1);
  }
  UNROLL
  for (int j = 0; j < n; j += 2) {
    r[j] = simd_scalar_of(1) / c_jj;
    if (j + 1 == n) {
      break;
    }
    r[j + 1] = c_jj / (c_jj * c_ii - c_ij * c_ij);
    if (j + 2 < n) {
      const simd_scalar a = c_ij, p = simd_lane(top[j], j + 2);
      const simd_scalar s = simd_lane(top[j + 1], j + 2) - (p * a) * r[j];
      c_jj = simd_lane(top[j + 2], j + 2) - (p * p) * r[j] - (s * s) * r[j + 1];
      if (j + 3 < n) {
        const simd_scalar q = simd_lane(top[j], j + 3);
        const simd_scalar t = simd_lane(top[j + 1], j + 3) - (q * a) * r[j];
        c_ij = simd_lane(top[j + 2], j + 3) - (q * p) * r[j] - (t * s) * r[j + 1];
        c_ii = simd_lane(top[j + 3], j + 3) - (q * q) * r[j] - (t * t) * r[j + 1];
      }
    }
    UNROLL
    for (int k = j; k < j + 2; ++k) {
      const simd r_k = simd_spread(r[k]);
      for (int v = V - 1; v >= 0; --v) {
        const simd unit = c[v][k] * r_k;
        UNROLL
        for (int l = k + 1; l < n; ++l) {
          c[v][l] -= unit * simd_lane_to_all(top[k], l);
        }
      }
    }
  }
}

/* Eliminates in plain loops, for pivots of any size: `rows` rows and n columns at T, `cols` to the
 * left. Returns n, or the first column whose pivot is not positive and finite. */
static __attribute__((noinline)) int32_t eliminate_plainly(int32_t rows, int32_t n, int32_t cols,
                                                           real *T, int32_t ld,
                                                           struct triangle *L) {
  for (int32_t j = 0; j < n; ++j) {
    real *c = T + (int64_t)j * ld;
    for (int32_t k = -cols; k < j; ++k) {
      const real *left = T + (int64_t)k * ld;
      for (int32_t i = j; i < rows; ++i) {
        c[i] -= left[i] * left[j];
      }
    }
    if (!(c[j] > 0 && c[j] <= REAL_MAX)) {
      return j;
    }
    c[j] = L->inverse[j] = (real)(1 / sqrt(c[j]));
    for (int32_t i = j + 1; i < rows; ++i) {
      c[i] *= c[j];
    }
    for (int32_t i = j + 1; i < n; ++i) {
      L->unit[j * SIMD_WIDTH + i] = c[i] * c[j];
    }
  }
  return n;
}

/* Factors the V vectors of rows at the top of a strip, with `rows` rows of the panel from there on.
 * Returns n, or the first column whose pivot is not positive and finite. */
INLINE int32_t factor_top(const int padded, const int V, const int n, int32_t rows, int32_t cols,
                          real *T, int32_t ld, struct triangle *L) {
  simd c[2][SIMD_STRIP];
  simd_scalar r[SIMD_STRIP];
  const simd_mask part = simd_left(rows - (V - 1) * SIMD_WIDTH);
  load_strip(padded, V, n, cols, T, T, ld, part, c);
  eliminate(V, n, c, r);
  simd_store(L->inverse, simd_all(1));
  UNROLL
  for (int j = 0; j < n; ++j) {
    L->inverse[j] = r[j][0];
  }
  /* inside this range no product has overflown or lost digits to underflow */
  if (!simd_within(simd_load(L->inverse), SMALL, LARGE)) {
    return eliminate_plainly(sap_smaller(rows, V * SIMD_WIDTH), n, cols, T, ld, L);
  }
  UNROLL
  for (int j = 0; j < n; ++j) {
    real *t = T + (int64_t)j * ld;
    const simd_scalar root = simd_scalar_sqrt(r[j]);
    const simd inverse = simd_spread(root);
    L->inverse[j] = root[0];
    simd_store(L->unit + j * SIMD_WIDTH, c[0][j] * simd_spread(r[j]));
    const simd below = simd_beyond(c[0][j] * inverse, j);
    store_rows(padded, t, simd_with_lane(below, j, inverse), part_of(0, V, part));
    for (int v = 1; v < V; ++v) {
      store_rows(padded, t + v * SIMD_WIDTH, c[v][j] * inverse, part_of(v, V, part));
    }
  }
  return n;
}

INLINE int32_t factor_one(const int padded, const int n, int32_t rows, int32_t cols, real *T,
                          int32_t ld, struct triangle *L) {
  return factor_top(padded, 1, n, rows, cols, T, ld, L);
}

INLINE int32_t factor_two(const int padded, const int n, int32_t rows, int32_t cols, real *T,
                          int32_t ld, struct triangle *L) {
  return factor_top(padded, 2, n, rows, cols, T, ld, L);
}

/* Solves V vectors of rows below the triangle B of their strip: T <- T L^-T. */
INLINE void factor_rows(const int padded, const int V, const int n, int32_t cols, real *T,
                        const real *B, int32_t ld, simd_mask part, const struct triangle *L) {
  simd x[TALL][SIMD_STRIP];
  load_strip(padded, V, n, cols, T, B, ld, part, x);
  UNROLL
  for (int j = 0; j < n; ++j) {
    UNROLL
    for (int l = j + 1; l < n; ++l) {
      const simd scale = simd_all(L->unit[j * SIMD_WIDTH + l]);
      for (int v = 0; v < V; ++v) {
        x[v][l] -= x[v][j] * scale;
      }
    }
    const simd inverse = simd_all(L->inverse[j]);
    for (int v = 0; v < V; ++v) {
      store_rows(padded, T + (int64_t)j * ld + v * SIMD_WIDTH, x[v][j] * inverse,
                 part_of(v, V, part));
    }
  }
}

/* Solves rows [from, rows) of the panel, counted from the triangle B of n columns on. */
INLINE void factor_below(const int padded, const int n, int32_t from, int32_t rows, int32_t cols,
                         real *B, int32_t ld, const struct triangle *L) {
  for (int32_t i = from; i < rows;) {
    const int32_t vectors = padded ? simd_count(rows - i) : 1;
    const int32_t V = vectors == 4 ? 2 : sap_smaller(vectors, TALL);
    const simd_mask part = simd_left(rows - i - (V - 1) * SIMD_WIDTH);
    if (V == 1) {
      factor_rows(padded, 1, n, cols, B + i, B, ld, part, L);
    } else if (V == 2) {
      factor_rows(padded, padded ? 2 : 1, n, cols, B + i, B, ld, part, L);
    } else {
      factor_rows(padded, padded ? TALL : 1, n, cols, B + i, B, ld, part, L);
    }
    i += V * SIMD_WIDTH;
  }
}

static void padded_below(int32_t n, int32_t from, int32_t rows, int32_t cols, real *B, int32_t ld,
                         const struct triangle *L) {
  FOR_WIDTH(1, n, factor_below, from, rows, cols, B, ld, L);
}

static int32_t padded_top(int32_t n, int32_t rows, int32_t cols, real *T, int32_t ld,
                          struct triangle *L) {
  int32_t done = 0;
  if (rows <= SIMD_WIDTH) {
    FOR_WIDTH(1, n, done = factor_one, rows, cols, T, ld, L);
  } else {
    FOR_WIDTH(1, n, done = factor_two, rows, cols, T, ld, L);
  }
  return done;
}

/* Factors the columns from `begin` to `end`, less the products of those between them. */
static int32_t factor_slice(const struct sap_supernode *s, int32_t begin, int32_t end,
                            void *values) {
  real *P = (real *)values + s->values;
  const int32_t ld = s->ld;
  for (int32_t j = begin; j < end; j += SIMD_STRIP) {
    struct triangle L;
    real *T = P + (int64_t)j * ld + j;
    const int32_t n = sap_smaller(end - j, SIMD_STRIP);
    const int32_t done = padded_top(n, ld - j, j - begin, T, ld, &L);
    if (done < n) {
      return j + done;
    }
    padded_below(n, 2 * SIMD_WIDTH, ld - j, j - begin, T, ld, &L);
  }
  return end;
}

int32_t SAP_OF_PANEL(sap_factor_panel_)(const struct sap_supernode *s, void *values) {
  for (int32_t begin = 0, end; begin < s->n_cols; begin = end) {
    end = sap_slice_end(begin, s->n_cols);
    const int32_t done = factor_slice(s, begin, end, values);
    if (done < end) {
      return done;
    }
    if (end < s->n_cols) {
      SAP_OF_PANEL(sap_push_slice_)(s, begin, end, values);
    }
  }
  return s->n_cols;
}

#ifndef SAP_IN_SINGLE
static void cut_below(int32_t n, int32_t from, int32_t rows, int32_t cols, real *B, int32_t ld,
                      const struct triangle *L) {
  FOR_WIDTH(0, n, factor_below, from, rows, cols, B, ld, L);
}

static int32_t cut_top(int32_t n, int32_t rows, int32_t cols, real *T, int32_t ld,
                       struct triangle *L) {
  int32_t done = 0;
  FOR_WIDTH(0, n, done = factor_one, rows, cols, T, ld, L);
  return done;
}

int32_t SAP_OF_ISA(sap_factor_)(int32_t rows, int32_t cols, double *P, int32_t ld) {
  for (int32_t j = 0; j < cols; j += SIMD_STRIP) {
    struct triangle L;
    real *T = P + (int64_t)j * ld + j;
    const int32_t n = sap_smaller(cols - j, SIMD_STRIP);
    const int32_t done = cut_top(n, rows - j, j, T, ld, &L);
    if (done < n) {
      return j + done;
    }
    cut_below(n, SIMD_WIDTH, rows - j, j, T, ld, &L);
  }
  return cols;
}
#endif
