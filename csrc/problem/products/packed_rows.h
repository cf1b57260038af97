/* The loops over the packed rows of J in products.c, round_off.c and assembly.c share these
 * functions, compiled once per instruction set. */
#ifndef SAPWOOD_PROBLEM_PRODUCTS_PACKED_ROWS_H
#define SAPWOOD_PROBLEM_PRODUCTS_PACKED_ROWS_H

#include "linalg/kernels/isa.h"
#include "problem/products/packed_jacobian.h"

/* One side of a patch: the rows of J that belong to one tree. */
struct side {
  const double *J;
  const uint64_t *chunks; /* chunks of its triples */
  int32_t scalar, n, stride;
};

INLINE struct side side_of(const struct sap_jacobian *J, const struct sap_patch *patch, int high) {
  const int32_t *scalar = J->graph->tree.node_scalar;
  const int32_t node = high ? patch->high : patch->low;
  const int32_t n = scalar[node + 1] - scalar[node];
  return (struct side){J->values + (high ? patch->J_high : patch->J_low),
                       J->chunks[high] + patch->begin, scalar[node], n, sap_stride(n)};
}

/* Returns the number of vectors of n doubles. */
INLINE int32_t vectors_of(int32_t n) { return (n + SIMD_WIDTH - 1) / SIMD_WIDTH; }

/* Returns the part of vector k that lies within n doubles. */
INLINE simd_mask part_of(int32_t n, int32_t k) {
  const int32_t left = n - k * SIMD_WIDTH;
  return simd_left(left > 0 ? left : 0);
}

/* Return the vectors [first, last) of a chunk of a row of n. */
INLINE int32_t first_vector(int32_t n, int32_t c) { return c * sap_chunk(n) / SIMD_WIDTH; }

INLINE int32_t last_vector(int32_t n, int32_t c) {
  const int32_t end = (c + 1) * sap_chunk(n);
  return vectors_of(end < n ? end : n);
}

/* Returns the chunks of the triples of an incidence, by place. */
INLINE const uint64_t *chunks_of(const struct sap_jacobian *J, int32_t node,
                                 const struct sap_incidence *incidence) {
  return J->chunks[J->graph->patch[incidence->patch].low != node];
}

/* number of vectors of the longest short row */
enum { SHORT_VECTORS = SAP_SHORT / SIMD_WIDTH };

INLINE double *peak_of(const struct sap_jacobian *J, const struct sap_patch *patch, int high) {
  return J->peak + (2 * (patch - J->graph->patch) + high) * (2 * SAP_SHORT);
}

/* Are these contacts whose impulses are projections, between whole trees with short rows? */
INLINE int is_short(const struct sap_jacobian *J, const struct sap_patch *patch) {
  const int32_t *scalar = J->graph->tree.node_scalar, low = patch->low;
  const int32_t high = patch->high < 0 ? low : patch->high;
  return sap_laws[patch->law]->projects && scalar[low + 1] - scalar[low] <= SAP_SHORT &&
         scalar[high + 1] - scalar[high] <= SAP_SHORT && !J->reduced[low] && !J->reduced[high];
}

/* functions of the table in round_off.c, assembly.c and coupling.c */
void SAP_OF_ISA(sap_bound_impulse_)(const struct sap_jacobian *J, const struct sap_island *island,
                                    struct sap_pool *pool, const double *reach, int32_t n_steps,
                                    double *e);
void SAP_OF_ISA(sap_assemble_)(const struct sap_jacobian *J, const struct sap_island *island,
                               const double *const *A, const struct sap_pool *pool,
                               struct sap_scratch scratch, const struct sap_factor *factor);
void SAP_OF_ISA(sap_add_coupling_)(const struct sap_jacobian *J, const struct sap_island *island,
                                   double *const u[3], double *scratch, const struct sap_lu *lu);

#endif
