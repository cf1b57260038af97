/* _core.InverseDynamics: an invdyn_solver with what a controller is made of. */
#ifndef SAPWOOD_PYTHON_INVDYN_PY_INVDYN_H
#define SAPWOOD_PYTHON_INVDYN_PY_INVDYN_H

#include "python/state.h"

/* Adds the type to the module. 0, or -1 with an exception. */
int sapwood_add_inverse_dynamics(PyObject *module);

#endif
