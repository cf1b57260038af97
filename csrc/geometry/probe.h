/* A probe is a convex body in a tree's frame, given by its box and by half-spaces that hold it, for
 * which the tree is searched. Both are larger than the body by more than round-off. */
#ifndef SAPWOOD_GEOMETRY_PROBE_H
#define SAPWOOD_GEOMETRY_PROBE_H

#include "geometry/shape.h"

enum { GEO_MOST_WALLS = 6 };

struct geo_probe {
  struct geo_vec center, half;
  double p_low, p_high; /* Pa; -inf and inf without a field */
  int n_walls;          /* number of half-spaces n.x <= offset */
  double nx[GEO_MOST_WALLS], ny[GEO_MOST_WALLS], nz[GEO_MOST_WALLS];
  double offset[GEO_MOST_WALLS];
  struct geo_four v; /* corners of a tetrahedron */
  double clear;      /* m, margin of the half-spaces and the box */
};

/* Make a probe of a box or a cell; `frame` maps its frame to the tree's. */
void geo_probe_box(const struct geo_box *box, const struct geo_frame *frame, double clear,
                   struct geo_probe *probe);
void geo_probe_tetrahedron(const struct geo_tetrahedron *cell, const struct geo_frame *frame,
                           double clear, struct geo_probe *probe);

/* Makes a probe of the plane n.x = offset, or with `behind` of its half-space. */
void geo_probe_plane(struct geo_vec n, double offset, int behind, struct geo_probe *probe);

#endif
