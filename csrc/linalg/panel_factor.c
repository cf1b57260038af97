/* Cholesky factorization of one panel, in strips of as many columns as a vector has lanes.
 *
 * All rows lie on a grid of whole vectors from the top of the panel on, so the triangle of a strip is one
 * vector per column. What the strips to the left contribute is summed in registers, then the strip is
 * eliminated there too, without square roots in the chain from column to column:
 *
 *        c_l <- c_l - (c_j c_lj) r_j,    r_j = 1/c_jj,    L_j = c_j sqrt(r_j)
 *
 * Two columns go together, since the second pivot is known before the first is divided by:
 * r_j+1 = c_jj / (c_jj c_j+1,j+1 - c_j+1,j^2). */
#include <float.h>
#include <math.h>

#include "linalg/isa.h"

/* vectors of rows that go together below the triangle */
enum { TALL = 3 };

/* what the rows below need to know of a triangle L */
struct triangle {
  double unit[SIMD_WIDTH * SIMD_WIDTH]; /* L_lj / L_jj, column by column */
  double inverse[SIMD_WIDTH];           /* 1 / L_jj */
};

/* V vectors of rows of a strip of n columns at T, less the products with the `cols` columns left of it; B
 * is the triangle of the strip, T and B in the same panel */
INLINE void load_strip(const int V, const int n, int32_t cols, const double *T, const double *B,
                       int32_t ld, simd_mask last, simd x[][SIMD_WIDTH]) {
  UNROLL
  for (int l = 0; l < n; ++l) {
    UNROLL
    for (int v = 0; v < V; ++v) {
      const double *t = T + (int64_t)l * ld + v * SIMD_WIDTH;
      x[v][l] = v + 1 < V ? simd_load(t) : simd_load_part(t, last);
    }
  }
  for (int32_t k = -cols; k < 0; ++k) {
    const double *b = B + (int64_t)k * ld;
    simd column[TALL];
    UNROLL
    for (int v = 0; v < V; ++v) {
      const double *t = T + (int64_t)k * ld + v * SIMD_WIDTH;
      column[v] = v + 1 < V ? simd_load(t) : simd_load_part(t, last);
    }
    UNROLL
    for (int l = 0; l < n; ++l) {
      const simd scale = simd_all(b[l]);
      UNROLL
      for (int v = 0; v < V; ++v) {
        x[v][l] -= column[v] * scale;
      }
    }
  }
}

/* eliminates the n columns c. Are all reciprocals r of pivots of ordinary size? Then no product above has
 * overflown, nor lost digits to underflow. */
INLINE int eliminate(const int n, simd c[], double r[]) {
  double smallest = DBL_MAX, largest = 0;
  UNROLL
  for (int j = 0; j < n; j += 2) {
    const double c_jj = simd_lane(c[j], j);
    r[j] = 1 / c_jj;
    smallest = smallest < r[j] ? smallest : r[j];
    largest = largest > r[j] ? largest : r[j];
    if (j + 1 == n) {
      break;
    }
    const double c_ij = simd_lane(c[j], j + 1), c_ii = simd_lane(c[j + 1], j + 1);
    r[j + 1] = c_jj / (c_jj * c_ii - c_ij * c_ij);
    smallest = smallest < r[j + 1] ? smallest : r[j + 1];
    largest = largest > r[j + 1] ? largest : r[j + 1];
    const simd r_j = simd_all(r[j]), r_i = simd_all(r[j + 1]);
    UNROLL
    for (int l = j + 1; l < n; ++l) {
      c[l] -= (c[j] * simd_lane_to_all(c[j], l)) * r_j;
    }
    UNROLL
    for (int l = j + 2; l < n; ++l) {
      c[l] -= (c[j + 1] * simd_lane_to_all(c[j + 1], l)) * r_i;
    }
  }
  return smallest >= 0x1p-500 && largest <= 0x1p+500;
}

/* the same in plain loops, for pivots of any size: `rows` rows and n columns at T, `cols` to the left.
 * Returns n, or the first column whose pivot is not positive and finite. */
static int32_t eliminate_plainly(int32_t rows, int32_t n, int32_t cols, double *T, int32_t ld,
                                 struct triangle *L) {
  for (int32_t j = 0; j < n; ++j) {
    double *c = T + (int64_t)j * ld;
    for (int32_t k = -cols; k < j; ++k) {
      const double *left = T + (int64_t)k * ld;
      for (int32_t i = j; i < rows; ++i) {
        c[i] -= left[i] * left[j];
      }
    }
    if (!(c[j] > 0 && c[j] <= DBL_MAX)) {
      return j;
    }
    c[j] = L->inverse[j] = 1 / sqrt(c[j]);
    for (int32_t i = j + 1; i < rows; ++i) {
      c[i] *= c[j];
    }
    for (int32_t i = j + 1; i < n; ++i) {
      L->unit[j * SIMD_WIDTH + i] = c[i] * c[j];
    }
  }
  return n;
}

/* the vector of rows at the top of a strip; `rows` of the panel from there on */
INLINE int32_t factor_triangle(const int n, int32_t rows, int32_t cols, double *T, int32_t ld,
                               struct triangle *L) {
  simd c[1][SIMD_WIDTH];
  double r[SIMD_WIDTH];
  const simd_mask part = simd_left(rows);
  load_strip(1, n, cols, T, T, ld, part, c);
  if (!eliminate(n, c[0], r)) {
    return eliminate_plainly(sap_smaller(rows, SIMD_WIDTH), n, cols, T, ld, L);
  }
  UNROLL
  for (int j = 0; j < n; ++j) {
    L->inverse[j] = sqrt(r[j]);
    simd_store(L->unit + j * SIMD_WIDTH, c[0][j] * simd_all(r[j]));
    const simd inverse = simd_all(L->inverse[j]);
    simd_store_part(T + (int64_t)j * ld, simd_with_lane(c[0][j] * inverse, j, inverse), part);
  }
  return n;
}

/* V vectors of rows below the triangle B of their strip: T <- T L^-T */
INLINE void factor_rows(const int V, const int n, int32_t cols, double *T, const double *B,
                        int32_t ld, simd_mask last, const struct triangle *L) {
  simd x[TALL][SIMD_WIDTH];
  load_strip(V, n, cols, T, B, ld, last, x);
  UNROLL
  for (int j = 0; j < n; ++j) {
    UNROLL
    for (int l = j + 1; l < n; ++l) {
      const simd scale = simd_all(L->unit[j * SIMD_WIDTH + l]);
      UNROLL
      for (int v = 0; v < V; ++v) {
        x[v][l] -= x[v][j] * scale;
      }
    }
    const simd inverse = simd_all(L->inverse[j]);
    UNROLL
    for (int v = 0; v < V; ++v) {
      double *t = T + (int64_t)j * ld + v * SIMD_WIDTH;
      if (v + 1 < V) {
        simd_store(t, x[v][j] * inverse);
      } else {
        simd_store_part(t, x[v][j] * inverse, last);
      }
    }
  }
}

/* a strip of n columns at T, with `rows` rows of the panel from there on and `cols` columns to the left */
INLINE int32_t factor_strip(const int n, int32_t rows, int32_t cols, double *T, int32_t ld) {
  struct triangle L;
  const int32_t done = factor_triangle(n, rows, cols, T, ld, &L);
  if (done < n) {
    return done;
  }
  for (int32_t i = SIMD_WIDTH; i < rows;) {
    const int32_t vectors = simd_count(rows - i);
    const int32_t V = vectors == 4 ? 2 : sap_smaller(vectors, TALL);
    const simd_mask last = simd_left(rows - i - (V - 1) * SIMD_WIDTH);
    switch (V) {
      case 1: factor_rows(1, n, cols, T + i, T, ld, last, &L); break;
      case 2: factor_rows(2, n, cols, T + i, T, ld, last, &L); break;
      default: factor_rows(3, n, cols, T + i, T, ld, last, &L); break;
    }
    i += V * SIMD_WIDTH;
  }
  return n;
}

int32_t SAP_OF_ISA(sap_factor_panel_)(int32_t rows, int32_t cols, double *P, int32_t ld) {
  for (int32_t j = 0; j < cols; j += SIMD_WIDTH) {
    const int32_t n = sap_smaller(cols - j, SIMD_WIDTH);
    double *T = P + (int64_t)j * ld + j;
    int32_t done = 0;
    switch (n) {
      case 1: done = factor_strip(1, rows - j, j, T, ld); break;
      case 2: done = factor_strip(2, rows - j, j, T, ld); break;
#if SAP_SIMD_WIDTH > 2
      case 3: done = factor_strip(3, rows - j, j, T, ld); break;
      case 4: done = factor_strip(4, rows - j, j, T, ld); break;
#endif
#if SAP_SIMD_WIDTH > 4
      case 5: done = factor_strip(5, rows - j, j, T, ld); break;
      case 6: done = factor_strip(6, rows - j, j, T, ld); break;
      case 7: done = factor_strip(7, rows - j, j, T, ld); break;
      case 8: done = factor_strip(8, rows - j, j, T, ld); break;
#endif
      default: break;
    }
    if (done < n) {
      return j + done;
    }
  }
  return cols;
}
