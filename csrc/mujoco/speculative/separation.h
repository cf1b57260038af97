/* Two geoms that a plane keeps apart for a step.
 *
 * A geom lies in a box, or in a segment or point with a radius around it. Where a plane with normal
 * n leaves a gap between two of them, and moves with the first, then no point of the other closes
 * it faster than
 *
 *     c = -n . (V_2 - V_1(p_2)) + max over x of x . (n x (W_2 - W_1))
 *
 * p_2, V_2: centre of the other and its velocity, V_1(p_2): that of the first there; W: angular
 * velocities, x: points of the other seen from its centre. The two stay apart where
 *
 *     gap > (1 + SAP_OPEN_TIME) dt (2 c + g_1 + g_2)   or   gap > travel_1 + travel_2
 *
 * with g and travel of margins.h; of two of one tree, which mostly fall together, g_1 + g_2 is no
 * more than g of their relative speed. Planes tried: along the faces of both boxes, and for what is
 * round those across the line of centres and from the axes of capsules. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_SEPARATION_H
#define SAPWOOD_MUJOCO_SPECULATIVE_SEPARATION_H

#include <stdint.h>

struct sap_mover {
  double centre[3], velocity[3]; /* of its box; m, m/s */
  const double *turn, *axes;     /* (3) angular velocity, (3, 3) rotation, in rows */
  double half[3], round;         /* of the box and around it, m */
  double radius;                 /* all of it is within that from the centre, m; INFINITY: below
                                    the plane through the centre whose normal is axis 2 */
  double motion_bound, gain;     /* m; m/s */
  double fall;                   /* what free fall adds to a speed in a step, m/s */
  int32_t tree;                  /* -1: does not move */
};

/* What gravity adds to a speed in a step, m/s: where there is none, what is there is likely to be
 * held, and gets a tenth. If it falls after all it may be thrown back, but not as high as it came
 * from. */
static inline double sap_gain_of(double fall, double speed) {
  const double held = 0.1 * fall + 4.0 * speed;
  return fall < held ? fall : held;
}

/* `time`: (1 + SAP_OPEN_TIME) dt; `own`: the distance up to which they are listed in any case. 0:
 * they may meet, or no plane was found; else `gap` has a lower bound of their distance. */
int sap_movers_stay_apart(const struct sap_mover *a, const struct sap_mover *b, double time,
                          double own, double *gap);

/* The same for a plane with unit normal n, from a to b, that leaves a gap. `nearest`: n is that of
 * the two nearest points; of other planes any turn counts, as if x were across its axis: other
 * contacts and limits change turns within the step, and touching fingers were found too late. */
int sap_plane_keeps_apart(const struct sap_mover *a, const struct sap_mover *b, double time,
                          double own, const double *n, double gap, int nearest);

#endif
