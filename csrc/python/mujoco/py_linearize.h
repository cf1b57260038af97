/* The derivative of a step of one MjData. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_LINEARIZE_H
#define SAPWOOD_PYTHON_MUJOCO_PY_LINEARIZE_H

#include "python/stepper/object.h"

/* The method of ModelStepper. */
extern const char sapwood_stepper_linearize_doc[];
PyObject *sapwood_stepper_linearize(PyObject *self, PyObject *args);

/* Makes the struct of linearizations that the stepper keeps. Returns 0, or -1 with an exception. */
int sapwood_stepper_make_linear(sapwood_stepper *self);

#endif
