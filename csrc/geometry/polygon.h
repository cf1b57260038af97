/* Convex polygons in a plane: cut out of a tetrahedron, clipped by half-spaces. */
#ifndef SAPWOOD_GEOMETRY_POLYGON_H
#define SAPWOOD_GEOMETRY_POLYGON_H

#include "geometry/vec3.h"

/* Four clips of four corners give eight of a convex polygon. Round-off may make any of them cross
 * the line more often: half as many again each time, 20. */
enum { GEO_MOST_CORNERS = 24 };

struct geo_polygon {
  int n;
  struct geo_vec v[GEO_MOST_CORNERS];
};

/* A tetrahedron cut where a linear function is zero. Corners are between a vertex where it is > 0
 * and one where it is not, so that cells that share vertices, with one value at each, never both
 * have a polygon on the face between them. */
struct geo_cut {
  int n;               /* corners: 0, 3 or 4, counter-clockwise seen from where it is > 0 */
  struct geo_vec v[4]; /* corners */
  int edge[4];         /* bits of the two vertices that the corner is between */
};

/* of positive volume with vertices x, s the values there */
void geo_cut_tetrahedron(const struct geo_four *x, const double s[4], struct geo_cut *cut);

/* Keeps what is behind the plane n.x = offset; what lies on it only where it is `owned`. */
void geo_clip(struct geo_polygon *polygon, struct geo_vec n, double offset, int owned);

/* Merges consecutive corners closer than 1e-14 m; n is 0 where fewer than three are left. */
void geo_tidy(struct geo_polygon *polygon);

/* Area about the normal n and centroid; 0 where it has none. */
double geo_area(const struct geo_polygon *polygon, struct geo_vec n, struct geo_vec *centroid);

#endif
