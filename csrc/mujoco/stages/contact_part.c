#include "mujoco/stages/contact_part.h"

#include "mujoco/engine/fields.h"
#include "mujoco/engine/step_arrays.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/margins.h"
#include "mujoco/stages/memory_state.h"
#include "mujoco/stages/open_contacts.h"
#include "mujoco/stages/recording.h"
#include "mujoco/stages/rotation.h"
#include "step/contacts/friction_memory.h"

/* Records why the stepper took no step. */
static void explain(sap_mujoco_world *world) {
  const sap_stepper *stepper = world->stepper;
  const sap_solution *s = &stepper->solution;
  if (world->end.status != SAP_OK) {
    sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
  } else if (stepper->gather.fault != SAP_FAULT_NONE) {
    sap_mujoco_fail(world, SAP_STEP_FAULT, (int)stepper->gather.fault, stepper->gather.fault_index);
  } else {
    sap_mujoco_fail(world, SAP_STEP_OUTCOME, (int)s->outcome, s->tree);
  }
}

/* ---- calls of the stepper -------------------------------------------------------------------- */

/* Returns the arrays of a step, with a correction where trees in equality constraints turn. */
static sap_step_arrays arrays_of_step(sap_mujoco_world *world) {
  /* a step without the factor of M turns no trees */
  world->corrects_rotation = !world->skips_factor && sap_mujoco_turns_held_trees(world);
  sap_step_arrays arrays = sap_mujoco_arrays(world);
  arrays.correct = world->corrects_rotation ? sap_mujoco_correct_rotation : NULL;
  arrays.context = world;
  return arrays;
}

int sap_mujoco_take_contact_part(sap_mujoco_world *world) {
  const sap_step_arrays arrays = arrays_of_step(world);
  sap_mujoco_lock(world);
  sap_mujoco_check_memory(world);
  world->end.error = (sap_error){0};
  world->end.status = sap_stepper_solve(world->stepper, &arrays, &world->end.error);
  if (!world->stepper->took) {
    explain(world);
  } else {
    world->record = sap_stepper_record(world->stepper);
    world->stepper->end_time = SAP_DATA(world, time) + world->stepper->settings.dt;
    world->n_removed =
        sap_mujoco_is_speculative(world) ? sap_mujoco_remove_open_contacts(world, 1) : 0;
    if (world->recording && !sap_recording_note(world->recording, world)) {
      world->end.status = SAP_OUT_OF_MEMORY;
      sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
    }
  }
  sap_mujoco_unlock(world);
  return world->end.failure == SAP_STEP_TAKEN;
}

void sap_mujoco_keep_memory(const sap_mujoco_world *world) {
  if (world->memory) {
    sap_mujoco_lock(world);
    sap_mujoco_mark_memory(world);
    sap_mujoco_unlock(world);
  }
}

static void explain_gather(sap_mujoco_world *world) {
  world->end.failure = SAP_STEP_TAKEN;
  if (world->end.status != SAP_OK || world->stepper->gather.fault != SAP_FAULT_NONE) {
    explain(world);
  }
}

typedef sap_status stepper_call(sap_stepper *stepper, const sap_step_arrays *arrays,
                                sap_error *error);

static sap_step_failure call_stepper(sap_mujoco_world *world, const double *qvel,
                                     stepper_call *call) {
  sap_step_arrays arrays = arrays_of_step(world);
  arrays.state.qvel = qvel ? qvel : arrays.state.qvel;
  sap_mujoco_lock(world);
  world->end.error = (sap_error){0};
  world->end.status = call(world->stepper, &arrays, &world->end.error);
  explain_gather(world);
  sap_mujoco_unlock(world);
  return world->end.failure;
}

sap_step_failure sap_mujoco_solve(sap_mujoco_world *world) {
  return call_stepper(world, NULL, sap_stepper_solve);
}

sap_step_failure sap_mujoco_gather(sap_mujoco_world *world, const double *qvel) {
  sap_mujoco_lock(world);
  sap_mujoco_check_memory(world);
  sap_mujoco_unlock(world);
  return call_stepper(world, qvel, sap_stepper_gather);
}

int sap_mujoco_write(sap_mujoco_world *world, const struct sap_found *found) {
  const sap_step_arrays arrays = sap_mujoco_arrays(world);
  sap_mujoco_lock(world);
  world->end.status = SAP_OK;
  const int fits = sap_stepper_write(world->stepper, &arrays, found);
  explain_gather(world);
  world->n_removed = 0;
  if (fits && world->end.failure == SAP_STEP_TAKEN && sap_mujoco_is_speculative(world)) {
    world->n_removed = sap_mujoco_remove_open_contacts(world, 1);
  }
  sap_mujoco_unlock(world);
  return fits;
}

void sap_mujoco_remember(const sap_mujoco_world *world) {
  if (world->memory) {
    sap_mujoco_lock(world);
    sap_friction_memory_keep(world->memory, &world->stepper->gather);
    sap_mujoco_mark_memory(world);
    sap_mujoco_unlock(world);
  }
}
