/* This module cuts convex polygons out of a tetrahedron and clips them by half-spaces. */
#ifndef SAPWOOD_GEOMETRY_POLYGON_H
#define SAPWOOD_GEOMETRY_POLYGON_H

#include "geometry/vec3.h"

/* Four clips of four corners give at most eight. Round-off may make any of them cross the line more
 * often: the number grows by half each time, to 20. */
enum { GEO_MOST_CORNERS = 24 };

struct geo_polygon {
  int n;
  struct geo_vec v[GEO_MOST_CORNERS];
};

/* The cut of a tetrahedron where a linear function is zero. Each corner lies between a vertex where
 * the function is > 0 and one where it is not. So cells that share vertices, with one value at
 * each, never both have a polygon on the face between them. */
struct geo_cut {
  int n;               /* corners: 0, 3 or 4, counter-clockwise seen from where it is > 0 */
  struct geo_vec v[4]; /* corners */
  int edge[4];         /* bits of the two vertices next to each corner */
};

/* Cuts a tetrahedron of positive volume with vertices x and values s there. */
void geo_cut_tetrahedron(const struct geo_four *x, const double s[4], struct geo_cut *cut);

/* Keeps the part behind the plane n.x = offset, and the part on it only if it is `owned`. */
void geo_clip(struct geo_polygon *polygon, struct geo_vec n, double offset, int owned);

/* Merges consecutive corners closer than 1e-14 m; sets n to 0 if fewer than three are left. */
void geo_tidy(struct geo_polygon *polygon);

/* Returns the area about the normal n and finds the centroid; 0 if the polygon has no area. */
double geo_area(const struct geo_polygon *polygon, struct geo_vec n, struct geo_vec *centroid);

#endif
