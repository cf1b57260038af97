/* The methods of ModelStepper. Each stands in the file of its topic, with its docstring. */
#ifndef SAPWOOD_PYTHON_STEPPER_METHODS_H
#define SAPWOOD_PYTHON_STEPPER_METHODS_H

#include "python/stepper/object.h"

/* clang-format off */
#define SAPWOOD_STEPPER_METHODS_OF_ARGS(METHOD)                                                  \
  METHOD(accept_options, METH_VARARGS) METHOD(start, METH_VARARGS)                               \
  METHOD(find_forces, METH_VARARGS) METHOD(finish, METH_VARARGS) METHOD(evaluate, METH_VARARGS)  \
  METHOD(solve, METH_VARARGS) METHOD(gather, METH_VARARGS) METHOD(linearize, METH_VARARGS)       \
  METHOD(tangents, METH_VARARGS) METHOD(write, METH_VARARGS) METHOD(remember, METH_VARARGS)      \
  METHOD(prepare, METH_VARARGS) METHOD(set_speeds, METH_VARARGS) METHOD(constants, METH_NOARGS)  \
  METHOD(counts, METH_NOARGS) METHOD(fault, METH_NOARGS) METHOD(problem, METH_NOARGS)            \
  METHOD(contacts, METH_NOARGS) METHOD(body_forces, METH_NOARGS) METHOD(groups, METH_NOARGS)     \
  METHOD(patches, METH_NOARGS) METHOD(result, METH_NOARGS)
/* clang-format on */
#define SAPWOOD_STEPPER_METHODS(METHOD) \
  SAPWOOD_STEPPER_METHODS_OF_ARGS(METHOD) METHOD(run, METH_FASTCALL)

#define SAPWOOD_DECLARE(name, flags)                \
  extern const char sapwood_stepper_##name##_doc[]; \
  PyObject *sapwood_stepper_##name(PyObject *self, PyObject *args);
SAPWOOD_STEPPER_METHODS_OF_ARGS(SAPWOOD_DECLARE)
#undef SAPWOOD_DECLARE

extern const char sapwood_stepper_run_doc[];
PyObject *sapwood_stepper_run(PyObject *self, PyObject *const *args, Py_ssize_t n_args);

#endif
