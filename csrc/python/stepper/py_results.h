/* What the last step of a ModelStepper left, as NumPy arrays of its own. */
#ifndef SAPWOOD_PYTHON_STEPPER_PY_RESULTS_H
#define SAPWOOD_PYTHON_STEPPER_PY_RESULTS_H

#include "python/stepper/object.h"

/* methods of ModelStepper */
extern const char sapwood_stepper_problem_doc[];
extern const char sapwood_stepper_groups_doc[];
extern const char sapwood_stepper_result_doc[];
PyObject *sapwood_stepper_problem(PyObject *self, PyObject *unused);
PyObject *sapwood_stepper_groups(PyObject *self, PyObject *unused);
PyObject *sapwood_stepper_result(PyObject *self, PyObject *unused);

#endif
