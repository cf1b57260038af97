/* This module scales a quadratic program and writes all of its constraints as rows
 *
 *     R x = r   or   R x >= r,
 *
 * which are dense, sparse, or bounds (unit vectors). All scale factors are powers of two:
 *
 *     x = beta E x',   H' = k E H E,   g' = (k/beta) E g,   R' = F R E,   r' = F r/beta,
 *     multipliers = (beta/k) F multipliers'
 *
 * with the largest entries of each row and column of [H' R'^T; R' 0], and of (g'/1000, r'), about
 * 1. The constraints set the size of x', unless they are very near the origin compared with the
 * minimum without them. */
#ifndef SAPWOOD_LCP_PROGRAM_H
#define SAPWOOD_LCP_PROGRAM_H

#include "base/memory.h"
#include "linalg/kernels/kernels.h"

/* Largest sizes for which a solver has room. */
struct qp_sizes {
  int32_t n, n_equalities, n_inequalities;
};

struct qp_program {
  const struct sap_kernels *kernels;
  int32_t n, ld; /* ld: leading dimension of columns with n entries */
  double *H;     /* (n, ld) column-major, symmetric */
  double *g;     /* (n) */

  /* rows: dense ones first, then sparse ones, then bounds */
  int32_t n_rows, n_dense, n_sparse, n_bounds;
  double *dense;    /* (n_dense, ld) row-major */
  double *columns;  /* (n, ld_dense) dense rows, column-major */
  int32_t ld_dense; /* n_dense rounded up to whole vectors */
  int32_t *begin;   /* (n_sparse + 1) first entry of each sparse row */
  int32_t *index;   /* columns of the entries */
  double *value;    /* values of the entries */
  int32_t *bound;   /* (n_bounds) column */
  double *sign;     /* (n_bounds) 1 for a lower bound, -1 for an upper one */
  double *r;        /* (n_rows) */
  int8_t *equality; /* (n_rows) */
  int32_t *source;  /* (n_rows) place of the row in A, C, lower and upper, one after the other */

  double *E;       /* (n) */
  double *F;       /* (n_rows) */
  double *F_given; /* (n_equalities + n_inequalities) scratch: F by source */
  double k, beta;
};

void qp_program_carve(struct qp_program *p, struct sap_arena *arena, const struct qp_sizes *most);

/* Scales and sorts a given program, whose numbers have been checked. */
void qp_program_load(struct qp_program *p, const qp_problem *given);

/* Replaces the cost by |x'|^2/2, so that the program only asks for a feasible point, and lets the
 * constraints set the size of x'. */
void qp_program_drop_cost(struct qp_program *p);

/* Adds factor H x to y (n). */
void qp_add_hessian(const struct qp_program *p, double factor, const double *x, double *y);

/* Sets rows (n_rows) = R x. */
void qp_rows(const struct qp_program *p, const double *x, double *rows);

/* Adds factor R^T rows to y (n). */
void qp_add_rows(const struct qp_program *p, double factor, const double *rows, double *y);

/* Writes one row of R to x (n). */
void qp_read_row(const struct qp_program *p, int32_t row, double *x);

/* Returns sum_j |R_ij x_j| of one row. */
double qp_row_terms(const struct qp_program *p, int32_t row, const double *x);

/* Returns the largest |x_i|; infinite if one is not finite. */
double qp_largest(int32_t n, const double *x);

/* Returns the larger number; fmax() of the library costs a call and handles NaN. */
static inline double qp_larger(double a, double b) { return a > b ? a : b; }

double qp_dot(int32_t n, const double *x, const double *y);

#endif
