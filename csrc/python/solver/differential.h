/* Numbers in the shape of those of a problem, m times: NumPy arrays (m, n) in a dict by the names
 * that Python has for them, the groups under "constraints" in a tuple of dicts. */
#ifndef SAPWOOD_PYTHON_DIFFERENTIAL_H
#define SAPWOOD_PYTHON_DIFFERENTIAL_H

#include "python/problem/py_problem.h"

typedef struct sapwood_slot {
  PyArrayObject *array; /* (m, n) */
  double **pointer;     /* to where it begins for one of the m */
  npy_intp n;
} sapwood_slot;

typedef struct sapwood_differential {
  sap_differential at; /* one of the m; dt and sigma are in arrays of their own */
  double *dt, *sigma;
  sap_group_differential *groups;
  double **values;
  sapwood_slot *slots;
  int n_slots;
} sapwood_differential;

/* Makes room, of an array per number that the problem has, and a new dict of them; NULL with an
 * exception. Without `matrices` A and J are left out. To be cleared either way. */
PyObject *sapwood_differential_make(sapwood_differential *d, const sapwood_problem *problem,
                                    npy_intp m, int matrices);

/* Takes what a dict has; 0, or -1 with an exception. To be cleared either way. */
int sapwood_differential_read(sapwood_differential *d, const sapwood_problem *problem, npy_intp m,
                              PyObject *dict);

/* points d->at at number i of the m; needs no GIL */
void sapwood_differential_point(sapwood_differential *d, npy_intp i);

void sapwood_differential_clear(sapwood_differential *d);

#endif
