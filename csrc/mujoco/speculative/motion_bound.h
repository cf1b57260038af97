/* Motion bounds: upper limits of the motion of geoms in a step, found on demand, because most geoms
 * are far from all others.
 *
 * V is the velocity of the centre of a geom, W its angular velocity, and g(v) the speed that
 * gravity adds. r is the largest distance from the centre of a point that a rotation can bring
 * closer:
 *
 *     distance = (1 + SAP_OPEN_TIME) dt (v + g(v)),   v = |V| + |W| r
 *     g(v) = min(dt |g|, dt |g|/10 + 4 v)
 *
 * Geoms without a dof have the motion bound 0. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_MOTION_BOUND_H
#define SAPWOOD_MUJOCO_SPECULATIVE_MOTION_BOUND_H

#include "base/arithmetic.h"
#include "mujoco/speculative/twists.h"

struct sap_motion_bound {
  const sap_mujoco_world *world;
  const struct sap_twist *twist; /* (n_bodies) */
  double fall;                   /* speed gained in a step of free fall, m/s */
  double *distance, *gain;       /* (n_geoms) m; speed added by gravity, m/s; if known */
  int8_t *is_known;              /* (n_geoms) */
};

/* Returns the struct with no geom known yet; its arrays of geoms are on MuJoCo's stack. */
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

/* Returns upper limits for geoms first..end-1 of a body: the distance, and in *gain the speed added
 * by gravity. */
double sap_motion_bound_of_body(const struct sap_motion_bound *motion_bound, int32_t body,
                                int32_t first, int32_t end, double *gain);

/* Returns an upper limit, m, of the distance at which a contact of two geoms may close (margins.h):
 *
 *     (1 + SAP_OPEN_TIME) dt (2 (|V_2 - V_1| + |W_2 - W_1| (2 r + most)) + g_1 + g_2)
 *
 * with V_2 - V_1 at the centre of the smaller geom that moves, r its bounding radius, and `most`
 * another limit of the distance. It is small for geoms that move as one. */
double sap_motion_bound_of_pair(const struct sap_motion_bound *motion_bound, int32_t g1, int32_t g2,
                                double most);

/* Returns r: the largest distance from the centre of a point that a rotation can bring closer; 0
 * for a sphere. */
double sap_motion_bound_reach(const sap_mujoco_world *world, int32_t geom);

/* Returns the motion bound of a speed, m. */
double sap_motion_bound_in(const sap_mujoco_world *world, double speed);

/* Widens a margin. A negative margin shrinks a geom: the user wants its contacts to be found
 * late. */
static inline double sap_widened_margin(double own, double motion_bound) {
  return own < 0.0 ? own : sap_larger(own, motion_bound);
}

#endif
