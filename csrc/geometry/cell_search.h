/* This module finds the cells of a mesh that a probe may meet. cell_search_loops.c is compiled once
 * per instruction set, with equal results; geo_search_best() picks the widest set that this
 * processor runs. The caller owns the lists. */
#ifndef SAPWOOD_GEOMETRY_CELL_SEARCH_H
#define SAPWOOD_GEOMETRY_CELL_SEARCH_H

#include "geometry/probe.h"

struct geo_search {
  /* Finds the leaves whose boxes and pressures meet the probe's, by their places in the tree's
   * order; returns their number. `found` has room for all cells. */
  int32_t (*find)(const struct geo_tree *tree, const struct geo_probe *probe, int32_t *found);

  /* Keeps those of n found cells that neither their own faces nor a face of the probe separates
   * from a tetrahedron; returns their number. */
  int32_t (*keep_tetrahedra)(const struct geo_tetrahedron *cells, const struct geo_probe *probe,
                             int32_t n, int32_t *found);
  int32_t (*keep_triangles)(const struct geo_triangle *cells, const struct geo_probe *probe,
                            int32_t n, int32_t *found);
};

/* Returns the functions of a set, narrowest first; NULL if this build or this processor lacks
 * it. */
enum { GEO_SEARCH_SETS = 2 };
const struct geo_search *geo_search_of(int32_t set);
const struct geo_search *geo_search_best(void);

#endif
