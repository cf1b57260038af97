/* The end of a step that was solved elsewhere. */
#ifndef SAPWOOD_PYTHON_STEPPER_WRITE_H
#define SAPWOOD_PYTHON_STEPPER_WRITE_H

#include "python/stepper/object.h"

/* method of ModelStepper */
extern const char sapwood_stepper_write_doc[];
PyObject *sapwood_stepper_write(PyObject *self, PyObject *const *args, Py_ssize_t n_args);

#endif
