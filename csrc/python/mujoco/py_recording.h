/* What ModelStepper.run records of each step: arrays given by name, and a ContactLog. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_RECORDING_H
#define SAPWOOD_PYTHON_MUJOCO_PY_RECORDING_H

#include "mujoco/stages/recording.h"
#include "python/stepper/object.h"

/* Room for `steps` steps of a world: None, or a dict of arrays (steps, length) by the names of
 * struct sap_recording, of which there may be any, an int `state_spec` beside `state`, and a
 * ContactLog `contacts`. The dict owns what is written; a dict is attached to the world. 0, or -1
 * with an exception. */
int sapwood_recording_open(struct sap_recording *recording, sap_mujoco_world *world,
                           const sapwood_state *state, PyObject *dict, Py_ssize_t steps);

/* adds ContactLog and the names RECORDED to the module; 0, or -1 with an exception */
int sapwood_add_recording(PyObject *module);

#endif
