/* Pressure fields of the geoms of a ModelStepper, and the patches of its last step. */
#ifndef SAPWOOD_PYTHON_STEPPER_PY_FIELDS_H
#define SAPWOOD_PYTHON_STEPPER_PY_FIELDS_H

#include "python/stepper/object.h"

/* Gives the core of the stepper its fields. `object` is None, or a tuple (pair_geom (n, 2),
 * pair_dim (n), pair_friction (n, 2), shapes of all geoms or None). The stepper keeps the
 * references that it needs. Returns 0, or -1 with an exception. */
int sapwood_take_fields(sapwood_stepper *self, PyObject *object);

void sapwood_release_fields(sapwood_stepper *self);

#endif
