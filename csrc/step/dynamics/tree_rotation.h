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
 * about a root at rest, cost nothing. A body alone has the rule of free_rotation.h.
 *
 * A tree or body in an equality constraint is turned by the constraint as well. There
 *
 *     v_m = (v_0 + v_1)/2
 *
 * with the velocity v_1 of the whole step with c at v_0, which is then solved once more. The power
 * of c vanishes at the middle of the velocities alone: without this, floating closed loops gain
 * energy in first order of dt.
 *
 * With v_m = v_0 - dt/2 x and the acceleration a = M^-1 c, the pass has the rate of convergence
 *
 *     rho^2 = |a(v_m) - a(v_0)|_M^2 / |x|_M^2
 *
 * Where rho exceeds SAP_MOST_RATE, the fixed point may not converge, and c stays at v_0.
 *
 * The engine evaluates c: the caller asks for v_m, calls the engine, and applies the result. */
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

/* The trees of a pass. */
struct sap_turning_trees {
  const sap_forest *forest;
  double dt;
  int held; /* 1: those in equality constraints, 0: others */
};

/* Returns 1 if the rule acts on any of the trees. */
int sap_tree_rotation_acts(const struct sap_turning_trees *trees, const double *qvel);

/* Writes v_m (nv) from x; of all other trees v_0. */
void sap_tree_rotation_middle(const struct sap_turning_trees *trees, const double *qvel,
                              const double *x, double *v_m);

/* Turns c = c(q_0, v_m) (nv) into c - c(q_0, v_0), which is 0 for all other trees. */
void sap_tree_rotation_change(const struct sap_turning_trees *trees, const double *qvel,
                              const double *qfrc_bias, double *c);

/* Applies the change dc of c and da = M^-1 dc, for x and Mx. Returns the number of trees that keep
 * c at v_0 because the pass may not converge. */
int32_t sap_tree_rotation_apply(const struct sap_turning_trees *trees, const double *x,
                                const double *Mx, const double *dc, const double *da,
                                const struct sap_tree_rotation *state);

#endif
