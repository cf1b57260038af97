/* _core.FrictionMemory: what lagged friction remembers of the steps of one MjData by one
 * ModelStepper, under whose lock it changes. */
#ifndef SAPWOOD_PYTHON_STEPPER_PY_MEMORY_H
#define SAPWOOD_PYTHON_STEPPER_PY_MEMORY_H

#include "python/stepper/object.h"

/* What is behind the object for a call of the stepper, which must be ready: NULL for None. 0, or -1
 * with an exception. Needs the GIL. */
int sapwood_memory_of(sapwood_stepper *stepper, PyObject *object, sap_friction_memory **memory);

/* Adds the type to the module. 0, or -1 with an exception. */
int sapwood_add_memory(PyObject *module);

#endif
