/* Trees of boxes over the cells of a mesh, in the mesh's frame: they are made once, and meet each
 * other as oriented boxes whatever the poses are.
 *
 * A node has the bounds of what is below it, and the pressures there: fields whose ranges do not
 * meet are nowhere equal. Bounds are wider than they need to be by more than round-off. The order in
 * which pairs are met depends on the trees alone, not on the poses. */
#ifndef SAPWOOD_GEOMETRY_TREE_H
#define SAPWOOD_GEOMETRY_TREE_H

#include <stdint.h>

#include "geometry/vector.h"

struct geo_bounds {
  struct geo_vec low, high;
  double p_low, p_high; /* Pa; -inf and inf of what has no field */
};

struct geo_node {
  struct geo_vec center, half;
  double p_low, p_high;
  double size;   /* largest of half */
  int32_t right; /* the left child is the next node */
  int32_t cell;  /* of a leaf, in the tree's order; -1 of the others */
};

struct geo_tree {
  int32_t n_nodes;        /* 2 n_cells - 1, or 0 */
  struct geo_node *nodes; /* (n_nodes) the first is the root */
};

/* Fills the nodes and the order of cells (n): the cell at each place. Boxes are wider by `pad`. */
void geo_tree_build(struct geo_tree *tree, int32_t n, const struct geo_bounds *bounds, double pad,
                    int32_t *order);

/* what is called for each leaf, or pair of leaves, that may meet, by places in the trees' order */
typedef void (*geo_meet)(void *context, int32_t i, int32_t j);

/* b in the frame of a */
void geo_tree_meet_tree(const struct geo_tree *a, const struct geo_tree *b,
                        const struct geo_frame *frame, geo_meet meet, void *context);

/* Leaves that the plane n.x = offset runs through; j is 0. Those behind it too where `behind`. */
void geo_tree_meet_plane(const struct geo_tree *tree, struct geo_vec n, double offset, int behind,
                         geo_meet meet, void *context);

#endif
