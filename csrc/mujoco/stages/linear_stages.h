/* Calls of linear_step.h for the state in the data of a world, and of the stages of MuJoCo around
 * them. Each returns the failure of the world.
 *
 * A derivative takes them in this order: the centre; then, for a state close by, its stages of
 * stages/step.h, and its residual or its sensors. The world of that state may be another one, with
 * a stepper and a model of the same structure. */
#ifndef SAPWOOD_MUJOCO_STAGES_LINEAR_STAGES_H
#define SAPWOOD_MUJOCO_STAGES_LINEAR_STAGES_H

#include "step/derivatives/linear_number.h"
#include "sapwood/mujoco.h"

/* Checks the state, solves its step, and linearizes it there for about `n_changes` changes.
 * Contacts, rows and forces in the data are those of the start of the step. */
sap_step_failure sap_linear_find_centre(sap_mujoco_world *world, struct sap_linear_step *linear,
                                        int32_t n_changes);

/* Returns the reciprocal of a width, as sap_linear_step_reach(), straight after the centre. */
double sap_linear_find_reach(sap_mujoco_world *world, const struct sap_linear_step *linear,
                             const double *x);

/* Writes the residual F (nv), as sap_linear_step_residual(). */
sap_step_failure sap_linear_find_residual(sap_mujoco_world *world, struct sap_linear_step *linear,
                                          int in_place, double *F);

/* Writes the change dv (nv), as sap_linear_step_change(). */
sap_step_failure sap_linear_find_change(sap_mujoco_world *world, struct sap_linear_step *linear,
                                        const double *dF, double *dv);

/* Returns 1 if the next function applies to the centre, whose step must correct no rotation. */
int sap_linear_finds_numbers(const sap_mujoco_world *world, const struct sap_linear_step *linear);

/* Finds row k of linear->by_number, and dF (nv), as sap_linear_number_find(). */
sap_step_failure sap_linear_find_number(sap_mujoco_world *world, struct sap_linear_step *linear,
                                        const struct sap_number_slope *slope, double width,
                                        int32_t k, double *dF);

/* Adds to F (nv), as sap_linear_step_along(). */
sap_step_failure sap_linear_add_along(sap_mujoco_world *world, struct sap_linear_step *linear,
                                      double *F);

/* Finds the sensors of a step that ends at the velocity v (nv), with the forces of the law at v.
 * The stages of the state must have made all rows. */
sap_step_failure sap_linear_find_sensors(sap_mujoco_world *world,
                                         const struct sap_linear_step *linear, const double *v);

/* Integrates the state by mj_Euler, from the accelerations in the data. */
sap_step_failure sap_linear_integrate(sap_mujoco_world *world);

/* Writes the change `next` (nv) of the positions after a step at the velocity v (nv), where the
 * positions before it change by dq (nv), and v by dv (nv). Changes of positions are motions in the
 * coordinates of the velocities: q' = q exp(dt v). */
void sap_linear_move(const sap_mujoco_world *world, const double *v, const double *dq,
                     const double *dv, double *next);

/* Finds how far both sides of a difference lead the velocity after the step from the centre
 * together, m/s or rad/s, from the sum of their residuals less twice that of the centre (nv). Its
 * scratch is dv (nv). */
sap_step_failure sap_linear_find_bend(sap_mujoco_world *world, struct sap_linear_step *linear,
                                      const double *sum, double *dv, double *bend);

/* Returns 1 if a bend over the width h is too large for a smooth step whose velocity changes by
 * `slope` per unit of h; the velocity may then jump within it. */
int sap_linear_is_bent(double bend, double h, double slope);

/* Returns 1 if the velocity jumps, from the bends over h and 4 h. The engine finds some contacts by
 * an iteration, and their point may jump. The bend of a smooth step is 16 times as large at four
 * times the width, which is still within the region of the law. */
int sap_linear_jumps(double bend, double wide_bend);

#endif
