/* The arrays of one step of a ModelStepper, checked and held while the step reads and writes
 * them. */
#ifndef SAPWOOD_PYTHON_STEPPER_ARRAYS_H
#define SAPWOOD_PYTHON_STEPPER_ARRAYS_H

#include "python/stepper/py_elements.h"

enum { SAPWOOD_STEP_ARRAYS = 22 + SAPWOOD_ELEMENT_ARRAYS };

typedef struct sapwood_step_arrays {
  PyArrayObject *held[SAPWOOD_STEP_ARRAYS]; /* references */
  int n_held;
  sap_step_arrays into; /* the arrays */
} sapwood_step_arrays;

/* Takes the tuples state, contacts, outputs and elements of `solve` from its arguments. `arrays`
 * must be zeroed before and released after, also on failure: -1 with TypeError or ValueError naming
 * the array. */
int sapwood_step_arrays_take(sapwood_step_arrays *arrays, const sapwood_stepper *stepper,
                             PyObject *const *args, Py_ssize_t n_args);

void sapwood_step_arrays_release(sapwood_step_arrays *arrays);

extern const char sapwood_first_bad_doc[];
PyObject *sapwood_first_bad(PyObject *module, PyObject *const *args, Py_ssize_t n_args);

#endif /* SAPWOOD_PYTHON_STEPPER_ARRAYS_H */
