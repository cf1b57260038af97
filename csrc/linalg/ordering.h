/* Fill-reducing order of a graph: the only user of SuiteSparse AMD.
 *
 * AMD's own core works in memory that we hand it, so it allocates nothing. */
#ifndef SAPWOOD_LINALG_ORDERING_H
#define SAPWOOD_LINALG_ORDERING_H

#include <stdint.h>

#include "base/memory.h"

struct sap_ordering {
  int32_t *start;   /* (n + 1) first neighbour of each node; consumed by the ordering */
  int32_t *length;  /* (n) neighbours of each node */
  int32_t *list;    /* (capacity) neighbours */
  int32_t capacity; /* 2 edges, and the elbow room that AMD wants */
  int32_t *scratch; /* (6 n) */
};

/* pieces for n nodes and n_edges undirected edges */
void sap_ordering_carve(struct sap_ordering *ordering, struct sap_arena *arena, int32_t n,
                        int32_t n_edges);

/* order (n) out: order[k] is the k-th node to be eliminated. Edges are pairs of different nodes,
 * each pair once. */
void sap_ordering_minimum_degree(struct sap_ordering *ordering, int32_t n, int32_t n_edges,
                                 const int32_t *edge_a, const int32_t *edge_b, int32_t *order);

#endif
