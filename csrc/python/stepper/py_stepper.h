/* _core.ModelStepper and its functions. */
#ifndef SAPWOOD_PYTHON_STEPPER_PY_STEPPER_H
#define SAPWOOD_PYTHON_STEPPER_PY_STEPPER_H

#include "python/convert.h"

/* Adds types, functions and tables to the module. Returns 0, or -1 with an exception. */
int sapwood_add_stepper(PyObject *module);

#endif
