/* This module holds the loops of a Newton iteration over the scalars of one island, fused so that
 * each vector is read once. vectors.c is compiled once per instruction set, like the dense
 * kernels. */
#ifndef SAPWOOD_PROBLEM_PRODUCTS_VECTORS_H
#define SAPWOOD_PROBLEM_PRODUCTS_VECTORS_H

#include <stdint.h>

/* Squares of the norms in (20), with D = diag(scale), and (v - v*)^T A (v - v*). */
struct sap_balance {
  double energy;   /* dw^T momentum */
  double momentum; /* |D A v|^2 */
  double impulse;  /* |D J^T gamma|^2 */
  double gradient; /* |D grad|^2 */
};

/* Inner products along a direction. */
struct sap_products {
  double linear;    /* dp^T (v - v*) */
  double quadratic; /* dv^T dp */
  double slope;     /* grad^T dv */
};

/* Squares of the norms of a gradient and of a bound on its error. */
struct sap_norms {
  double value, bound;
};

struct sap_vector_loops {
  /* is A (n, n) zero off its diagonal, and the diagonal positive and finite? */
  int (*is_diagonal)(int32_t n, const double *A);

  /* returns the sum of |A - A^T| above the diagonal; not finite if A (n, n) is not */
  double (*asymmetry)(int32_t n, const double *A);

  /* sets y = x^(-1/2) for the scalars [begin, end) */
  void (*inverse_roots)(int32_t begin, int32_t end, const double *x, double *y);

  /* sets y = A x for the blocks A of the nodes [begin, end); NULL if only `diagonal` is not zero */
  void (*multiply_mass)(int32_t begin, int32_t end, const int32_t *node_scalar,
                        const double *const *A, const double *diagonal, const double *x, double *y);

  /* sets gradient = momentum - impulse for the scalars [begin, end) */
  struct sap_balance (*balance)(int32_t begin, int32_t end, const double *dw,
                                const double *momentum, const double *momentum_star,
                                const double *impulse, const double *scale, double *gradient);

  /* returns x^T diag(weight) y for the scalars [begin, end) */
  double (*inner)(int32_t begin, int32_t end, const double *weight, const double *x,
                  const double *y);

  struct sap_products (*products)(int32_t begin, int32_t end, const double *dv, const double *dp,
                                  const double *dw, const double *gradient);

  /* adds |J_1| + |J_2| + |J_3| to sums (n), for J (3, n) row-major */
  void (*add_columns)(int32_t n, const double *J, double *sums);

  /* finds S (n, n), upper triangular, column-major, with zeros below the diagonal: S = U^-1 of A =
   * U U^T, S^T S = A^-1. Reads the entries of A above the diagonal. S is computed only in the
   * strips of the branches of A (branches.h), here and below, and zero elsewhere. Returns 0 if A is
   * not positive definite */
  int (*invert)(int32_t n, const uint64_t *strips, const double *A, double *S);

  /* sets sums (n) to the squares of the columns of S */
  void (*square_columns)(int32_t n, const uint64_t *strips, const double *S, double *sums);

  /* finds the nonzero columns of J (n_rows, n); returns their number, or -1 if it exceeds `most` */
  int32_t (*find_entries)(int32_t n_rows, int32_t n, const double *J, int32_t most, int32_t *entry);

  /* adds (S J^T)^T S J^T to W (3, 3), for J (n_rows <= 3, n) */
  void (*add_gram)(int32_t n, const uint64_t *strips, const double *S, int32_t n_rows,
                   const double *J, double W[9]);

  /* sets x = S^T y */
  void (*pull_inverse)(int32_t n, const uint64_t *strips, const double *S, const double *y,
                       double *x);

  /* sets x <- S^T S x and y (n) = S x; returns |y|^2 */
  double (*multiply_inverse)(int32_t n, const uint64_t *strips, const double *S, double *x,
                             double *y);

  /* adds factor |A| |x| to y, for A (n, n) */
  void (*add_absolute)(int32_t n, const double *A, double factor, const double *x, double *y);

  /* adds factor_x |x| + factor_y |y| to e for the scalars [begin, end); returns |S g|^2 and |S e|^2
   * for the diagonal S */
  struct sap_norms (*add_magnitudes)(int32_t begin, int32_t end, double factor_x, const double *x,
                                     double factor_y, const double *y, const double *S,
                                     const double *g, double *e);

  /* add |S x|^2 and | |S| e |^2 for S (n, n), or for the diagonal S of the scalars [begin, end) */
  void (*add_norms)(int32_t n, const uint64_t *strips, const double *S, const double *x,
                    const double *e, struct sap_norms *norms);
  void (*add_diagonal_norms)(int32_t begin, int32_t end, const double *S, const double *x,
                             const double *e, struct sap_norms *norms);

  /* takes a step: v, dw += alpha dv, momentum += alpha dp, reach += |alpha dv| */
  void (*step)(int32_t begin, int32_t end, double alpha, const double *dv, const double *dp,
               double *v, double *dw, double *momentum, double *reach);

  /* multiply by J (rows, n) row-major, for a few rows: x (rows) = J v, y (n) += J^T x, and the same
   * with |J|, |v| and x >= 0 */
  void (*multiply_rows)(int32_t rows, int32_t n, const double *J, const double *v, double *x);
  void (*add_rows)(int32_t rows, int32_t n, const double *J, const double *x, double *y);
  void (*multiply_absolute)(int32_t rows, int32_t n, const double *J, const double *v, double *x);
  void (*add_absolute_rows)(int32_t rows, int32_t n, const double *J, const double *x, double *y);

  /* adds alpha dx to x */
  void (*advance)(int32_t begin, int32_t end, double alpha, const double *dx, double *x);

  /* is any |x| of n scalars larger than `most`? NaN is not; `scale` sets y = factor x */
  int (*exceeds)(int32_t n, const double *x, double most);
  void (*scale)(int32_t n, double factor, const double *x, double *y);
};

/* Returns the loops for the instruction set of number `set`, as in sap_kernels_of(). */
const struct sap_vector_loops *sap_vector_loops_of(int32_t set);

#endif
