/* Derivatives of the steps of one MjData by numbers of its model. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_TANGENTS_H
#define SAPWOOD_PYTHON_MUJOCO_PY_TANGENTS_H

#include "python/stepper/object.h"

/* The method of ModelStepper. */
extern const char sapwood_stepper_tangents_doc[];
PyObject *sapwood_stepper_tangents(PyObject *self, PyObject *args);

#endif
