/* The factors that kernels and callers of path_columns.h share. */
#ifndef SAPWOOD_LINALG_KERNELS_PATH_SIDE_H
#define SAPWOOD_LINALG_KERNELS_PATH_SIDE_H

/* Factors through which columns go: L or U^T of an unsymmetric factorization, or Cholesky's L. */
enum sap_path_side { SAP_PATH_LOWER, SAP_PATH_UPPER, SAP_PATH_CHOLESKY };

#endif
