/* This module bounds the torques of motors, whose actuators give  c u + b  with the control u and
 *
 *     b = b_0 + b_1 q + b_2 v        at the position q and the velocity v of the joint.
 *
 * Bounds of u bound c u; bounds of forces bound the torque itself. Where no control reaches the
 * range of forces, the nearest end of it is left.
 *
 * Ownership: all arrays are the caller's; nothing is allocated. Indices are not checked here. */
#ifndef SAPWOOD_INVDYN_TASKS_MOTORS_H
#define SAPWOOD_INVDYN_TASKS_MOTORS_H

#include <stdint.h>

struct tasks_motors {
  int32_t n;
  const int32_t *place, *dof; /* (n) of the joints' positions and velocities */
  const double *bias;         /* (3, n) b_0, b_1, b_2 */
  const double *by_control;   /* (2, n) least and largest c u, infinite for none */
  const double *by_force;     /* (2, n) least and largest torque, infinite for none */
};

/* Sets the torques without a control b (n), and the least and largest torques (n), N m. */
void tasks_bound_torques(const struct tasks_motors *motors, const double *qpos, const double *qvel,
                         double *b, double *lower, double *upper);

#endif
