/* _core.InverseDynamics and _core.TaskSolver: solvers with the arguments of their controllers;
 * _core.Mechanism, held_contacts() and bound_torques() make the problems of task control. */
#ifndef SAPWOOD_PYTHON_INVDYN_PY_INVDYN_H
#define SAPWOOD_PYTHON_INVDYN_PY_INVDYN_H

#include "python/convert.h"
#include "python/state.h"

/* A float array among the arguments of a call: its position and its shape. */
typedef struct sapwood_argument {
  const char *name;
  npy_intp shape[3];
  int which, ndim;
  int is_optional; /* 1: may be None */
} sapwood_argument;

/* Reads n such arguments to in[which], where NULL stands for None. Returns 0, or -1 with an
 * exception. */
int sapwood_read_arrays(const sapwood_argument *given, size_t n, PyObject *const *args,
                        PyArrayObject **in);

/* Add types and functions to the module. Return 0, or -1 with an exception. */
int sapwood_add_inverse_dynamics(PyObject *module);
int sapwood_add_task_solver(PyObject *module);
int sapwood_add_mechanism(PyObject *module);
int sapwood_add_held(PyObject *module);
int sapwood_add_motors(PyObject *module);

#endif
