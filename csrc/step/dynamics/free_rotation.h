/* Implicit midpoint rule for the gyroscopic torque of bodies that rotate freely.
 *
 * A tree whose only joint is free or a ball is one rigid body. With its inertia I about the centre
 * of mass (about the pivot for a ball joint), in the frame of the body, and the torque t of the
 * other smooth forces, which the engine's free acceleration a contains,
 *
 *     I (w_1 - w_0) + dt w_m x I w_m = dt t     w_m = (w_0 + w_1)/2,  t = I a_w + w_0 x I w_0
 *
 * keeps w.Iw and |Iw| of a body without torque exactly. Newton's method solves it with the Jacobian
 *
 *     I + dt/2 ([w_m]x I - [I w_m]x)
 *
 * Where it does not converge, above some 3 rad in a step, the rule acts on 2, 4, 8 ... equal parts
 * of the step in turn, each with its share of dt t.
 *
 * The centre of mass of a free body, at c from its origin, moves by the engine's acceleration. The
 * origin follows at the end of the step, with the rotation R_1 = R_0 exp(dt [w_1]x):
 *
 *     v_C1 = v_O0 + R_0 (w_0 x c) + dt (a_O + R_0 (a_w x c + w_0 x (w_0 x c)))
 *     v_O1 = v_C1 - R_1 (w_1 x c)
 *
 * m, c and I follow from the block of the tree in M, where M_11 = m 1, M_12 = -m R_0 [c]x and
 * M_22 = I - m [c]x [c]x. A step changes a by (v_1 - v_0)/dt - a, and the forces by M times that,
 * so M a = qfrc_smooth and the sum of bias and smooth forces hold as before.
 *
 * The rule does not act on trees in an equality constraint, which turns the body after its midpoint
 * was taken, nor on trees of other joints (tree_rotation.h). The explicit torque stays in a tree
 * that turns by less than SAP_LEAST_TURN in the step. */
#ifndef SAPWOOD_STEP_DYNAMICS_FREE_ROTATION_H
#define SAPWOOD_STEP_DYNAMICS_FREE_ROTATION_H

#include "sapwood/model.h"

/* Least rotation in a step, rad, at which the rule acts. */
#define SAP_LEAST_TURN 1e-6

/* Arrays of the engine, after its smooth forces were found. */
struct sap_free_rotation {
  const double *qpos;
  const double *qvel;  /* (nv) v_0 */
  const double *M;     /* (nM) */
  double *qfrc_bias;   /* (nv) read and written, as the next two */
  double *qfrc_smooth; /* (nv) */
  double *qacc_smooth; /* (nv) */
};

/* Returns 1 if any tree of the forest has a quaternion. */
int sap_free_rotation_acts(const sap_forest *forest);

/* Replaces the free acceleration of every tree with a quaternion in the forest. Returns the number
 * of trees that keep the explicit torque because no number of parts converges. */
int32_t sap_free_rotation_find(const sap_forest *forest, double dt,
                               const struct sap_free_rotation *state);

#endif
