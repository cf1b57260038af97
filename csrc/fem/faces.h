/* This module tells which boundary faces may make contacts. */
#ifndef SAPWOOD_FEM_FACES_H
#define SAPWOOD_FEM_FACES_H

#include <stdint.h>

#include "geometry/vec3.h"

/* Smaller parts of faces make no contact, m^2. */
#define FEM_LEAST_AREA 1e-14

/* Is the tetrahedron of these corners flat or turned over at the positions x? */
static inline int fem_is_turned_over(const int32_t corner[4], const double *x) {
  const struct geo_vec first = geo_read(x + 3 * (int64_t)corner[0]);
  struct geo_vec edge[3];
  for (int k = 0; k < 3; ++k) {
    edge[k] = geo_sub(geo_read(x + 3 * (int64_t)corner[k + 1]), first);
  }
  return !(geo_dot(geo_cross(edge[0], edge[1]), edge[2]) > 0);
}

#endif
