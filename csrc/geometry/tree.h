/* Trees of boxes over the cells of a mesh, in the mesh's frame: they are made once, whatever the
 * poses are, and searched by cell_search.h.
 *
 * A node has the boxes of its four children, which are held against a body all at once, and the
 * pressures there: fields whose ranges do not meet are nowhere equal. Boxes are wider than they
 * need to be by more than round-off. */
#ifndef SAPWOOD_GEOMETRY_TREE_H
#define SAPWOOD_GEOMETRY_TREE_H

#include <stdint.h>

#include "geometry/vec3.h"

struct geo_bounds {
  struct geo_vec low, high;
  double p_low, p_high; /* Pa; -inf and inf of what has no field */
};

enum { GEO_NO_CHILD = INT32_MIN };

/* one box, and what is in it */
struct geo_box {
  struct geo_vec center, half;
  double p_low, p_high;
  int32_t child; /* a node; or ~i: the cell at place i of the tree's order; or GEO_NO_CHILD */
};

/* the boxes of up to four children; those that are not there meet nothing */
struct geo_node {
  struct geo_four center, half;
  double p_low[4], p_high[4];
  int32_t child[4];
};

struct geo_tree {
  int32_t n_nodes;        /* n_cells at most */
  struct geo_node *nodes; /* (n_cells), the first one above all others */
  struct geo_box root;
};

/* Fills the nodes and the order of cells (n): the cell at each place. Boxes are wider by `pad`. */
void geo_tree_build(struct geo_tree *tree, int32_t n, const struct geo_bounds *bounds, double pad,
                    int32_t *order);

#endif
