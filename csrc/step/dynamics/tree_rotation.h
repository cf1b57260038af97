/* Bias forces at the middle of the step, for trees that fly and turn.
 *
 * A tree whose root is a free or a ball joint, with joints below, has the bias force c(q, v) of
 * centrifugal, Coriolis, gyroscopic and gravity forces. Taken at v_0, c lets the tree gain energy.
 * One pass of the fixed point of
 *
 *     v_1 = v_0 - dt M^-1 c(q_0, (v_0 + v_1)/2)
 *
 * from v_1 = v_0 takes c at v_m = v_0 - dt/2 M^-1 c(q_0, v_0) instead:
 *
 *     f <- f - s (c(q_0, v_m) - c(q_0, v_0))
 *
 * No other force enters v_m, so that forces against contacts or limits do not speed it up. The
 * weight s grows smoothly from 0 to 1 where dt sqrt(|w_r| |w|) goes from SAP_SLOW_TURN to
 * SAP_FAST_TURN, with the angular velocity w_r of the root and that w of all joints. Gyroscopic
 * torques on the root have the size of this product. Slower trees, and those that move their limbs
 * about a root at rest, cost nothing.
 *
 * With x = M^-1 c, the pass has the rate of convergence
 *
 *     rho^2 = |x(v_m) - x(v_0)|_M^2 / |x(v_0)|_M^2
 *
 * Where rho exceeds SAP_MOST_RATE, the fixed point may not converge, and c stays at v_0.
 *
 * The engine evaluates c: the caller asks for v_m, calls the engine, and applies the result. A body
 * alone has the rule of free_rotation.h; trees in an equality constraint keep c at v_0. */
#ifndef SAPWOOD_STEP_DYNAMICS_TREE_ROTATION_H
#define SAPWOOD_STEP_DYNAMICS_TREE_ROTATION_H

#include "sapwood/model.h"

/* Rotation in a step, rad, from which the weight grows, and where it is 1. */
#define SAP_SLOW_TURN 0.01
#define SAP_FAST_TURN 0.02

/* Largest rate of convergence. */
#define SAP_MOST_RATE 0.5

/* Arrays of the engine, after its smooth forces were found. */
struct sap_tree_rotation {
  const double *qvel;  /* (nv) v_0 */
  double *qfrc_bias;   /* (nv) c(q_0, v_0); read and written, as the next two */
  double *qfrc_smooth; /* (nv) */
  double *qacc_smooth; /* (nv) */
};

/* Returns 1 if the rule acts on any tree. */
int sap_tree_rotation_acts(const sap_forest *forest, double dt, const double *qvel);

/* Writes v_m (nv), from x = M^-1 c(q_0, v_0); of other trees v_0. */
void sap_tree_rotation_middle(const sap_forest *forest, double dt, const double *qvel,
                              const double *x, double *v_m);

/* Turns c = c(q_0, v_m) (nv) into c - c(q_0, v_0), which is 0 for other trees. */
void sap_tree_rotation_change(const sap_forest *forest, double dt, const double *qvel,
                              const double *qfrc_bias, double *c);

/* Applies the change dc of c and da = M^-1 dc. Returns the number of trees that keep c at v_0
 * because the pass may not converge. */
int32_t sap_tree_rotation_apply(const sap_forest *forest, double dt, const double *x,
                                const double *dc, const double *da,
                                const struct sap_tree_rotation *state);

#endif
