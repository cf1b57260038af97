/* Counts the forks between the import and this process: see lock.h. */
#include "python/parts.h"
#include "python/state.h"

static PyObject *count_fork(PyObject *module, PyObject *Py_UNUSED(unused)) {
  sapwood_state *state = sapwood_state_of_module(module);
  state->forks++;
  /* another thread of the parent may have held them */
  state->shared = state->solver_cache.mutex = (sapwood_mutex){0};
  state->main_thread = PyThread_get_thread_ident();
  Py_RETURN_NONE;
}

static PyMethodDef count_fork_method = {"count_fork", count_fork, METH_NOARGS, NULL};

int sapwood_add_forks(PyObject *module) {
  PyObject *os = PyImport_ImportModule("os"), *call = NULL, *options = NULL, *none = NULL;
  PyObject *at_fork = os == NULL ? NULL : PyObject_GetAttrString(os, "register_at_fork");
  int failed = at_fork == NULL;
  if (failed && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
    failed = 0;
  } else if (!failed) {
    call = PyCFunction_New(&count_fork_method, module);
    options = call == NULL ? NULL : Py_BuildValue("{s:O}", "after_in_child", call);
    none = options == NULL ? NULL : PyObject_VectorcallDict(at_fork, NULL, 0, options);
    failed = none == NULL;
  }
  Py_XDECREF(none);
  Py_XDECREF(options);
  Py_XDECREF(call);
  Py_XDECREF(at_fork);
  Py_XDECREF(os);
  return failed ? -1 : 0;
}
