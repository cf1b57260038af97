/* sapwood.Solution, made from the results of a solve. */
#ifndef SAPWOOD_PYTHON_SOLVER_SOLUTION_H
#define SAPWOOD_PYTHON_SOLVER_SOLUTION_H

#include "python/solver/py_result.h"

/* Returns a new sapwood.Solution. `seconds` is the wall time of the call into the core; `records`
 * are those of its history, or NULL. The arrays are shared, not copied. */
PyObject *sapwood_solution(const sapwood_state *state, const sapwood_result *result,
                           const sap_problem *problem, double seconds,
                           const sapwood_records *records);

#endif
