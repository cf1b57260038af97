/* Constraints of one simulation step other than contacts, gathered from a model's arrays.
 *
 *     equality      Bilateral     residual and Jacobian of the engine's rows
 *     friction loss DryFriction   bound and Jacobian of the engine's rows
 *     limit         Limit         phi0 = q - lower or upper - q; a ball: upper - angle, row -axis
 *     actuator      Controller    q = length, S = force + Kp length + Kd velocity at the start of
 *                                 the step, so that force = S - Kp q - Kd v: q_d = S/Kp, or
 *                                 v_d = S/Kd
 *
 * Limits are there in every step, whether or not the engine lists them: one acts if it would be
 * passed within the step; those that cannot be wait (open_limits.h). Of a pose the position and the
 * rotation are two constraints, as their units differ. Rows that move no dof are left out.
 *
 * What a controller does explicitly in the engine's forces is taken out of them, and what it did in
 * the step is put back in its place. Where the total actuator force of a dof is bounded, the forces
 * of other actuators are kept within the bounds and leave the controller the rest. */
#ifndef SAPWOOD_STEP_JOINTS_CONSTRAINTS_H
#define SAPWOOD_STEP_JOINTS_CONSTRAINTS_H

#include "step/joints/element_gather.h"

/* `elements` (NULL for none) must pass sap_elements_check and, as `forest`, outlive the gather. */
sap_status sap_element_gather_create(struct sap_element_gather *gather,
                                     const struct sap_elements *elements,
                                     const struct sap_forest *forest,
                                     const sap_allocator *allocator);
void sap_element_gather_release(struct sap_element_gather *gather);

/* Lists the rows of this step but for R, v_hat and the bounds, and finds the smooth forces without
 * controllers. Marks the trees that they move in `touched`. A fault comes with its index. */
sap_status sap_element_gather_run(struct sap_element_gather *gather,
                                  const struct sap_element_state *state, uint8_t *touched,
                                  enum sap_fault *fault, int64_t *index);

/* Fills `regularization` of all groups, after which R, v_hat and the bounds are found, and the
 * bounds of controllers, which may differ from side to side. */
void sap_element_gather_parameters(struct sap_element_gather *gather,
                                   const sap_parameters *parameters);

#endif
