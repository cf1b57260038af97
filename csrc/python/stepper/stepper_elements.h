/* The arrays that constrained elements are gathered from in a step: one table, for arrays that come
 * as NumPy arrays and for those that are found at offsets in the engine's data. */
#ifndef SAPWOOD_PYTHON_STEPPER_ELEMENTS_H
#define SAPWOOD_PYTHON_STEPPER_ELEMENTS_H

#include "python/stepper/stepper.h"

/* lengths of the arrays */
typedef enum sapwood_element_length {
  SAPWOOD_NQ,
  SAPWOOD_NV,
  SAPWOOD_N_ROWS,
  SAPWOOD_N_TENDONS,
  SAPWOOD_N_TENDON_ENTRIES,
  SAPWOOD_N_OUTPUTS,
  SAPWOOD_ANY_LENGTH
} sapwood_element_length;

typedef struct sapwood_element_array {
  const char *name; /* of the field of the engine's data */
  int typenum;
  sapwood_element_length length;
  int optional; /* rows of a sparse Jacobian */
  int written;
  size_t offset; /* of the pointer in struct sap_element_state */
} sapwood_element_array;

extern const sapwood_element_array sapwood_element_arrays[SAPWOOD_ELEMENT_ARRAYS];

/* Points the state at the arrays of the tuple, in the order of the table and with the disabled
 * groups at the end. References are added to `held`, also on failure: -1 with an exception. */
int sapwood_elements_take(const sapwood_stepper *self, PyObject *tuple, int32_t n_rows,
                          struct sap_element_state *state, PyArrayObject **held, int *n_held);

/* Adds the tuple ELEMENT_ARRAYS of names to the module. 0, or -1 with an exception. */
int sapwood_add_elements(PyObject *module);

#endif /* SAPWOOD_PYTHON_STEPPER_ELEMENTS_H */
