/* The callers of the solver in the module: Solver, solve_dense, solve_batch, Sensitivity and
 * solve_varied. */
#ifndef SAPWOOD_PYTHON_SOLVER_PY_SOLVER_H
#define SAPWOOD_PYTHON_SOLVER_PY_SOLVER_H

#include "python/convert.h"

/* Each adds its types and functions to the module. It returns 0, or -1 with an exception. */
int sapwood_add_solver(PyObject *module);
int sapwood_add_dense(PyObject *module);
int sapwood_add_batch(PyObject *module);
int sapwood_add_sensitivity(PyObject *module);
int sapwood_add_varied(PyObject *module);

#endif
