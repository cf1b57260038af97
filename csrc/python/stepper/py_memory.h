/* _core.FrictionMemory: the memory of lagged friction for one MjData and one ModelStepper. It
 * changes under the lock of the stepper. */
#ifndef SAPWOOD_PYTHON_STEPPER_PY_MEMORY_H
#define SAPWOOD_PYTHON_STEPPER_PY_MEMORY_H

#include "python/stepper/object.h"

/* Finds the memory of the object for a call of the stepper, which must be ready: NULL for None.
 * Returns 0, or -1 with an exception. Needs the GIL. */
int sapwood_memory_of(sapwood_stepper *stepper, PyObject *object, sap_friction_memory **memory);

#endif
