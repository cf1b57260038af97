/* This module finds a fill-reducing order of a graph by minimum degree, component by component.
 *
 * Components of up to 256 nodes are eliminated as the definition says, on sets of nodes of a few
 * words each. SuiteSparse AMD orders larger ones. Its core works in memory of the caller, so it
 * allocates nothing. */
#ifndef SAPWOOD_LINALG_ORDERING_H
#define SAPWOOD_LINALG_ORDERING_H

#include <stdint.h>

#include "base/memory.h"

struct sap_ordering {
  int32_t *root;  /* (n) first node of its component */
  int32_t *name;  /* (n) number in a small component, or ~ number in all large ones */
  int32_t *count; /* (n) at a root: number of nodes of its component */
  int32_t *begin; /* (n) at the root of a small component: place of its first node */
  int32_t *node;  /* (n) by place: small components one by one, then the large ones */
  uint64_t *set;  /* (n, words) by place, in small components: a node and its neighbours, by name */
  int32_t words;  /* words of a set in the largest of these components */

  /* the graph of the large components, for AMD */
  int32_t *start;   /* (n + 1) first neighbour of each node; consumed by the ordering */
  int32_t *length;  /* (n) neighbours of each node */
  int32_t *list;    /* (capacity) neighbours */
  int32_t capacity; /* 2 edges, plus the elbow room that AMD needs */
  int32_t *scratch; /* (7 n) */
};

/* Carves the pieces for n nodes and n_edges undirected edges. */
void sap_ordering_carve(struct sap_ordering *ordering, struct sap_arena *arena, int32_t n,
                        int32_t n_edges);

/* Writes order (n): order[k] is the k-th node to be eliminated. Edges are pairs of different nodes,
 * each pair once. */
void sap_ordering_minimum_degree(struct sap_ordering *ordering, int32_t n, int32_t n_edges,
                                 const int32_t *edge_a, const int32_t *edge_b, int32_t *order);

#endif
