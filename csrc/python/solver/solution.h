/* sapwood.Solution, made from the results of a solve. */
#ifndef SAPWOOD_PYTHON_SOLVER_SOLUTION_H
#define SAPWOOD_PYTHON_SOLVER_SOLUTION_H

#include "python/solver/py_result.h"

/* Returns a new sapwood.Solution. `seconds` is the wall time of the call into the core; `history`
 * is the array of sapwood_history or Py_None (borrowed). The arrays are shared, not copied. */
PyObject *sapwood_solution(const sapwood_state *state, const sapwood_result *result,
                           const sap_problem *problem, double seconds, PyObject *history);

/* Adds its base class to the module. Returns 0, or -1 with an exception. */
int sapwood_add_solution(PyObject *module);

#endif
