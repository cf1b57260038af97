/* _core.InverseDynamics: an invdyn_solver with the arguments of its controller. */
#ifndef SAPWOOD_PYTHON_INVDYN_PY_INVDYN_H
#define SAPWOOD_PYTHON_INVDYN_PY_INVDYN_H

#include "python/state.h"

/* Adds the type to the module. Returns 0, or -1 with an exception. */
int sapwood_add_inverse_dynamics(PyObject *module);

#endif
