/* This module orders vertices for elimination by nested dissection of their positions.
 *
 * A set of vertices is cut across its longest axis. The vertices below the cut that have neighbours
 * above it separate the two parts, and come last. Near the median the cut is where they are fewest.
 */
#ifndef SAPWOOD_FEM_DISSECTION_H
#define SAPWOOD_FEM_DISSECTION_H

#include <stdint.h>

/* Vertices with their neighbours, and scratch. */
struct fem_dissection {
  int32_t n;
  const double *position;   /* (n, 3) */
  const int32_t *start;     /* (n + 1) first neighbour of each vertex */
  const int32_t *neighbour; /* (start[n]) */
  int32_t *side;            /* (n) scratch */
  int32_t *scratch;         /* (n) */
};

/* Reorders the listed vertices. */
void fem_dissect(const struct fem_dissection *d, int32_t n_listed, int32_t *listed);

#endif
