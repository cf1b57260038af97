/* ModelStepper.rollout: many worlds on one MjData. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_ROLLOUT_H
#define SAPWOOD_PYTHON_MUJOCO_PY_ROLLOUT_H

#include "python/stepper/object.h"

/* The method of ModelStepper. */
extern const char sapwood_stepper_rollout_doc[];
PyObject *sapwood_stepper_rollout(PyObject *self, PyObject *args, PyObject *keywords);

#endif
