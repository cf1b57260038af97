/* One step of one MjData: MuJoCo's stages by their addresses, the contact part by a ModelStepper.
 *
 *     check state, mj_step1, mj_fwdActuation, mj_fwdAcceleration,
 *     gather, solve, write back,
 *     mj_sensorAcc, mj_Euler
 *
 * A step that cannot be taken leaves the state before it and says why. The lock of the stepper is
 * held for the contact part alone, so that MuJoCo's callbacks may use the stepper. */
#ifndef SAPWOOD_PYTHON_MUJOCO_STEP_H
#define SAPWOOD_PYTHON_MUJOCO_STEP_H

#include "python/stepper/mujoco_api.h"
#include "python/stepper/stepper.h"

/* what a step tells about itself; the dtype STEP_RECORD of the module has its layout */
typedef struct sapwood_step_record {
  double time;                 /* at the end of the step, s */
  double momentum_error;       /* e_m (24) */
  double velocity_error_bound; /* sqrt(J) */
  double solver_seconds;       /* gathering and writing back not included */
  double seconds;              /* of the whole step */
  int32_t contacts;
  int32_t iterations; /* Newton iterations of the island that took most */
  int32_t total_iterations;
  int32_t line_search_trials;
  int32_t status; /* sap_outcome */
  int32_t islands;
  int32_t deep_contacts; /* deeper at the start than their core */
} sapwood_step_record;

/* why a step could not be taken */
typedef enum sapwood_step_failure {
  SAPWOOD_STEP_TAKEN = 0,
  SAPWOOD_STEP_STATE,  /* entry `index` of array `array` of the state is not finite or too large */
  SAPWOOD_STEP_MEMORY, /* MuJoCo had no room for all contacts or constraints */
  SAPWOOD_STEP_MUJOCO, /* an error of MuJoCo, `message` */
  SAPWOOD_STEP_FAULT,  /* sap_fault `array` at `index` */
  SAPWOOD_STEP_ARGUMENT, /* sap_status in `status` and `error` */
  SAPWOOD_STEP_OUTCOME,  /* sap_outcome `array` without a velocity, `index` the tree or -1 */
  SAPWOOD_STEP_OPTIONS,  /* options of the model are not those that were accepted */
  SAPWOOD_STEP_FAILURES
} sapwood_step_failure;

enum { SAPWOOD_STATE_ARRAYS = 6 }; /* qpos, qvel, act, ctrl, mocap_pos, mocap_quat */

typedef struct sapwood_world {
  const sapwood_mujoco *api;
  sapwood_stepper *stepper;
  const void *model;
  void *data;
  int64_t state_length[SAPWOOD_STATE_ARRAYS];
  int64_t nsensordata;
  sapwood_options options; /* that were accepted */
  int options_known;
  double started; /* end of the step before, by sap_seconds */

  /* of the last step */
  sapwood_step_record record;
  sapwood_step_failure failure;
  int array;
  int64_t index;
  sap_status status;
  sap_error error;
  char message[SAPWOOD_MUJOCO_MESSAGE];
} sapwood_world;

/* Prepares steps of `data` (a MjData that fits `model`, a MjModel) by `stepper`. 0, or -1 with an
 * exception that names the argument. Needs the GIL. */
int sapwood_world_open(sapwood_world *world, sapwood_stepper *stepper, PyObject *api,
                       PyObject *model, PyObject *data);

/* Takes a step and returns world->failure. Without the GIL; where MuJoCo reported an error, a
 * Python exception of a callback may be set. */
sapwood_step_failure sapwood_world_step(sapwood_world *world);

/* The failure as a tuple (name, array, index, message), or the exception that is set, of a
 * callback, or a MemoryError. NULL with an exception when memory ran out. Needs the GIL. */
PyObject *sapwood_world_failure(const sapwood_world *world);

/* Room for n records in an array of dtype STEP_RECORD, or NULL with an exception. The array owns
 * it. */
sapwood_step_record *sapwood_take_records(PyObject *object, npy_intp n);

/* Lets signals in when the last look (`looked`, by sap_seconds) is some time ago: -1 with an
 * exception where one of them wants to interrupt, else 0. Without the GIL. */
int sapwood_look_for_signals(double now, double *looked);

/* Adds the dtype STEP_RECORD to the module. 0, or -1 with an exception. */
int sapwood_add_mujoco_step(PyObject *module);

#endif /* SAPWOOD_PYTHON_MUJOCO_STEP_H */
