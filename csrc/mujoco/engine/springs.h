/* Implicit springs: forces of springs and position gains taken at the end of the step, as MuJoCo's
 * integrator `discrete` has them. With K = -df/dq and D = -df/dv,
 *
 *     (M + dt D + dt^2 K) (v - v_0) = dt (f - dt K v_0)
 *
 * K has the springs of joints and tendons, and constant gains of actuators that are no implicit
 * controllers, whose constraints contain theirs. A negative stiffness counts as 0. The stiffness of
 * flexes stays explicit.
 *
 * MuJoCo's own derivative of smooth forces has no entry for two branches of a tree, which tendons
 * couple. The forest's pattern has all pairs of dofs of a tree here. */
#ifndef SAPWOOD_MUJOCO_ENGINE_SPRINGS_H
#define SAPWOOD_MUJOCO_ENGINE_SPRINGS_H

#include "sapwood/mujoco.h"

/* Subtracts dt K v_0 from qfrc_smooth, once after the smooth forces were found. */
void sap_mujoco_add_spring_forces(const sap_mujoco_world *world);

/* Writes df/dv - dt K in the pattern of the forest (nD), from qDeriv of the engine. */
void sap_mujoco_find_spring_slopes(const sap_mujoco_world *world, double *slopes);

#endif
