/* An octahedron as a shape, soft and rigid, and random frames. */
#ifndef SAPWOOD_TESTS_OCTAHEDRON_H
#define SAPWOOD_TESTS_OCTAHEDRON_H

#include "check.h"
#include "geometry/vec3.h"
#include "sapwood.h"

static inline struct geo_vec random_vec(uint64_t *seed) {
  const double x = check_random(seed, -1, 1);
  const double y = check_random(seed, -1, 1);
  return (struct geo_vec){x, y, check_random(seed, -1, 1)};
}

/* Makes a rotation of a random unit quaternion. */
static inline struct geo_frame random_frame(uint64_t *seed, double reach) {
  double q[4];
  double norm = 0;
  for (int i = 0; i < 4; ++i) {
    q[i] = check_random(seed, -1, 1);
    norm += q[i] * q[i];
  }
  const double s = 2 / norm;
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  return (struct geo_frame){{{1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)},
                             {s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)},
                             {s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)}},
                            geo_scale(reach, random_vec(seed))};
}

static const struct geo_frame identity = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}};

/* The octahedron consists of eight tetrahedra about its centre. */
static const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, 0, -1, 0, 0, 0, -1};
static const double pressure[] = {1e5, 0, 0, 0, 0, 0, 0};
static const int32_t cells[] = {0, 1, 2, 3, 0, 2, 4, 3, 0, 4, 5, 3, 0, 5, 1, 3,
                                0, 2, 1, 6, 0, 4, 2, 6, 0, 5, 4, 6, 0, 1, 5, 6};
static const int32_t triangles[] = {1, 2, 3, 2, 4, 3, 4, 5, 3, 5, 1, 3,
                                    2, 1, 6, 4, 2, 6, 5, 4, 6, 1, 5, 6};
static const geo_arrays soft = {GEO_TETRAHEDRA, 7, 8, points, cells, pressure, 0, 0};
static const geo_arrays rigid = {GEO_TRIANGLES, 7, 8, points, triangles, NULL, 0, 0};
static inline geo_shape *shape_of(const geo_arrays *arrays) {
  geo_shape *shape = NULL;
  CHECK_EQUAL(geo_shape_create(&shape, arrays, NULL, NULL), SAP_OK);
  return shape;
}

#endif
