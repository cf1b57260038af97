/* Which cells of a mesh a probe may meet. cell_search_loops.c is compiled once per instruction set,
 * with equal results; geo_search_best() picks the widest set that this processor runs. */
#ifndef SAPWOOD_GEOMETRY_CELL_SEARCH_H
#define SAPWOOD_GEOMETRY_CELL_SEARCH_H

#include "geometry/probe.h"

struct geo_search {
  /* Leaves whose boxes and pressures meet the probe's, by their places, in the tree's order. How
   * many; `found` has room for all cells. */
  int32_t (*find)(const struct geo_tree *tree, const struct geo_probe *probe, int32_t *found);

  /* Of n cells that were found, those that no face of theirs keeps apart from a tetrahedron, nor
   * one of its own: how many are left. */
  int32_t (*keep_tetrahedra)(const struct geo_tetrahedron *cells, const struct geo_probe *probe,
                             int32_t n, int32_t *found);
  int32_t (*keep_triangles)(const struct geo_triangle *cells, const struct geo_probe *probe,
                            int32_t n, int32_t *found);
};

/* Instruction sets, narrowest first. A set is NULL where this build or this processor is without
 * it. */
enum { GEO_SEARCH_SETS = 2 };
const struct geo_search *geo_search_of(int32_t set);
const struct geo_search *geo_search_best(void);

#endif
