/* What geoms travel in a step, found when it is asked for: most geoms are far from all others.
 *
 * With the velocity V of the centre of a geom, its angular velocity W, the most r that a point of
 * it which can come closer by a rotation is away from there, and g of what gravity adds
 *
 *     distance = (1 + SAP_OPEN_TIME) dt (v + g(v)),   v = |V| + |W| r
 *     g(v) = min(dt |g|, dt |g|/10 + 4 v)
 *
 * Geoms without a dof travel nowhere. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_MOTION_BOUND_H
#define SAPWOOD_MUJOCO_SPECULATIVE_MOTION_BOUND_H

#include "base/arithmetic.h"
#include "mujoco/speculative/twists.h"

struct sap_motion_bound {
  const sap_mujoco_world *world;
  const struct sap_twist *twist; /* (n_bodies) */
  double fall;                   /* the speed that a body gains in a step of free fall, m/s */
  double *distance, *gain;       /* (n_geoms) m, and m/s that gravity adds, of those known */
  int8_t *is_known;              /* (n_geoms) */
};

/* all but the arrays of geoms, of which none is known; these are taken from MuJoCo's stack */
struct sap_motion_bound sap_motion_bound_begin(const sap_mujoco_world *world,
                                               const struct sap_twist *twist);

void sap_motion_bound_find(const struct sap_motion_bound *motion_bound, int32_t geom);

static inline double sap_motion_bound_of(const struct sap_motion_bound *motion_bound,
                                         int32_t geom) {
  if (!motion_bound->is_known[geom]) {
    sap_motion_bound_find(motion_bound, geom);
  }
  return motion_bound->distance[geom];
}

/* bounds of the distances of geoms first..end-1 of a body, and of what gravity adds */
double sap_motion_bound_of_body(const struct sap_motion_bound *motion_bound, int32_t body,
                                int32_t first, int32_t end, double *gain);

/* the most that a point of a geom which can come closer by a turn is away from its centre: none of
 * a sphere */
double sap_motion_bound_reach(const sap_mujoco_world *world, int32_t geom);

/* that of a speed, m */
double sap_motion_bound_in(const sap_mujoco_world *world, double speed);

/* A negative margin shrinks a geom: its contacts are those that the user wants to be found late. */
static inline double sap_widened_margin(double own, double motion_bound) {
  return own < 0.0 ? own : sap_larger(own, motion_bound);
}

#endif
