/* Sizes of the unsymmetric factorization and of its columns, which kernels and callers share. */
#ifndef SAPWOOD_LINALG_KERNELS_PIVOT_BLOCKS_H
#define SAPWOOD_LINALG_KERNELS_PIVOT_BLOCKS_H

/* Largest pivot block of an unsymmetric factorization; larger trees are cut into such blocks. */
enum { SAP_LU_BLOCK = 8 };

/* number of right-hand sides of a set of columns (path_columns.h) */
enum { SAP_PATH_COLUMNS = 16 };

/* Factors through which columns go: L or U^T of an unsymmetric factorization, or Cholesky's L. */
enum sap_path_side { SAP_PATH_LOWER, SAP_PATH_UPPER, SAP_PATH_CHOLESKY };

#endif
