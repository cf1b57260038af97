/* Parts of a step of one MjData, for steps composed in Python. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_STAGES_H
#define SAPWOOD_PYTHON_MUJOCO_PY_STAGES_H

#include "python/stepper/object.h"

/* The methods of ModelStepper. */
extern const char sapwood_stepper_start_doc[];
extern const char sapwood_stepper_find_forces_doc[];
extern const char sapwood_stepper_finish_doc[];
extern const char sapwood_stepper_evaluate_doc[];
extern const char sapwood_stepper_solve_doc[];
extern const char sapwood_stepper_gather_doc[];
extern const char sapwood_stepper_remember_doc[];
extern const char sapwood_stepper_write_doc[];
PyObject *sapwood_stepper_start(PyObject *self, PyObject *args);
PyObject *sapwood_stepper_find_forces(PyObject *self, PyObject *args);
PyObject *sapwood_stepper_finish(PyObject *self, PyObject *args);
PyObject *sapwood_stepper_evaluate(PyObject *self, PyObject *args);
PyObject *sapwood_stepper_solve(PyObject *self, PyObject *args);
PyObject *sapwood_stepper_gather(PyObject *self, PyObject *args);
PyObject *sapwood_stepper_write(PyObject *self, PyObject *args);
PyObject *sapwood_stepper_remember(PyObject *self, PyObject *args);

#endif
