/* What a run keeps of each step beside its record: arrays of the engine as they are after the step,
 * its state, forces of contact by body, and the contacts one by one.
 *
 * The contacts are taken down while the stepper is locked, and count once the step is taken.
 *
 * Ownership: arrays and the log are the caller's. */
#ifndef SAPWOOD_MUJOCO_STAGES_RECORDING_H
#define SAPWOOD_MUJOCO_STAGES_RECORDING_H

#include "step/contact_log.h"
#include "sapwood/mujoco.h"

/* arrays of double in mjData, of the table of sapwood/mujoco.h */
#define SAP_RECORDED(X) \
  X(qpos)               \
  X(qvel)               \
  X(act)                \
  X(qacc)               \
  X(ctrl)               \
  X(actuator_force)     \
  X(qfrc_constraint)    \
  X(sensordata)

#define SAP_RECORDED_PLACE(name) SAP_RECORDED_##name,
enum { SAP_RECORDED(SAP_RECORDED_PLACE) SAP_N_RECORDED };
#undef SAP_RECORDED_PLACE

struct sap_recording {
  double *arrays[SAP_N_RECORDED]; /* (steps, length), NULL for what is not kept, as below */
  double *state;                  /* (steps, mj_stateSize(state_spec)) */
  int state_spec;
  double *force; /* (steps, n_bodies, 3) sum of contact forces on each body, N, in the world */
  struct sap_contact_log *contacts;

  int64_t steps; /* that were kept */
  int64_t lengths[SAP_N_RECORDED], n_state;
  int64_t n_contacts; /* taken down in the step that is being taken */
};

/* Finds the lengths of the arrays, for an mjModel and its mjData. -1 where mj_stateSize() fails,
 * with the failure in the world. */
int sap_recording_open(struct sap_recording *recording, sap_mujoco_world *world);

/* Takes down the contacts of the step that was solved; 0 when memory ran out. */
int sap_recording_note(struct sap_recording *recording, const sap_mujoco_world *world);

/* The step was taken: all else. */
void sap_recording_keep(struct sap_recording *recording, const sap_mujoco_world *world);

#endif
