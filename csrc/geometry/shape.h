/* A shape with what is computed of it once: gradients, planes of faces, a tree. */
#ifndef SAPWOOD_GEOMETRY_SHAPE_H
#define SAPWOOD_GEOMETRY_SHAPE_H

#include "base/memory.h"
#include "geometry/tree.h"
#include "sapwood/geometry.h"

/* the field p = slope.x + base of a cell, or of a whole half space */
struct geo_field {
  struct geo_vec slope;
  double base;      /* Pa, at the origin of the frame */
  double steepness; /* |slope| */
};

/* The planes of a tetrahedron's faces, outward: n.x = offset. Both tetrahedra at a face compute it
 * from the same vertices in the same order, so that theirs are each other's negatives to the last
 * bit; it is owned by the one whose sign is not turned. */
struct geo_walls {
  struct geo_four n; /* of the face opposite to the vertex */
  double offset[4];
  int owned[4];
};

struct geo_tetrahedron {
  struct geo_four v;
  double p[4];          /* at the vertices */
  double p_low, p_high; /* all of them, wider than round-off */
  struct geo_field field;
  struct geo_walls walls;
};

struct geo_triangle {
  struct geo_vec v[3];
  struct geo_vec n;
};

struct geo_shape {
  sap_allocator allocator;
  struct sap_block block;
  geo_kind kind;
  int32_t n; /* cells, in the tree's order */
  /* one of both, by kind */
  struct geo_tetrahedron *tetrahedra;
  struct geo_triangle *triangles;
  int32_t *cell; /* (n) number of the cell as it was given */
  struct geo_tree tree;
  double radius;          /* largest distance of a vertex from the origin, m */
  double p_most;          /* largest |p| at a vertex, Pa */
  double margin;          /* of a compliant half space */
  struct geo_field field; /* of a compliant half space */
};

#endif
