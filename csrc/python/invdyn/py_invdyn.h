/* _core.InverseDynamics and _core.TaskSolver: solvers with the arguments of their controllers;
 * _core.Mechanism, held_contacts() and bound_torques() make the problems of task control. */
#ifndef SAPWOOD_PYTHON_INVDYN_PY_INVDYN_H
#define SAPWOOD_PYTHON_INVDYN_PY_INVDYN_H

#include "python/state.h"

/* Add types and functions to the module. Return 0, or -1 with an exception. */
int sapwood_add_inverse_dynamics(PyObject *module);
int sapwood_add_task_solver(PyObject *module);
int sapwood_add_mechanism(PyObject *module);
int sapwood_add_held(PyObject *module);
int sapwood_add_motors(PyObject *module);

#endif
