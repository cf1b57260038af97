/* Loops of a Newton iteration over the scalars of one island, fused so that each vector is read
 * once. vectors.c is compiled once per instruction set, like the dense kernels. */
#ifndef SAPWOOD_PROBLEM_PRODUCTS_VECTORS_H
#define SAPWOOD_PROBLEM_PRODUCTS_VECTORS_H

#include <stdint.h>

/* squares of the norms in (20), with D = diag(scale), and (v - v*)^T A (v - v*) */
struct sap_balance {
  double energy;   /* dw^T momentum */
  double momentum; /* |D A v|^2 */
  double impulse;  /* |D J^T gamma|^2 */
  double gradient; /* |D grad|^2 */
};

/* inner products along a direction */
struct sap_products {
  double linear;    /* dp^T (v - v*) */
  double quadratic; /* dv^T dp */
  double slope;     /* grad^T dv */
};

/* squares of the norm of a gradient, and of that of a bound on its error */
struct sap_norms {
  double value, bound;
};

struct sap_vector_loops {
  /* is A (n, n) zero off its diagonal, which is positive and finite? */
  int (*is_diagonal)(int32_t n, const double *A);

  /* sum over the entries above the diagonal of |A - A^T|; not finite where A (n, n) is not */
  double (*asymmetry)(int32_t n, const double *A);

  /* y = x^(-1/2) for the scalars [begin, end) */
  void (*inverse_roots)(int32_t begin, int32_t end, const double *x, double *y);

  /* y = A x for the blocks A of the nodes [begin, end), NULL where only their `diagonal` is not
   * zero */
  void (*multiply_mass)(int32_t begin, int32_t end, const int32_t *node_scalar,
                        const double *const *A, const double *diagonal, const double *x, double *y);

  /* gradient = momentum - impulse for the scalars [begin, end) */
  struct sap_balance (*balance)(int32_t begin, int32_t end, const double *dw,
                                const double *momentum, const double *momentum_star,
                                const double *impulse, const double *scale, double *gradient);

  /* x^T diag(weight) y for the scalars [begin, end) */
  double (*inner)(int32_t begin, int32_t end, const double *weight, const double *x,
                  const double *y);

  struct sap_products (*products)(int32_t begin, int32_t end, const double *dv, const double *dp,
                                  const double *dw, const double *gradient);

  /* sums (n) += |J_1| + |J_2| + |J_3| for J (3, n) row-major */
  void (*add_columns)(int32_t n, const double *J, double *sums);

  /* S (n, n) upper triangular, column-major, of A = U U^T, with zeros below the diagonal: S = U^-1,
   * S^T S = A^-1. Here and below strips are those of the branches that A has (branches.h): S is
   * computed there alone, and zero elsewhere. Returns 0 where A is not positive definite,
   * whose entries above the diagonal are read. */
  int (*invert)(int32_t n, const uint64_t *strips, const double *A, double *S);

  /* sums (n) = squares of the columns of S */
  void (*square_columns)(int32_t n, const uint64_t *strips, const double *S, double *sums);

  /* how many columns of J (n_rows, n) are not 0, and which; -1 where they are more than `most` */
  int32_t (*find_entries)(int32_t n_rows, int32_t n, const double *J, int32_t most, int32_t *entry);

  /* W (3, 3) += (S J^T)^T S J^T of J (n_rows <= 3, n) */
  void (*add_gram)(int32_t n, const uint64_t *strips, const double *S, int32_t n_rows,
                   const double *J, double W[9]);

  /* x = S^T y */
  void (*pull_inverse)(int32_t n, const uint64_t *strips, const double *S, const double *y,
                       double *x);

  /* x <- S^T S x; y (n) becomes S x. Returns |y|^2. */
  double (*multiply_inverse)(int32_t n, const uint64_t *strips, const double *S, double *x,
                             double *y);

  /* y += factor |A| |x| for A (n, n) */
  void (*add_absolute)(int32_t n, const double *A, double factor, const double *x, double *y);

  /* e += factor_x |x| + factor_y |y| for the scalars [begin, end); |S g|^2 and |S e|^2 for the
   * diagonal S */
  struct sap_norms (*add_magnitudes)(int32_t begin, int32_t end, double factor_x, const double *x,
                                     double factor_y, const double *y, const double *S,
                                     const double *g, double *e);

  /* adds |S x|^2 and | |S| e |^2 for S (n, n); for the diagonal S of the scalars [begin, end) */
  void (*add_norms)(int32_t n, const uint64_t *strips, const double *S, const double *x,
                    const double *e, struct sap_norms *norms);
  void (*add_diagonal_norms)(int32_t begin, int32_t end, const double *S, const double *x,
                             const double *e, struct sap_norms *norms);

  /* a step: v, dw += alpha dv, momentum += alpha dp, reach += |alpha dv| */
  void (*step)(int32_t begin, int32_t end, double alpha, const double *dv, const double *dp,
               double *v, double *dw, double *momentum, double *reach);

  /* products of J (rows, n) row-major, for a few rows: x (rows) = J v, y (n) += J^T x, and both of
   * |J| with |v| and x >= 0 */
  void (*multiply_rows)(int32_t rows, int32_t n, const double *J, const double *v, double *x);
  void (*add_rows)(int32_t rows, int32_t n, const double *J, const double *x, double *y);
  void (*multiply_absolute)(int32_t rows, int32_t n, const double *J, const double *v, double *x);
  void (*add_absolute_rows)(int32_t rows, int32_t n, const double *J, const double *x, double *y);

  /* x += alpha dx */
  void (*advance)(int32_t begin, int32_t end, double alpha, const double *dx, double *x);

  /* is any |x| of n scalars larger than `most`? what is not a number is none; y = factor x */
  int (*exceeds)(int32_t n, const double *x, double most);
  void (*scale)(int32_t n, double factor, const double *x, double *y);
};

/* for the instruction set of number `set`, as in sap_kernels_of() */
const struct sap_vector_loops *sap_vector_loops_of(int32_t set);

#endif
