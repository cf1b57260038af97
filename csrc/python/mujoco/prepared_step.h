/* _core.PreparedStep: one step of one MjData, with all that is the same from step to step looked up
 * before, as a call from Python for each step should cost little more than the step. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PREPARED_STEP_H
#define SAPWOOD_PYTHON_MUJOCO_PREPARED_STEP_H

#include "python/stepper/object.h"

/* method of ModelStepper */
extern const char sapwood_stepper_prepare_doc[];
PyObject *sapwood_stepper_prepare(PyObject *self, PyObject *args);

/* Adds the type to the module. 0, or -1 with an exception. */
int sapwood_add_prepared_step(PyObject *module);

#endif
