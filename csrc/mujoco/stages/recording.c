#include "mujoco/stages/recording.h"

#include <string.h>

#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/stages/state_check.h"

/* indices in world->state_length */
enum { QPOS, QVEL, ACT, CTRL };

int sap_recording_open(struct sap_recording *recording, sap_mujoco_world *world) {
  const int64_t *length = world->state_length;
  const int64_t n_outputs = SAP_MODEL(world, nout);
  const int64_t lengths[SAP_N_RECORDED] = {[SAP_RECORDED_qpos] = length[QPOS],
                                           [SAP_RECORDED_qvel] = length[QVEL],
                                           [SAP_RECORDED_act] = length[ACT],
                                           [SAP_RECORDED_qacc] = length[QVEL],
                                           [SAP_RECORDED_ctrl] = length[CTRL],
                                           [SAP_RECORDED_actuator_force] = n_outputs,
                                           [SAP_RECORDED_qfrc_constraint] = length[QVEL],
                                           [SAP_RECORDED_sensordata] = world->nsensordata};
  memcpy(recording->lengths, lengths, sizeof lengths);
  recording->n_state = sap_mujoco_state_size(world, recording->state_spec);
  if (recording->n_state < 0) {
    sap_mujoco_fail(world, SAP_STEP_MUJOCO, 0, -1);
    return -1;
  }
  recording->n_force = 3 * (int64_t)world->stepper->forest.n_bodies;
  world->recording = recording;
  return 0;
}

int sap_recording_note(struct sap_recording *recording, const sap_mujoco_world *world) {
  const sap_stepper *stepper = world->stepper;
  if (recording->force) {
    sap_stepper_body_forces(stepper, recording->force + recording->steps * recording->n_force);
  }
  if (recording->contacts) {
    recording->n_contacts = stepper->gather.problem.n_contacts;
    sap_contact_record *room = sap_contact_log_room(recording->contacts, recording->n_contacts);
    if (!room) {
      return 0;
    }
    sap_stepper_contacts(stepper, room);
  }
  return 1;
}

static void keep_array(double *arrays, int64_t step, int64_t length, const double *from) {
  if (arrays && length > 0) {
    memcpy(arrays + step * length, from, (size_t)length * sizeof *from);
  }
}

void sap_recording_keep(struct sap_recording *recording, const sap_mujoco_world *world) {
  const int64_t step = recording->steps++;
#define ARRAY(name) SAP_DATA(world, name),
  const double *const arrays[SAP_N_RECORDED] = {SAP_RECORDED(ARRAY)};
#undef ARRAY
  for (int i = 0; i < SAP_N_RECORDED; ++i) {
    keep_array(recording->arrays[i], step, recording->lengths[i], arrays[i]);
  }
  if (recording->state) {
    world->api->mj_getState(world->model, world->data, recording->state + step * recording->n_state,
                            recording->state_spec);
  }
  if (recording->contacts) {
    recording->contacts->n += recording->n_contacts;
  }
}
