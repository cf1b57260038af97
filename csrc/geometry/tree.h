/* This module builds trees of boxes over the cells of a mesh, in the mesh's frame. They are built
 * once for all poses, and cell_search.h searches them.
 *
 * A node has the boxes of its four children, which are compared with a body all at once, and the
 * pressures there: fields whose ranges do not meet are nowhere equal. Boxes are enlarged by more
 * than round-off. */
#ifndef SAPWOOD_GEOMETRY_TREE_H
#define SAPWOOD_GEOMETRY_TREE_H

#include <stdint.h>

#include "geometry/vec3.h"

struct geo_bounds {
  struct geo_vec low, high;
  double p_low, p_high; /* Pa; -inf and inf without a field */
};

enum { GEO_NO_CHILD = INT32_MIN };

/* A box and its contents. */
struct geo_box {
  struct geo_vec center, half;
  double p_low, p_high;
  int32_t child; /* a node, or ~i for the cell at place i of the tree's order, or GEO_NO_CHILD */
};

/* The boxes of up to four children; boxes of missing children meet nothing. */
struct geo_node {
  struct geo_four center, half;
  double p_low[4], p_high[4];
  int32_t child[4];
};

struct geo_tree {
  int32_t n_nodes;        /* at most n_cells */
  struct geo_node *nodes; /* (n_cells) the first one is the root */
  struct geo_box root;
};

/* Fills the nodes and order (n), the cell at each place. Boxes grow by `pad` on each side. */
void geo_tree_build(struct geo_tree *tree, int32_t n, const struct geo_bounds *bounds, double pad,
                    int32_t *order);

#endif
