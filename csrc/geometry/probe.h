/* What a tree is searched for: a convex body in the tree's frame, by its box and by half-spaces
 * that hold it. Both are wider than the body by more than round-off. */
#ifndef SAPWOOD_GEOMETRY_PROBE_H
#define SAPWOOD_GEOMETRY_PROBE_H

#include "geometry/shape.h"

enum { GEO_MOST_WALLS = 6 };

struct geo_probe {
  struct geo_vec center, half;
  double p_low, p_high; /* Pa; -inf and inf of what has no field */
  int n_walls;          /* n.x <= offset */
  double nx[GEO_MOST_WALLS], ny[GEO_MOST_WALLS], nz[GEO_MOST_WALLS];
  double offset[GEO_MOST_WALLS];
  struct geo_four v; /* corners of a tetrahedron */
  double clear;      /* m that it is wider by */
};

/* `frame` is that of the box or the cell in the tree's */
void geo_probe_box(const struct geo_box *box, const struct geo_frame *frame, double clear,
                   struct geo_probe *probe);
void geo_probe_tetrahedron(const struct geo_tetrahedron *cell, const struct geo_frame *frame,
                           double clear, struct geo_probe *probe);

/* The plane n.x = offset, with what is behind it where `behind`. */
void geo_probe_plane(struct geo_vec n, double offset, int behind, struct geo_probe *probe);

#endif
