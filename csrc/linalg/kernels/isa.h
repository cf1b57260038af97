/* The files that are compiled once per instruction set share these definitions, and kernels.c finds
 * here the functions of its table. Files of panels are compiled for single precision too. */
#ifndef SAPWOOD_LINALG_KERNELS_ISA_H
#define SAPWOOD_LINALG_KERNELS_ISA_H

#include <float.h>

#include "linalg/junction_tree.h"
#include "linalg/kernels/path_side.h"
#include "linalg/linalg_tuning.h"
#ifdef SAP_IN_SINGLE
#include "linalg/kernels/simd_single.h"
typedef float real;
#define REAL_MAX FLT_MAX
#else
#include "linalg/kernels/simd.h"
typedef double real;
#define REAL_MAX DBL_MAX
#endif

/* SAP_ISA names the instruction set, its table and its functions */
#ifndef SAP_ISA
#define SAP_ISA baseline
#endif
#define SAP_JOIN_(a, b) a##b
#define SAP_JOIN(a, b) SAP_JOIN_(a, b)
#define SAP_TEXT_(a) #a
#define SAP_TEXT(a) SAP_TEXT_(a)
#define SAP_OF_ISA(name) SAP_JOIN(name, SAP_ISA)
#define SAP_OF_SINGLE(name) SAP_JOIN(name, SAP_JOIN(single_, SAP_ISA))
#ifdef SAP_IN_SINGLE
#define SAP_OF_PANEL SAP_OF_SINGLE
#else
#define SAP_OF_PANEL SAP_OF_ISA
#endif

#define INLINE static inline __attribute__((always_inline))

/* Stands before a loop over registers, which must be unrolled. */
#define UNROLL _Pragma("GCC unroll 8")

/* Stands before a loop whose iterations read no values that other iterations write. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

static inline int32_t sap_smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* Returns the mask of the rows of a vector, if this many are left. */
static inline simd_mask simd_left(int32_t rows) {
  return simd_first(sap_smaller(rows, SIMD_WIDTH));
}

/* Returns the number of vectors that hold this many rows. */
static inline int32_t simd_count(int32_t rows) { return (rows + SIMD_WIDTH - 1) / SIMD_WIDTH; }

/* Calls f(padded, n, ...) with n as a constant, from 1 to the width of a strip. */
#if SAP_SIMD_STRIP == 8
#define FOR_WIDTH(padded, n, f, ...)           \
  switch (n) {                                 \
    case 1: f(padded, 1, __VA_ARGS__); break;  \
    case 2: f(padded, 2, __VA_ARGS__); break;  \
    case 3: f(padded, 3, __VA_ARGS__); break;  \
    case 4: f(padded, 4, __VA_ARGS__); break;  \
    case 5: f(padded, 5, __VA_ARGS__); break;  \
    case 6: f(padded, 6, __VA_ARGS__); break;  \
    case 7: f(padded, 7, __VA_ARGS__); break;  \
    default: f(padded, 8, __VA_ARGS__); break; \
  }
#elif SAP_SIMD_STRIP == 4
#define FOR_WIDTH(padded, n, f, ...)           \
  switch (n) {                                 \
    case 1: f(padded, 1, __VA_ARGS__); break;  \
    case 2: f(padded, 2, __VA_ARGS__); break;  \
    case 3: f(padded, 3, __VA_ARGS__); break;  \
    default: f(padded, 4, __VA_ARGS__); break; \
  }
#else
#define FOR_WIDTH(padded, n, f, ...)           \
  switch (n) {                                 \
    case 1: f(padded, 1, __VA_ARGS__); break;  \
    default: f(padded, 2, __VA_ARGS__); break; \
  }
#endif

/* Loads rows of a panel: whole vectors if it is padded to them, else the one vector is cut. */
INLINE simd load_rows(const int padded, const real *t, simd_mask part) {
  return padded ? simd_load(t) : simd_load_part(t, part);
}

/* Stores rows of a panel. Panels are padded to whole vectors of doubles, which are half vectors of
 * floats: there the last store is cut. */
INLINE void store_rows(const int padded, real *t, simd x, simd_mask part) {
  if (padded && SIMD_STRIP == SIMD_WIDTH) {
    simd_store(t, x);
  } else {
    simd_store_part(t, x, part);
  }
}

/* functions of the table that other files than kernels.c define */
void SAP_OF_ISA(sap_multiply_)(int32_t m, int32_t n, int32_t k, double sign, const double *A,
                               int32_t lda, const double *B, int32_t ldb, double *C, int32_t ldc,
                               int lower);
int32_t SAP_OF_ISA(sap_factor_)(int32_t rows, int32_t cols, double *P, int32_t ld);
void SAP_OF_ISA(sap_solve_forward_)(int32_t rows, int32_t cols, const double *P, int32_t ld,
                                    double *x, double *t);
void SAP_OF_ISA(sap_solve_backward_)(int32_t rows, int32_t cols, const double *P, int32_t ld,
                                     double *x, const double *t);

/* functions of sap_panel_kernels, in double and in single precision. push_slice is a part of
 * factor_panel: it subtracts the products of the columns from `begin` to `end` from all columns to
 * the right. */
#define SAP_DECLARE_PANELS(name)                                                                  \
  int32_t name(sap_factor_panel_)(const struct sap_supernode *s, void *values);                   \
  void name(sap_push_slice_)(const struct sap_supernode *s, int32_t begin, int32_t end,           \
                             void *values);                                                       \
  void name(sap_push_updates_)(const struct sap_supernode *s, const struct sap_update *update,    \
                               void *values);                                                     \
  void name(sap_push_solution_)(const struct sap_supernode *s, const struct sap_segment *segment, \
                                const void *values, void *x);                                     \
  void name(sap_pull_solution_)(const struct sap_supernode *s, const struct sap_segment *segment, \
                                const void *values, void *x);
SAP_DECLARE_PANELS(SAP_OF_ISA)
SAP_DECLARE_PANELS(SAP_OF_SINGLE)

/* functions of sap_lu_kernels */
int32_t SAP_OF_ISA(sap_factor_lu_)(const struct sap_supernode *s, const int32_t *node_scalar,
                                   double *lower, double *upper);
void SAP_OF_ISA(sap_push_lu_updates_)(const struct sap_supernode *s,
                                      const struct sap_update *update, double *lower,
                                      double *upper);
void SAP_OF_ISA(sap_push_lu_solution_)(const struct sap_supernode *s,
                                       const struct sap_segment *segment,
                                       const int32_t *node_scalar, const double *panels, int pivots,
                                       double *x);
void SAP_OF_ISA(sap_pull_lu_solution_)(const struct sap_supernode *s,
                                       const struct sap_segment *segment,
                                       const int32_t *node_scalar, const double *panels, int pivots,
                                       double *x);
void SAP_OF_ISA(sap_push_columns_)(enum sap_path_side side, const struct sap_supernode *s,
                                   const struct sap_segment *segment, const int32_t *node_scalar,
                                   const double *values, int32_t n, double *X);
void SAP_OF_ISA(sap_add_columns_product_)(int32_t m, int n_rows, int n_columns, const double *Z,
                                          const double *Y, double *S);

#endif
