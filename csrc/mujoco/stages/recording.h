/* The recording of a run: arrays and state of the engine after each step, forces of contact by
 * body, and the contacts one by one.
 *
 * Contacts are copied while the stepper is locked, and count once the step is taken.
 *
 * Ownership: the arrays and the log belong to the caller. */
#ifndef SAPWOOD_MUJOCO_STAGES_RECORDING_H
#define SAPWOOD_MUJOCO_STAGES_RECORDING_H

#include "step/contact_log.h"
#include "sapwood/mujoco.h"

/* Arrays of double in mjData, from the table of sapwood/mujoco.h. */
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
  double *arrays[SAP_N_RECORDED]; /* (steps, length); NULL: not recorded, as below */
  double *state;                  /* (steps, mj_stateSize(state_spec)) */
  int state_spec;
  double *force; /* (steps, n_bodies, 3) sum of contact forces on each body, N, in the world */
  struct sap_contact_log *contacts;

  int64_t steps; /* number of recorded steps */
  int64_t lengths[SAP_N_RECORDED], n_state, n_force;
  int64_t n_contacts; /* number of contacts copied in the present step */
};

/* Finds the lengths of the arrays and attaches the recording to the world; the arrays may be set
 * until its first step. Returns -1 if mj_stateSize() fails, with the failure in the world. */
int sap_recording_open(struct sap_recording *recording, sap_mujoco_world *world);

/* Copies the contacts of the solved step; returns 0 if memory ran out. */
int sap_recording_note(struct sap_recording *recording, const sap_mujoco_world *world);

/* Records all other values, once the step was taken. */
void sap_recording_keep(struct sap_recording *recording, const sap_mujoco_world *world);

#endif
