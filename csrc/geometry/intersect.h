/* Where one cell meets another: a polygon in the frame of the compliant one, or nothing.
 *
 * Its normal n points out of b into a. Faces of the far side of a field are left out: those whose
 * normal is more than 5 pi/8 from the gradient of a, or from minus that of b. */
#ifndef SAPWOOD_GEOMETRY_INTERSECT_H
#define SAPWOOD_GEOMETRY_INTERSECT_H

#include "geometry/polygon.h"
#include "geometry/shape.h"

struct geo_face {
  struct geo_polygon polygon;
  struct geo_vec n;
  double g_a, g_b; /* Pa/m up each field along n, and down; infinite where rigid */
};

/* how two bodies lie, for all of their cells */
struct geo_view {
  struct geo_frame frame, back; /* of b in a, of a in b */
  /* values that are taken to be 0 at a vertex, so that all cells agree on where a plane runs along
   * a face: differences of pressure, Pa, or heights, m */
  double round_off;
  double clear; /* m: cells that are further apart than this are, whatever round-off does */
};

/* A surface of equal pressure; 1 where there is a face. */
int geo_meet_fields(const struct geo_tetrahedron *a, const struct geo_tetrahedron *b,
                    const struct geo_view *view, struct geo_face *face);

/* A rigid triangle in a field. */
int geo_meet_triangle(const struct geo_tetrahedron *a, const struct geo_triangle *b,
                      const struct geo_view *view, struct geo_face *face);

/* A rigid half space n.x <= offset in a field. */
int geo_meet_plane(const struct geo_tetrahedron *a, struct geo_vec n, double offset,
                   double round_off, struct geo_face *face);

/* A rigid triangle in a compliant half space. */
int geo_meet_half_space(const struct geo_shape *a, const struct geo_triangle *b,
                        const struct geo_frame *frame, struct geo_face *face);

#endif
