/* A shape holds its cells and values computed once from them: gradients, planes of faces, a
 * tree. */
#ifndef SAPWOOD_GEOMETRY_SHAPE_H
#define SAPWOOD_GEOMETRY_SHAPE_H

#include "base/memory.h"
#include "geometry/tree.h"
#include "sapwood/geometry.h"

/* The field p = slope.x + base of a cell, or of a whole half space. */
struct geo_field {
  struct geo_vec slope;
  double base;      /* Pa, at the origin of the frame */
  double steepness; /* |slope| */
};

/* The planes of a tetrahedron's faces, outward: n.x = offset. Both tetrahedra at a face compute its
 * plane from the same vertices in the same order, so that the two planes are negatives of each
 * other to the last bit. The tetrahedron that keeps the sign owns the face. */
struct geo_walls {
  struct geo_four n; /* normal of the face opposite to each vertex */
  double offset[4];
  int owned[4];
};

struct geo_tetrahedron {
  struct geo_four v;
  double p[4];          /* Pa, at the vertices */
  double p_low, p_high; /* Pa, range in the cell, extended by more than round-off */
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
  /* one of the two, by kind */
  struct geo_tetrahedron *tetrahedra;
  struct geo_triangle *triangles;
  int32_t *cell; /* (n) number of each cell in the arrays of the caller */
  struct geo_tree tree;
  double radius;          /* largest distance of a vertex from the origin, m */
  double p_most;          /* largest |p| at a vertex, Pa */
  double margin;          /* m, margin of a compliant half space */
  struct geo_field field; /* field of a compliant half space */
};

#endif
