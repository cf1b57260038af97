/* The derivative of a step of one MjData. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_LINEARIZE_H
#define SAPWOOD_PYTHON_MUJOCO_PY_LINEARIZE_H

#include "python/stepper/object.h"

/* The method of ModelStepper. */
extern const char sapwood_stepper_linearize_doc[];
PyObject *sapwood_stepper_linearize(PyObject *self, PyObject *args);

#endif
