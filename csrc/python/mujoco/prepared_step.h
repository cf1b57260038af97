/* _core.PreparedStep: one step of one MjData. All that stays the same from step to step is looked
 * up before, so that a call from Python costs little more than the step. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PREPARED_STEP_H
#define SAPWOOD_PYTHON_MUJOCO_PREPARED_STEP_H

#include "python/stepper/object.h"

/* The method of ModelStepper. */
extern const char sapwood_stepper_prepare_doc[];
PyObject *sapwood_stepper_prepare(PyObject *self, PyObject *args);

/* Adds the type to the module. Returns 0, or -1 with an exception. */
int sapwood_add_prepared_step(PyObject *module);

#endif
