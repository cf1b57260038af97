/* The NumPy arrays that constrained elements are gathered from in a step. */
#ifndef SAPWOOD_PYTHON_STEPPER_PY_ELEMENTS_H
#define SAPWOOD_PYTHON_STEPPER_PY_ELEMENTS_H

#include "python/stepper/object.h"

enum { SAPWOOD_ELEMENT_ARRAYS = 21 };

/* Points the state at the arrays of the tuple, in the order of the table and with the disabled
 * groups at the end. References are added to `held`, also on failure: -1 with an exception. */
int sapwood_elements_take(const sapwood_stepper *self, PyObject *tuple, int32_t n_rows,
                          struct sap_element_state *state, PyArrayObject **held, int *n_held);

/* Adds the tuple ELEMENT_ARRAYS of names to the module. 0, or -1 with an exception. */
int sapwood_add_elements(PyObject *module);

#endif /* SAPWOOD_PYTHON_STEPPER_PY_ELEMENTS_H */
