/* The recording of ModelStepper.run: arrays given by name, and a ContactLog. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_RECORDING_H
#define SAPWOOD_PYTHON_MUJOCO_PY_RECORDING_H

#include "mujoco/stages/recording.h"
#include "python/stepper/object.h"

/* Makes room for `steps` steps of a world in `dict`. It is None, or a dict with any of the arrays
 * (steps, length) of struct sap_recording, an int `state_spec` beside `state`, and a ContactLog
 * `contacts`. The dict owns these; a recording with a dict is attached to the world. Returns 0, or
 * -1 with an exception. */
int sapwood_recording_open(struct sap_recording *recording, sap_mujoco_world *world,
                           const sapwood_state *state, PyObject *dict, Py_ssize_t steps);

/* Returns the log of a ContactLog, which owns it, or NULL with TypeError. */
struct sap_contact_log *sapwood_contact_log_of(PyObject *object, const sapwood_state *state);

#endif
