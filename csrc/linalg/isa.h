/* What the files share that are compiled once per instruction set, and what the table of kernels in
 * kernels.c takes from the other ones. */
#ifndef SAPWOOD_LINALG_ISA_H
#define SAPWOOD_LINALG_ISA_H

#include "linalg/junction_tree.h"
#include "linalg/simd.h"

/* SAP_ISA names the instruction set, and with it the table and the functions */
#ifndef SAP_ISA
#define SAP_ISA baseline
#endif
#define SAP_JOIN_(a, b) a##b
#define SAP_JOIN(a, b) SAP_JOIN_(a, b)
#define SAP_TEXT_(a) #a
#define SAP_TEXT(a) SAP_TEXT_(a)
#define SAP_OF_ISA(name) SAP_JOIN(name, SAP_ISA)

#define INLINE static inline __attribute__((always_inline))

/* before a loop over registers, which must not stay a loop */
#define UNROLL _Pragma("GCC unroll 8")

static inline int32_t sap_smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* mask of the rows of a vector, where this many are left */
static inline simd_mask simd_left(int32_t rows) {
  return simd_first(sap_smaller(rows, SIMD_WIDTH));
}

/* vectors that hold so many rows */
static inline int32_t simd_count(int32_t rows) { return (rows + SIMD_WIDTH - 1) / SIMD_WIDTH; }

/* calls f(padded, n, ...) with n as a constant, 1 to the width of a vector */
#if SAP_SIMD_WIDTH == 8
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
#elif SAP_SIMD_WIDTH == 4
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

/* rows of a panel: whole vectors where it is padded to them, else the one vector is cut */
INLINE simd load_rows(const int padded, const double *t, simd_mask part) {
  return padded ? simd_load(t) : simd_load_part(t, part);
}

INLINE void store_rows(const int padded, double *t, simd x, simd_mask part) {
  if (padded) {
    simd_store(t, x);
  } else {
    simd_store_part(t, x, part);
  }
}

/* those of the table that are not in kernels.c */
int32_t SAP_OF_ISA(sap_factor_)(int32_t rows, int32_t cols, double *P, int32_t ld);
int32_t SAP_OF_ISA(sap_factor_panel_)(const struct sap_supernode *s, double *P);
void SAP_OF_ISA(sap_solve_forward_)(int32_t rows, int32_t cols, const double *P, int32_t ld,
                                    double *x, double *t);
void SAP_OF_ISA(sap_solve_backward_)(int32_t rows, int32_t cols, const double *P, int32_t ld,
                                     double *x, const double *t);
void SAP_OF_ISA(sap_push_solution_)(const struct sap_supernode *s,
                                    const struct sap_segment *segment, const double *P, double *x);
void SAP_OF_ISA(sap_pull_solution_)(const struct sap_supernode *s,
                                    const struct sap_segment *segment, const double *P, double *x);

#endif
