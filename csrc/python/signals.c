#include "python/signals.h"
#include "python/parts.h"

int sapwood_signals_interrupt(void *state) {
  if (PyThread_get_thread_ident() != ((const sapwood_state *)state)->main_thread) {
    return 0;
  }
  const PyGILState_STATE gil = PyGILState_Ensure();
  /* handlers must not run while the exception of an earlier one is on its way */
  const int interrupted = PyErr_Occurred() || PyErr_CheckSignals() < 0;
  PyGILState_Release(gil);
  return interrupted;
}

sap_interrupt sapwood_interrupt_of(sapwood_state *state) {
  return (sap_interrupt){sapwood_signals_interrupt, state, sapwood_signal_interval};
}

void sapwood_watch_signals(sap_solver *solver, sapwood_state *state) {
  const sap_interrupt interrupt = sapwood_interrupt_of(state);
  sap_solver_set_interrupt(solver, &interrupt);
}

int sapwood_add_main_thread(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  PyObject *threading = PyImport_ImportModule("threading");
  PyObject *thread = threading == NULL ? NULL : PyObject_CallMethod(threading, "main_thread", NULL);
  PyObject *ident = thread == NULL ? NULL : PyObject_GetAttrString(thread, "ident");
  if (ident != NULL) {
    state->main_thread = PyLong_AsUnsignedLong(ident);
  }
  Py_XDECREF(ident);
  Py_XDECREF(thread);
  Py_XDECREF(threading);
  return PyErr_Occurred() ? -1 : 0;
}
