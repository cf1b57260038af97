/* m responses, numbers in the shape of a solution, as NumPy arrays (m, n), and both modes of a
 * sensitivity from or to number i of them. */
#ifndef SAPWOOD_PYTHON_SOLVER_RESPONSE_H
#define SAPWOOD_PYTHON_SOLVER_RESPONSE_H

#include "python/solver/differential.h"
#include "sapwood/sensitivity.h"

/* v, gamma, group_gamma, spin_gamma */
enum { SAPWOOD_RESPONSES = 4 };

typedef struct sapwood_response {
  PyArrayObject *array[SAPWOOD_RESPONSES]; /* (m, n) or NULL */
  npy_intp n[SAPWOOD_RESPONSES];
} sapwood_response;

/* Read m responses from arrays or None, or make arrays for them. They return 0, or -1 with an
 * exception. The caller clears `r` in both cases. */
int sapwood_response_read(sapwood_response *r, const sapwood_problem *problem, npy_intp m,
                          PyObject *const objects[SAPWOOD_RESPONSES]);
int sapwood_response_make(sapwood_response *r, const sapwood_problem *problem, npy_intp m);

void sapwood_response_clear(sapwood_response *r);

/* Returns number i of the responses; needs no GIL. */
sap_response sapwood_response_at(const sapwood_response *r, npy_intp i);

/* Compute number i of the gradients by sap_sensitivity_vjp(), or of the changes by
 * sap_sensitivity_jvp(), and raise *residual to that of the coupling. They need no GIL. */
typedef sap_status sapwood_mode(sap_sensitivity *sensitivity, sapwood_differential *differential,
                                const sapwood_response *response, npy_intp i, int frozen,
                                double *residual, sap_error *error);
sapwood_mode sapwood_pull, sapwood_push;

#endif
