/* Trees of boxes over the cells of a mesh, in the mesh's frame: they are made once, and meet each
 * other as oriented boxes whatever the poses are.
 *
 * A node has the boxes of its four children, which are held against another box all at once, and
 * the pressures there: fields whose ranges do not meet are nowhere equal. Boxes are wider than they
 * need to be by more than round-off. The order in which pairs are met depends on the trees alone,
 * not on the poses. */
#ifndef SAPWOOD_GEOMETRY_TREE_H
#define SAPWOOD_GEOMETRY_TREE_H

#include <stdint.h>

#include "geometry/vector.h"

struct geo_bounds {
  struct geo_vec low, high;
  double p_low, p_high; /* Pa; -inf and inf of what has no field */
};

/* one box, and what is in it */
struct geo_box {
  struct geo_vec center, half;
  double p_low, p_high;
  int32_t child; /* a node; or ~i: the cell at place i of the tree's order */
};

/* the boxes of up to four children; those that are not there meet nothing */
struct geo_node {
  struct geo_four center, half;
  double p_low[4], p_high[4];
  int32_t child[4];
};

struct geo_tree {
  int32_t n_nodes;        /* n_cells at most */
  struct geo_node *nodes; /* (n_cells) */
  struct geo_box root;
};

/* Fills the nodes and the order of cells (n): the cell at each place. Boxes are wider by `pad`. */
void geo_tree_build(struct geo_tree *tree, int32_t n, const struct geo_bounds *bounds, double pad,
                    int32_t *order);

/* what is called for each leaf, or pair of leaves, that may meet, by places in the trees' order */
typedef void (*geo_meet)(void *context, int32_t i, int32_t j);

/* `frame` is that of b in a, `back` the other way round */
void geo_tree_meet_tree(const struct geo_tree *a, const struct geo_tree *b,
                        const struct geo_frame *frame, const struct geo_frame *back, geo_meet meet,
                        void *context);

/* Leaves that the plane n.x = offset runs through; j is 0. Those behind it too where `behind`. */
void geo_tree_meet_plane(const struct geo_tree *tree, struct geo_vec n, double offset, int behind,
                         geo_meet meet, void *context);

#endif
