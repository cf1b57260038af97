/* Private copies of the constant arrays of a model: its forest and its constrained elements. */
#ifndef SAPWOOD_PYTHON_STEPPER_CONSTANTS_H
#define SAPWOOD_PYTHON_STEPPER_CONSTANTS_H

#include "python/stepper/object.h"

/* Fills forest and elements (if that object is not None) from two mappings of arrays, which are
 * copied to self->arrays. Returns 0, or -1 with an exception. */
int sapwood_read_constants(sapwood_stepper *self, PyObject *forest_object,
                           PyObject *elements_object, sap_forest *forest, sap_elements *elements);

/* Returns a dict of the copies that hold doubles, by name. Writers must keep the rules of
 * sap_forest_check() and sap_elements_check(), which are not checked again. */
PyObject *sapwood_double_constants(const sapwood_stepper *self);

#endif
