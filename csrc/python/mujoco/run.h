/* ModelStepper.run: whole steps of one MjData. */
#ifndef SAPWOOD_PYTHON_MUJOCO_RUN_H
#define SAPWOOD_PYTHON_MUJOCO_RUN_H

#include "python/stepper/object.h"

/* The methods of ModelStepper. */
extern const char sapwood_stepper_accept_options_doc[];
extern const char sapwood_stepper_run_doc[];
PyObject *sapwood_stepper_accept_options(PyObject *self, PyObject *args);
PyObject *sapwood_stepper_run(PyObject *self, PyObject *const *args, Py_ssize_t n_args);

#endif
