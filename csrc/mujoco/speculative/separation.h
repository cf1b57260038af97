/* Pairs of geoms that a plane keeps separated for a step.
 *
 * A geom lies in a box, or in a segment or point with a radius around it. A plane with normal n,
 * which moves with the first geom, may leave a gap between the two. No point of the other geom
 * closes this gap faster than
 *
 *     c = -n . (V_2 - V_1(p_2)) + max over x of x . (n x (W_2 - W_1))
 *
 * p_2 and V_2 are the centre of the other geom and its velocity, V_1(p_2) is that of the first
 * there; W are angular velocities, x points of the other geom seen from its centre. The two stay
 * separated where
 *
 *     gap > (1 + SAP_OPEN_TIME) dt (2 c + g_1 + g_2)   or   gap > distance_1 + distance_2
 *
 * with g of margins.h and the motion bounds of motion_bound.h. Two geoms of one tree mostly fall
 * together: there g_1 + g_2 is at most g of their relative speed. The planes tried lie along the
 * faces of both boxes, and for round geoms across the line of centres and from the axes of
 * capsules. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_SEPARATION_H
#define SAPWOOD_MUJOCO_SPECULATIVE_SEPARATION_H

#include <stdint.h>

struct sap_mover {
  double centre[3], velocity[3]; /* centre of its box, m, and its velocity, m/s */
  const double *turn, *axes;     /* (3) angular velocity, (3, 3) rotation, in rows */
  double half[3], round;         /* half lengths of the box, radius around it, m */
  double radius;             /* bounding radius, m; INFINITY: half space below the normal, axis 2 */
  double motion_bound, gain; /* m; speed added by gravity, m/s */
  double fall;               /* speed added by free fall in a step, m/s */
  int32_t tree;              /* -1: it does not move */
};

/* Returns the speed, m/s, that gravity adds in a step. A geom at rest is probably held, and gets a
 * tenth of free fall. If it falls after all it may be thrown back, but not as high as it came
 * from. */
static inline double sap_gain_of(double fall, double speed) {
  const double held = 0.1 * fall + 4.0 * speed;
  return fall < held ? fall : held;
}

/* Returns 1 if the two stay separated, with a lower bound of their distance in `gap`; 0 if they may
 * meet, or if no plane was found. `time`: (1 + SAP_OPEN_TIME) dt; `own`: the distance up to which
 * they are listed in any case. */
int sap_movers_stay_apart(const struct sap_mover *a, const struct sap_mover *b, double time,
                          double own, double *gap);

#endif
