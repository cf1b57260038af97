#include "fem/matrix3.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "fem/fem_tuning.h"

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

void fem_multiply(const double A[9], const double B[9], double C[9]) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
    }
  }
}

void fem_multiply_transposed(const double A[9], const double B[9], double C[9]) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      C[3 * i + j] =
          A[3 * i] * B[3 * j] + A[3 * i + 1] * B[3 * j + 1] + A[3 * i + 2] * B[3 * j + 2];
    }
  }
}

/* ---- columns ---- */

static double column_dot(const double A[9], int p, int q) {
  return A[p] * A[q] + A[3 + p] * A[3 + q] + A[6 + p] * A[6 + q];
}

/* Rotates columns p and q: (a_p, a_q) <- (c a_p - s a_q, s a_p + c a_q). */
static void rotate_columns(double A[9], int p, int q, double c, double s) {
  for (int i = 0; i < 9; i += 3) {
    const double x = A[i + p], y = A[i + q];
    A[i + p] = c * x - s * y;
    A[i + q] = s * x + c * y;
  }
}

/* Swaps two columns and turns the sign of one, which is a rotation too. */
static void swap_columns(double A[9], int p, int q) { rotate_columns(A, p, q, 0, 1); }

/* Returns the tangent of the smaller angle that removes `off` beside a (at p) and b (at q). */
static double jacobi_tangent(double a, double b, double off) {
  const double zeta = (b - a) / (2 * off);
  return (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
}

/* ---- singular values ---- */

/* Rotates columns of B and V until those of B are orthogonal (one-sided Jacobi, Hestenes). */
static void orthogonalize(double B[9], double V[9]) {
  static const int pairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};
  int rotated = 1;
  for (int sweep = 0; sweep < FEM_MOST_SWEEPS && rotated; ++sweep) {
    rotated = 0;
    for (int k = 0; k < 3; ++k) {
      const int p = pairs[k][0], q = pairs[k][1];
      const double a = column_dot(B, p, p), b = column_dot(B, q, q), off = column_dot(B, p, q);
      if (fabs(off) > DBL_EPSILON / 2 * sqrt(a * b)) {
        const double t = jacobi_tangent(a, b, off), c = 1 / sqrt(1 + t * t);
        rotate_columns(B, p, q, c, c * t);
        rotate_columns(V, p, q, c, c * t);
        rotated = 1;
      }
    }
  }
}

static void sort_columns(double B[9], double V[9]) {
  static const int pairs[3][2] = {{0, 1}, {1, 2}, {0, 1}};
  for (int k = 0; k < 3; ++k) {
    const int p = pairs[k][0], q = pairs[k][1];
    if (column_dot(B, p, p) < column_dot(B, q, q)) {
      swap_columns(B, p, q);
      swap_columns(V, p, q);
    }
  }
}

/* Sets column k of U to that of B over its length, or to a unit vector orthogonal to the first
 * column where B has none. Returns the length. */
static double set_direction(const double B[9], double U[9], int k) {
  const double length = sqrt(column_dot(B, k, k));
  if (length > DBL_MIN) {
    for (int i = 0; i < 9; i += 3) {
      U[i + k] = B[i + k] / length;
    }
    return length;
  }
  /* the axis along which the first column is shortest, made orthogonal to it */
  double u[3] = {1, 0, 0};
  if (k == 1) {
    const double x = fabs(U[0]), y = fabs(U[3]), z = fabs(U[6]);
    const int axis = x <= y && x <= z ? 0 : y <= z ? 1 : 2;
    const double along = U[3 * axis], rest = sqrt(1 - along * along);
    for (int i = 0; i < 3; ++i) {
      u[i] = ((i == axis) - along * U[3 * i]) / rest;
    }
  }
  for (int i = 0; i < 3; ++i) {
    U[3 * i + k] = u[i];
  }
  return length;
}

void fem_decompose(const double F[9], struct fem_svd *svd) {
  double B[9], *U = svd->U;
  memcpy(B, F, sizeof B);
  memcpy(svd->V, identity, sizeof identity);
  orthogonalize(B, svd->V);
  sort_columns(B, svd->V);
  svd->s[0] = set_direction(B, U, 0);
  svd->s[1] = set_direction(B, U, 1);
  U[2] = U[3] * U[7] - U[6] * U[4];
  U[5] = U[6] * U[1] - U[0] * U[7];
  U[8] = U[0] * U[4] - U[3] * U[1];
  svd->s[2] = U[2] * B[2] + U[5] * B[5] + U[8] * B[8];
}

void fem_rotation(const struct fem_svd *svd, double R[9]) {
  fem_multiply_transposed(svd->U, svd->V, R);
}

/* ---- polar decomposition ---- */

/* X <- (X + X^-T)/2. Returns the largest change, or infinity without a positive determinant. */
static double average_inverse(double X[9]) {
  double C[9], change = 0; /* C = det(X) X^-T */
  for (int i = 0; i < 3; ++i) {
    const double *a = X + 3 * ((i + 1) % 3), *b = X + 3 * ((i + 2) % 3);
    C[3 * i] = a[1] * b[2] - a[2] * b[1];
    C[3 * i + 1] = a[2] * b[0] - a[0] * b[2];
    C[3 * i + 2] = a[0] * b[1] - a[1] * b[0];
  }
  const double determinant = X[0] * C[0] + X[1] * C[1] + X[2] * C[2];
  if (!(determinant > 0)) {
    return INFINITY;
  }
  const double inverse = 1 / determinant;
  for (int k = 0; k < 9; ++k) {
    const double step = (C[k] * inverse - X[k]) / 2;
    X[k] += step;
    change = fabs(step) > change ? fabs(step) : change;
  }
  return change;
}

void fem_polar(const double F[9], double R[9]) {
  memcpy(R, F, 9 * sizeof *R);
  for (int k = 0; k < FEM_MOST_AVERAGES; ++k) {
    /* the error after an iteration is at most the square of its change */
    if (average_inverse(R) < 1e-9) {
      return;
    }
  }
  struct fem_svd svd;
  fem_decompose(F, &svd);
  fem_rotation(&svd, R);
}

/* ---- symmetric eigenvalues ---- */

/* Removes entry (p, q) of the symmetric H by a rotation of rows and columns, and turns Q with it.
 * Returns 0 if there was nothing to remove. */
static int remove_entry(double H[9], double Q[9], int p, int q) {
  const double a = H[4 * p], b = H[4 * q], off = H[3 * p + q];
  if (fabs(off) <= DBL_EPSILON / 2 * sqrt(fabs(a * b)) && fabs(off) <= DBL_EPSILON * fabs(a - b)) {
    return 0;
  }
  if (!(fabs(off) > DBL_MIN)) {
    return 0;
  }
  const double t = jacobi_tangent(a, b, off), c = 1 / sqrt(1 + t * t), s = c * t;
  const int r = 3 - p - q;
  const double x = H[3 * p + r], y = H[3 * q + r];
  H[4 * p] = a - t * off;
  H[4 * q] = b + t * off;
  H[3 * p + q] = H[3 * q + p] = 0;
  H[3 * p + r] = H[3 * r + p] = c * x - s * y;
  H[3 * q + r] = H[3 * r + q] = s * x + c * y;
  rotate_columns(Q, p, q, c, s);
  return 1;
}

/* Are the leading minors of the symmetric H positive, beyond round-off? */
static int is_positive_definite(const double H[9]) {
  const double square = H[1] * H[1], product = H[0] * H[4];
  return H[0] > 0 && product - square > 1e-12 * product &&
         fem_determinant(H) > 1e-12 * product * H[8];
}

void fem_clamp_eigenvalues(double H[9]) {
  double D[9], Q[9], clamped[9];
  if (is_positive_definite(H)) {
    return;
  }
  memcpy(D, H, sizeof D);
  memcpy(Q, identity, sizeof identity);
  int removed = 1;
  for (int sweep = 0; sweep < FEM_MOST_SWEEPS && removed; ++sweep) {
    removed = remove_entry(D, Q, 0, 1);
    removed |= remove_entry(D, Q, 0, 2);
    removed |= remove_entry(D, Q, 1, 2);
  }
  if (D[0] >= 0 && D[4] >= 0 && D[8] >= 0) {
    return;
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      clamped[3 * i + j] = Q[3 * i + j] * (D[4 * j] > 0 ? D[4 * j] : 0);
    }
  }
  fem_multiply_transposed(clamped, Q, H);
}
