/* m differentials of a problem as NumPy arrays (m, n), in a dict by their Python names. The groups
 * are a tuple of dicts under "constraints". */
#ifndef SAPWOOD_PYTHON_DIFFERENTIAL_H
#define SAPWOOD_PYTHON_DIFFERENTIAL_H

#include "python/problem/py_problem.h"

typedef struct sapwood_slot {
  PyArrayObject *array; /* (m, n) */
  double **pointer;     /* pointer to the row of one differential */
  npy_intp n;
} sapwood_slot;

typedef struct sapwood_differential {
  sap_differential at; /* one of the m; dt and sigma have arrays of their own */
  double *dt, *sigma;
  sap_group_differential *groups;
  double **values;
  sapwood_slot *slots;
  int n_slots;
} sapwood_differential;

/* Allocates an array per number of the problem, and returns a new dict of them; NULL with an
 * exception. Without `matrices` A and J are left out. The caller clears `d` in both cases. */
PyObject *sapwood_differential_make(sapwood_differential *d, const sapwood_problem *problem,
                                    npy_intp m, int matrices);

/* Reads the arrays of a dict, whose entries keep the rule. Returns 0, or -1 with an exception. The
 * caller clears `d` in both cases. With `strict`, numbers that the problem lacks are an error. */
int sapwood_differential_read(sapwood_differential *d, const sapwood_problem *problem, npy_intp m,
                              PyObject *dict, sapwood_rule rule, int strict);

/* Points d->at at number i of the m; needs no GIL. */
void sapwood_differential_point(sapwood_differential *d, npy_intp i);

void sapwood_differential_clear(sapwood_differential *d);

#endif
