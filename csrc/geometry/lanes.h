/* This module defines vectors of four numbers, or of two, for files that are compiled once per
 * instruction set. */
#ifndef SAPWOOD_GEOMETRY_LANES_H
#define SAPWOOD_GEOMETRY_LANES_H

#ifdef __AVX2__
enum { GEO_LANES = 4 };
#define GEO_LANES_BYTES 32
#else
enum { GEO_LANES = 2 };
#define GEO_LANES_BYTES 16
#endif

typedef double geo_lanes __attribute__((vector_size(GEO_LANES_BYTES)));
/* result of a comparison: -1 if it holds, else 0 */
typedef long long geo_mask __attribute__((vector_size(GEO_LANES_BYTES)));

static inline geo_lanes geo_load(const double *x) {
  typedef double unaligned __attribute__((vector_size(GEO_LANES_BYTES), aligned(8), may_alias));
  return *(const unaligned *)x;
}

static inline geo_lanes geo_all(double x) { return x - (geo_lanes){0}; }

static inline geo_lanes geo_magnitude(geo_lanes x) {
  return (geo_lanes)((geo_mask)x & 0x7fffffffffffffffLL);
}

/* Returns a bit for each lane whose mask is 0. */
static inline int geo_open(geo_mask mask) {
#ifdef __AVX2__
  const geo_mask bits = ~mask & (geo_mask){1, 2, 4, 8};
  return (int)(bits[0] | bits[1] | bits[2] | bits[3]);
#else
  const geo_mask bits = ~mask & (geo_mask){1, 2};
  return (int)(bits[0] | bits[1]);
#endif
}

#endif
