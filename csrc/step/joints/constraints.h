/* Gathers the constraints of one simulation step other than contacts from a model's arrays.
 *
 *     equality      Bilateral     residual and Jacobian of the engine's rows
 *     friction loss DryFriction   bound and Jacobian of the engine's rows
 *     limit         Limit         phi0 = q - lower or upper - q; a ball: upper - angle, row -axis
 *     actuator      Controller    q = length, S = force + Kp length + Kd velocity at the start of
 *                                 the step, so that force = S - Kp q - Kd v: q_d = S/Kp, or
 *                                 v_d = S/Kd
 *
 * Limits are constraints in every step, whether or not the engine lists them. A limit acts if it
 * would be passed within the step; limits that cannot be passed are inactive (open_limits.h).
 * Position and rotation of a pose are two constraints, because their units differ. Each row of an
 * equality constraint of a flex is one. Rows that move no dof are left out.
 *
 * The explicit force of a controller is removed from the engine's forces, and its force in the step
 * replaces it. If the total actuator force of a dof is bounded, the other actuators act first,
 * within the bounds, and leave the controller the remainder. */
#ifndef SAPWOOD_STEP_JOINTS_CONSTRAINTS_H
#define SAPWOOD_STEP_JOINTS_CONSTRAINTS_H

#include "step/joints/element_gather.h"

/* Creates the gather. `elements` (NULL for none) must pass sap_elements_check; it and `forest` must
 * outlive the gather. */
sap_status sap_element_gather_create(struct sap_element_gather *gather,
                                     const struct sap_elements *elements,
                                     const struct sap_forest *forest,
                                     const sap_allocator *allocator);
void sap_element_gather_release(struct sap_element_gather *gather);

/* Checks the rows of the engine, makes room for those of this step, and finds the smooth forces
 * without controllers. A fault comes with its index. */
sap_status sap_element_gather_begin(struct sap_element_gather *gather,
                                    const struct sap_element_state *state, enum sap_fault *fault,
                                    int64_t *index);

/* Lists the rows of this step without R, v_hat and bounds, and marks the trees that they move in
 * `touched`. Inactive limits follow from gather->open. Returns 0 if the rows of the engine are not
 * those of the elements. */
int sap_element_gather_run(struct sap_element_gather *gather, const struct sap_element_state *state,
                           uint8_t *touched);

/* Fills `regularization` of all groups, from which R, v_hat and the bounds follow, and the bounds
 * of controllers, which may differ between the two signs. */
void sap_element_gather_parameters(struct sap_element_gather *gather,
                                   const sap_parameters *parameters);

#endif
