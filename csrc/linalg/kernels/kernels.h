/* This module holds the small dense kernels of assembly and factorization.
 *
 * kernels.c and panel_*.c are compiled once per instruction set, those of Cholesky's factor in
 * single precision too; sap_kernels_best() picks the widest set that this processor runs. Matrices
 * are column-major with a leading dimension. Results are the same for every call with the same
 * input on one instruction set. */
#ifndef SAPWOOD_LINALG_KERNELS_KERNELS_H
#define SAPWOOD_LINALG_KERNELS_KERNELS_H

#include <stdint.h>

#include "linalg/kernels/path_side.h"
#include "linalg/linalg_tuning.h"

struct sap_supernode;
struct sap_segment;
struct sap_update;

/* Precision of the panels. Single precision moves half as many bytes and works on twice as many
 * lanes. It suffices for a direction: the line search, the gradient and the certificate accept any
 * direction and work in double precision. */
enum sap_precision { SAP_DOUBLE, SAP_SINGLE, SAP_N_PRECISIONS };

/* Kernels of the panel [L; B] of supernode s, padded as junction_tree.h says, among the values of
 * all panels. They factor it as below, push all its updates into the panels above, and do the two
 * solves with t scattered over x, segment by segment. Values and x, indexed by scalar, are doubles
 * or floats. */
struct sap_panel_kernels {
  int32_t (*factor)(const struct sap_supernode *s, void *values);
  void (*push_updates)(const struct sap_supernode *s, const struct sap_update *update,
                       void *values);
  void (*push_solution)(const struct sap_supernode *s, const struct sap_segment *segment,
                        const void *values, void *x);
  void (*pull_solution)(const struct sap_supernode *s, const struct sap_segment *segment,
                        const void *values, void *x);
};

/* Kernels of the two panels of supernode s of an unsymmetric matrix (lu_factor.h). node_scalar
 * gives the first scalar of each node. */
struct sap_lu_kernels {
  /* Returns -1, or the position of the node with a singular pivot block. */
  int32_t (*factor)(const struct sap_supernode *s, const int32_t *node_scalar, double *lower,
                    double *upper);
  void (*push_updates)(const struct sap_supernode *s, const struct sap_update *update,
                       double *lower, double *upper);
  /* Solve with the panel P below the diagonal, and with its transpose. With `pivots` the diagonal
   * blocks of P are inverse pivot blocks: then x is first multiplied by their transposes, or at
   * last by them. */
  void (*push_solution)(const struct sap_supernode *s, const struct sap_segment *segment,
                        const int32_t *node_scalar, const double *panels, int pivots, double *x);
  void (*pull_solution)(const struct sap_supernode *s, const struct sap_segment *segment,
                        const int32_t *node_scalar, const double *panels, int pivots, double *x);

  /* X (n_scalars, SAP_PATH_COLUMNS) by row: solves for the rows of s in the first n columns, and
   * subtracts their effect from the rows above.  Others are undefined. */
  void (*push_columns)(enum sap_path_side side, const struct sap_supernode *s,
                       const struct sap_segment *segment, const int32_t *node_scalar,
                       const double *values, int32_t n, double *X);

  /* S (SAP_PATH_COLUMNS, SAP_PATH_COLUMNS) by row: adds the first n_rows rows, rounded up to 4, and
   * n_columns columns of Z^T Y for m rows of Z and Y; other columns are undefined */
  void (*add_products)(int32_t m, int n_rows, int n_columns, const double *Z, const double *Y,
                       double *S);
};

struct sap_kernels {
  const char *name; /* instruction set */

  /* C += sign A B^T for A (m, k), B (n, k), C (m, n), sign +1 or -1. With `lower` only the part on
   * and below the diagonal is sure to be updated; the part above is undefined. */
  void (*multiply)(int32_t m, int32_t n, int32_t k, double sign, const double *A, int32_t lda,
                   const double *B, int32_t ldb, double *C, int32_t ldc, int lower);

  /* Cholesky of a panel P (rows, cols), rows >= cols: overwrites the lower triangle of the square
   * on top by L, with 1/L_jj on the diagonal, and the rows below by P L^-T. Entries above the
   * diagonal may become zero. Returns cols, or the first column whose pivot is not positive and
   * finite. */
  int32_t (*factor)(int32_t rows, int32_t cols, double *P, int32_t ld);

  /* x <- L^-1 x (cols), then t <- t - B x (rows - cols), for a factored panel [L; B] */
  void (*solve_forward)(int32_t rows, int32_t cols, const double *P, int32_t ld, double *x,
                        double *t);

  /* x <- L^-T (x - B^T t) */
  void (*solve_backward)(int32_t rows, int32_t cols, const double *P, int32_t ld, double *x,
                         const double *t);

  struct sap_panel_kernels panels[SAP_N_PRECISIONS];
  struct sap_lu_kernels lu;
};

/* Returns the kernels of a set, narrowest first; NULL if this build or this processor lacks it. */
enum { SAP_KERNEL_SETS = 3 };
const struct sap_kernels *sap_kernels_of(int32_t set);

/* Return the widest available set and its kernels. */
int32_t sap_kernels_best_set(void);
const struct sap_kernels *sap_kernels_best(void);

#endif
