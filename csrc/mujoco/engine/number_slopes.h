/* Derivatives of A and of the smooth forces by numbers of MuJoCo's model in which they are linear
 * (step/derivatives/linear_number.h). For a mass or an inertia of a body they are
 *
 *     dA = S^T dI S = U^T U,    dp = dt S^T (dI a + V x* dI V)
 *
 * with the axes S of the velocities that move the body, its spatial velocity V and acceleration a,
 * gravity included, over the step, and the derivative dI of its spatial inertia. This is the
 * Newton-Euler recursion for one body. For a mass, U are the velocities of its centre, for
 * an inertia the angular velocities about its axis. An armature adds to the diagonal of A, and
 * so does damping times dt, whose force is implicit. A gain multiplies the input of an actuator.
 *
 * The data must hold the stages of the centre. */
#ifndef SAPWOOD_MUJOCO_ENGINE_NUMBER_SLOPES_H
#define SAPWOOD_MUJOCO_ENGINE_NUMBER_SLOPES_H

#include "sapwood/mujoco.h"
#include "step/derivatives/linear_number.h"

/* Kinds of numbers. All others have no derivative here. The last two leave A. */
enum sap_number_kind {
  SAP_NUMBER_OTHER,
  SAP_NUMBER_MASS,
  SAP_NUMBER_INERTIA,
  SAP_NUMBER_ARMATURE,
  SAP_NUMBER_DAMPING,
  SAP_NUMBER_FRICTION, /* sliding friction of a geom, whose contacts have the engine's friction */
  SAP_NUMBER_GAIN      /* gain, not 0, of an implicit controller whose bias is affine */
};

struct sap_model_number {
  int32_t kind;    /* enum sap_number_kind */
  int32_t element; /* body, velocity, geom or actuator of one output */
  int32_t axis;    /* principal axis of an inertia */
};

/* Writes the derivatives at the velocity v (nv) after the step; the arrays of `slope` have room for
 * all velocities. */
void sap_number_slope_find(const sap_mujoco_world *world, const struct sap_model_number *number,
                           const double *v, struct sap_number_slope *slope);

#endif
