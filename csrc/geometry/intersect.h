/* This module intersects one cell with another: a polygon in the frame of the compliant one, or
 * nothing.
 *
 * Its normal n points out of b into a. The far side of a field has no faces: a face is left out if
 * its normal is more than 5 pi/8 from the gradient of a, or from minus the gradient of b. */
#ifndef SAPWOOD_GEOMETRY_INTERSECT_H
#define SAPWOOD_GEOMETRY_INTERSECT_H

#include "geometry/polygon.h"
#include "geometry/shape.h"

struct geo_face {
  struct geo_polygon polygon;
  struct geo_vec n;
  double g_a, g_b;  /* Pa/m, slope of a along n and of b along -n; infinite if rigid */
  double steepness; /* Pa/m, largest 1/(1/g_a + 1/g_b) for any normal: gradients in series */
};

/* Relative pose of two bodies, for all of their cells. */
struct geo_view {
  struct geo_frame frame, back; /* frame: b in a; back: a in b */
  /* values up to this count as 0 at a vertex, so that all cells agree on a plane along a face:
   * differences of pressure, Pa, or heights, m */
  double round_off;
  double clear; /* m, distance beyond which cells count as apart; larger than round-off */
};

/* Finds the surface of equal pressure of two fields; 1 if there is a face. */
int geo_meet_fields(const struct geo_tetrahedron *a, const struct geo_tetrahedron *b,
                    const struct geo_view *view, struct geo_face *face);

/* Finds the part of a rigid triangle in a field. */
int geo_meet_triangle(const struct geo_tetrahedron *a, const struct geo_triangle *b,
                      const struct geo_view *view, struct geo_face *face);

/* Finds the part of a rigid half space n.x <= offset in a field. */
int geo_meet_plane(const struct geo_tetrahedron *a, struct geo_vec n, double offset,
                   double round_off, struct geo_face *face);

/* Finds the part of a rigid triangle in a compliant half space. */
int geo_meet_half_space(const struct geo_shape *a, const struct geo_triangle *b,
                        const struct geo_frame *frame, struct geo_face *face);

#endif
