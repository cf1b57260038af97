/* Velocities of bodies, once the kinematics of a state are known:
 *
 *     v(p) = V + W x (p - c)
 *
 * V, W: sums of cdof times qvel up the tree; c: subtree_com of its root.
 */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_TWISTS_H
#define SAPWOOD_MUJOCO_SPECULATIVE_TWISTS_H

#include "sapwood/mujoco.h"

struct sap_twist {
  double angular[3], linear[3]; /* rad/s; m/s of the point of the body at its c */
};

/* Finds the twists (n_bodies). */
void sap_mujoco_twists(const sap_mujoco_world *world, struct sap_twist *twist);

/* Finds the velocity v of the point p, with c. */
static inline void sap_twist_at(const struct sap_twist *twist, const double *c, const double *p,
                                double *v) {
  const double *w = twist->angular, r[3] = {p[0] - c[0], p[1] - c[1], p[2] - c[2]};
  v[0] = twist->linear[0] + w[1] * r[2] - w[2] * r[1];
  v[1] = twist->linear[1] + w[2] * r[0] - w[0] * r[2];
  v[2] = twist->linear[2] + w[0] * r[1] - w[1] * r[0];
}

/* Finds the velocity v of the point p of a body. */
void sap_mujoco_point_velocity(const sap_mujoco_world *world, const struct sap_twist *twist,
                               int32_t body, const double *p, double *v);

#endif
