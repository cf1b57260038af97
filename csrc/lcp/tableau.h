/* The dictionary of a linear complementarity problem,
 *
 *     x_B = q + T x_N,
 *
 * over the variables w_i, z_i and the artificial z_0. It begins with w = q + M z + d z_0, d = 1;
 * a pivot exchanges a basic variable, of a row, with a nonbasic one, of a column. All of T is kept
 * up to date by an update of rank one: for the problems of contact, n from 5 to some 200, that
 * costs less than a factorization per pivot, and the columns of w_j are those of the inverse of the
 * basis (with the sign turned), which the lexicographic rule and iterative refinement need.
 *
 * T is column-major with q as its first column. */
#ifndef SAPWOOD_LCP_TABLEAU_H
#define SAPWOOD_LCP_TABLEAU_H

#include "base/memory.h"
#include "linalg/kernels.h"

struct lcp_tableau {
  const struct sap_kernels *kernels;
  int32_t n, ld;
  int32_t n_columns;  /* n, or n + 1 with z_0 */
  double *q;          /* (n_columns + 1, ld): q, then T */
  int32_t *basic;     /* (n) variable of each row */
  int32_t *nonbasic;  /* (n + 1) variable of each column */
  int32_t *row;       /* (2n + 1) row of a variable, or -1 */
  int32_t *column;    /* (2n + 1) column of a variable, or -1 */
  double *entering;   /* (ld) scratch: the column of a pivot */
  double *leaving;    /* (n + 2) scratch: its row */
  int32_t *candidate; /* (n) scratch of ratio tests: rows */
  double *divisor;    /* (n) scratch of ratio tests: what their values are divided by */
};

/* where a method stops */
struct lcp_limits {
  int32_t max_pivots;
  int32_t least_index_after; /* pivots of PPM I */
  int32_t cover;             /* Lemke: number of the artificial variable's column */
  double feasible;           /* values above minus this count as >= 0 */
};

/* variables by number */
static inline int32_t lcp_w(int32_t i) { return i; }
static inline int32_t lcp_z(const struct lcp_tableau *t, int32_t i) { return t->n + i; }
static inline int32_t lcp_artificial(const struct lcp_tableau *t) { return 2 * t->n; }
static inline int32_t lcp_complement(const struct lcp_tableau *t, int32_t variable) {
  return variable < t->n ? variable + t->n : variable - t->n;
}

/* column j of T */
static inline double *lcp_column(const struct lcp_tableau *t, int32_t j) {
  return t->q + (int64_t)(j + 1) * t->ld;
}

/* room for n unknowns */
void lcp_tableau_carve(struct lcp_tableau *t, struct sap_arena *arena, int32_t n);

/* The dictionary w = q + M z, for M (n, n), row-major, and q (n). */
void lcp_tableau_load(struct lcp_tableau *t, int32_t n, const double *M, const double *q);

/* exchanges the variables of a row and a column with T_rs != 0 */
void lcp_pivot(struct lcp_tableau *t, int32_t r, int32_t s);

/* Makes those z_i basic that `start` (n) names, largest pivots first, but for those without a pivot
 * beyond the tolerance. Of a dictionary as loaded. Returns the number of pivots. Of a singular
 * block it may leave a pair w_i, z_i basic. */
int32_t lcp_tableau_enter(struct lcp_tableau *t, const int8_t *start, double tolerance);

/* 1 where one of each pair w_i, z_i is basic, as the methods need it */
int lcp_tableau_is_complementary(const struct lcp_tableau *t);

/* Gives the artificial variable, which has none yet, a column d > 0: of ones, or the k-th of others
 * that have little in common. */
void lcp_tableau_add_artificial(struct lcp_tableau *t, int32_t k);

#endif
