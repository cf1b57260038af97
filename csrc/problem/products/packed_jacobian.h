/* This module multiplies by the Jacobian of the triples and assembles H = A + J^T G J (VIII-A),
 * island by island.
 *
 * J is packed tree by tree, in the order of its patches; each row (three of one triple after the
 * other) takes sap_stride(n) doubles. A triple moves only the joints between it and the root, so
 * most columns of a robot's rows are zero: they are grouped in chunks, and chunks of zeros are
 * skipped. A row of a single velocity is stored as its one entry. products.c, round_off.c and
 * assembly.c are compiled once per instruction set, like the dense kernels. */
#ifndef SAPWOOD_PROBLEM_PRODUCTS_PACKED_JACOBIAN_H
#define SAPWOOD_PROBLEM_PRODUCTS_PACKED_JACOBIAN_H

#include "constraints/laws.h"
#include "linalg/lu_factor.h"
#include "problem/graph/graph.h"
#include "problem/graph/reduction.h"
#include "problem/problem_tuning.h"

struct sap_jacobian {
  const struct sap_graph *graph;
  const struct sap_triples *triples;
  const struct sap_reduced_tree *const *reduced; /* (n_nodes) NULL for a whole tree */
  double *values;
  /* (n_triples) by place: nonzero chunks of the lower and higher side */
  uint64_t *chunks[2];
  /* (n_patches, 2, 2, SAP_SHORT) by side of a patch with short rows: the largest |J_1| + |J_2| and
   * |J_n| of its triples, column by column */
  double *peak;
  /* (n_triples) by place, for triples whose rows have one entry each: its scalar and its value, 0
   * for missing rows */
  int32_t *scalar[3];
  double *entry[3];
};

/* Carves the rows of its graph. */
static inline void sap_jacobian_carve(struct sap_jacobian *J, struct sap_arena *arena) {
  const struct sap_graph *graph = J->graph;
  const size_t triples = (size_t)graph->n_triples;
  J->values = sap_arena_take(arena, (size_t)graph->node_J[graph->n_nodes], sizeof(double));
  J->chunks[0] = sap_arena_take(arena, triples, sizeof(uint64_t));
  J->chunks[1] = sap_arena_take(arena, triples, sizeof(uint64_t));
  const size_t diagonal = J->triples->present[SAP_LAW_JOINT] ? triples : 0;
  for (int r = 0; r < 3; ++r) {
    J->scalar[r] = sap_arena_take(arena, diagonal, sizeof(int32_t));
    J->entry[r] = sap_arena_take(arena, diagonal, sizeof(double));
  }
  J->peak = sap_arena_take(arena, 4 * SAP_SHORT * (size_t)graph->n_patches, sizeof(double));
}

/* Returns the number of columns of a chunk; 64 chunks hold a row of any length. */
static inline int32_t sap_chunk(int32_t n) { return 8 * ((n + 511) / 512); }

/* A row of one side of a triple: n entries, of which only those in its chunks may not be 0. */
struct sap_packed_row {
  const double *J;
  int32_t n;
  uint64_t chunks;
};

/* Returns row r of the lower or higher side of the triple at a place of a patch. */
static inline struct sap_packed_row sap_packed_row(const struct sap_jacobian *J,
                                                   const struct sap_patch *patch, int high,
                                                   int32_t place, int r) {
  const int32_t n = sap_node_size(&J->graph->tree, high ? patch->high : patch->low);
  const int64_t row = 3 * (int64_t)(place - patch->begin) + r;
  return (struct sap_packed_row){
      J->values + (high ? patch->J_high : patch->J_low) + row * sap_stride(n), n,
      J->chunks[high][place]};
}

/* Term of a run of acting triples of the same links: rows of G J, columns of J, and their
 * chunks. */
struct sap_term {
  const double *GJ, *J;
  uint64_t rows, columns;
  int64_t n_rows;
};

/* Scratch for the acting triples of one tree. */
struct sap_scratch {
  double *GJ;             /* (max_node_width) */
  struct sap_term *terms; /* (2 max_node_triples) */
};

static inline void sap_scratch_carve(struct sap_scratch *scratch, struct sap_arena *arena,
                                     const struct sap_graph *graph) {
  scratch->GJ = sap_arena_take(arena, (size_t)graph->max_node_width, sizeof(double));
  scratch->terms =
      sap_arena_take(arena, 2 * (size_t)graph->max_node_triples, sizeof(struct sap_term));
}

struct sap_jacobian_loops {
  /* packs the rows of J, of contacts from the problem's J at `from`, of others from their groups; 0
   * if one is not finite */
  int (*pack)(const struct sap_jacobian *J, const struct sap_island *island, const double *from);

  /* packs likewise with reduced trees, whose remaining columns are finite */
  int (*pack_reduced)(const struct sap_jacobian *J, const struct sap_island *island,
                      const double *from);

  /* computes x_c = J x, one array per row of a triple: (n_triples) by place */
  void (*multiply)(const struct sap_jacobian *J, const struct sap_island *island, const double *x,
                   double *const x_c[3]);

  /* computes y = J^T x_c */
  void (*multiply_transposed)(const struct sap_jacobian *J, const struct sap_island *island,
                              double *const x_c[3], double *y);

  /* finds e, a bound on the rounding errors of J^T gamma, for gamma evaluated at the v_c after
   * n_steps steps (certificate.h). Uses dv_c of the pool as scratch */
  void (*bound_impulse)(const struct sap_jacobian *J, const struct sap_island *island,
                        struct sap_pool *pool, const double *reach, int32_t n_steps, double *e);

  /* writes H = A + J^T G J to the places of the factor, whose panels it clears; A by position.
   * Skips triples with G = 0 */
  void (*assemble)(const struct sap_jacobian *J, const struct sap_island *island,
                   const double *const *A, const struct sap_pool *pool, struct sap_scratch scratch,
                   const struct sap_factor *factor);

  /* adds J^T U J to the places of both panels, where U has one column u per contact, for its normal
   * row: u (n_triples) by row of a triple and by place, 0 for rows of other laws. scratch is GJ of
   * sap_scratch, of which it takes a row of both sides per contact of a patch at most */
  void (*add_coupling)(const struct sap_jacobian *J, const struct sap_island *island,
                       double *const u[3], double *scratch, const struct sap_lu *lu);
};

/* Returns the loops for the instruction set of number `set`, as in sap_kernels_of(). */
const struct sap_jacobian_loops *sap_jacobian_loops_of(int32_t set);

#endif
