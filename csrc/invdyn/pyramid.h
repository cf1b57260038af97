/* The friction pyramid has an even number of edges, evenly spaced in the tangential plane. */
#ifndef SAPWOOD_INVDYN_PYRAMID_H
#define SAPWOOD_INVDYN_PYRAMID_H

#include <math.h>
#include <stdint.h>

/* Sets the unit vector at `k` of `edges` parts of a turn; halves lie between edges. */
static inline void invdyn_direction(double k, int32_t edges, double unit[2]) {
  const double angle = 6.283185307179586 * k / edges;
  unit[0] = cos(angle);
  unit[1] = sin(angle);
}

#endif
