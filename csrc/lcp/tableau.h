/* This module keeps the dictionary of a linear complementarity problem,
 *
 *     x_B = q + T x_N,
 *
 * over the variables w_i, z_i and the artificial z_0. It begins with w = q + M z + d z_0, d = 1; a
 * pivot exchanges the basic variable of a row with the nonbasic variable of a column. A rank-one
 * update keeps all of T current: for contact problems, n from 5 to some 200, that costs less than a
 * factorization per pivot. The columns of w_j are the columns of the inverse of the basis with the
 * opposite sign, which the lexicographic rule and iterative refinement need.
 *
 * T is column-major with q as its first column. */
#ifndef SAPWOOD_LCP_TABLEAU_H
#define SAPWOOD_LCP_TABLEAU_H

#include "base/memory.h"
#include "linalg/kernels/kernels.h"

struct lcp_tableau {
  const struct sap_kernels *kernels;
  int32_t n, ld;
  int32_t n_columns;  /* n, or n + 1 with z_0 */
  double *q;          /* (n_columns + 1, ld): q, then T */
  int32_t *basic;     /* (n) variable of each row */
  int32_t *nonbasic;  /* (n + 1) variable of each column */
  int32_t *row;       /* (2n + 1) row of a variable, or -1 */
  int32_t *column;    /* (2n + 1) column of a variable, or -1 */
  double *entering;   /* (ld) scratch: column of a pivot */
  double *leaving;    /* (n + 2) scratch: row of a pivot */
  int32_t *candidate; /* (n) scratch of ratio tests: rows */
  double *divisor;    /* (n) scratch of ratio tests: divisors */
};

/* Limits at which a method stops. */
struct lcp_limits {
  int32_t max_pivots;
  int32_t least_index_after; /* pivots of PPM I */
  int32_t cover;             /* number of the artificial variable's column, for Lemke's method */
  double feasible;           /* values above -feasible count as >= 0 */
};

/* Return the numbers of the variables. */
static inline int32_t lcp_w(int32_t i) { return i; }
static inline int32_t lcp_z(const struct lcp_tableau *t, int32_t i) { return t->n + i; }
static inline int32_t lcp_artificial(const struct lcp_tableau *t) { return 2 * t->n; }
static inline int32_t lcp_complement(const struct lcp_tableau *t, int32_t variable) {
  return variable < t->n ? variable + t->n : variable - t->n;
}

/* Returns column j of T. */
static inline double *lcp_column(const struct lcp_tableau *t, int32_t j) {
  return t->q + (int64_t)(j + 1) * t->ld;
}

/* Carves the memory for n unknowns. */
void lcp_tableau_carve(struct lcp_tableau *t, struct sap_arena *arena, int32_t n);

/* Loads the dictionary w = q + M z, for M (n, n), row-major, and q (n). */
void lcp_tableau_load(struct lcp_tableau *t, int32_t n, const double *M, const double *q);

/* Exchanges the variables of a row and a column with T_rs != 0. */
void lcp_pivot(struct lcp_tableau *t, int32_t r, int32_t s);

/* Makes the z_i basic that `start` (n) names, largest pivots first, except those without a pivot
 * beyond the tolerance, in a dictionary as loaded. Returns the number of pivots. With a singular
 * block both w_i and z_i may become basic. */
int32_t lcp_tableau_enter(struct lcp_tableau *t, const int8_t *start, double tolerance);

/* Returns 1 if exactly one of each pair w_i, z_i is basic, as the methods require. */
int lcp_tableau_is_complementary(const struct lcp_tableau *t);

/* Gives the artificial variable, which has none yet, a column d > 0: of ones, or the k-th of others
 * that have little in common. */
void lcp_tableau_add_artificial(struct lcp_tableau *t, int32_t k);

#endif
