/* This module decomposes 3 x 3 matrices, row-major: singular values and symmetric eigenvalues.
 *
 * Jacobi's method gives small singular values to high relative accuracy, and needs no case
 * distinctions for equal ones. Nothing is allocated. */
#ifndef SAPWOOD_FEM_MATRIX3_H
#define SAPWOOD_FEM_MATRIX3_H

/* F = U diag(s) V^T with det U = det V = +1 and s[0] >= s[1] >= |s[2]|: the last singular value
 * has the sign of det F. */
struct fem_svd {
  double U[9], V[9];
  double s[3];
};

void fem_decompose(const double F[9], struct fem_svd *svd);

/* R = U V^T, the rotation nearest to F */
void fem_rotation(const struct fem_svd *svd, double R[9]);

/* The same rotation from F alone, faster where F is well conditioned. */
void fem_polar(const double F[9], double R[9]);

/* Replaces the negative eigenvalues of the symmetric H by zero. */
void fem_clamp_eigenvalues(double H[9]);

/* C = A B, C = A B^T */
void fem_multiply(const double A[9], const double B[9], double C[9]);
void fem_multiply_transposed(const double A[9], const double B[9], double C[9]);

static inline double fem_determinant(const double F[9]) {
  return F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) +
         F[2] * (F[3] * F[7] - F[4] * F[6]);
}

#endif
