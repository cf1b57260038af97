/* The results of the last step of a ModelStepper, as new NumPy arrays. */
#ifndef SAPWOOD_PYTHON_STEPPER_PY_RESULTS_H
#define SAPWOOD_PYTHON_STEPPER_PY_RESULTS_H

#include "python/stepper/object.h"

/* The methods of ModelStepper. */
extern const char sapwood_stepper_problem_doc[];
extern const char sapwood_stepper_groups_doc[];
extern const char sapwood_stepper_result_doc[];
PyObject *sapwood_stepper_problem(PyObject *self, PyObject *unused);
PyObject *sapwood_stepper_groups(PyObject *self, PyObject *unused);
PyObject *sapwood_stepper_result(PyObject *self, PyObject *unused);

#endif
