/* The extension module sapwood._core: each topic adds its types and functions. */
#include "python/conversions.h"
#include "python/fem/py_fem.h"
#include "python/forks.h"
#include "python/geometry/py_geometry.h"
#include "python/invdyn/py_invdyn.h"
#include "python/laws/py_laws.h"
#include "python/lcp/py_lcp.h"
#include "python/numpy_api.h"
#include "python/problem/py_problem.h"
#include "python/signals.h"
#include "python/solver/py_result.h"
#include "python/solver/py_settings.h"
#include "python/solver/solution.h"
#include "python/solver/py_solver.h"
#include "python/state.h"
#include "python/stepper/py_stepper.h"

static int exec(PyObject *module) {
  /* NumPy has no support for sub-interpreters */
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError, "sapwood does not support sub-interpreters");
    return -1;
  }
  if (sapwood_import_numpy() < 0) {
    return -1;
  }
  static int (*const add[])(PyObject *) = {sapwood_add_conversions,  sapwood_add_settings,
                                           sapwood_add_results,      sapwood_add_solution,
                                           sapwood_add_problem,      sapwood_add_structure,
                                           sapwood_add_solver,       sapwood_add_batch,
                                           sapwood_add_varied,       sapwood_add_contact_law,
                                           sapwood_add_disk_law,     sapwood_add_row_law,
                                           sapwood_add_stepper,      sapwood_add_inverse_dynamics,
                                           sapwood_add_task_solver,  sapwood_add_mechanism,
                                           sapwood_add_held,         sapwood_add_motors,
                                           sapwood_add_lcps,         sapwood_add_qps,
                                           sapwood_add_shapes,       sapwood_add_surfaces,
                                           sapwood_watch_forks,      sapwood_find_main_thread,
                                           sapwood_add_sensitivity,  sapwood_add_dense,
                                           sapwood_add_fem,          sapwood_add_fem_systems,
                                           sapwood_add_fem_contacts, sapwood_add_fem_flexes};
  for (size_t i = 0; i < sizeof add / sizeof *add; i++) {
    if (add[i](module) < 0) {
      return -1;
    }
  }
  return PyModule_AddStringConstant(module, "__version__", SAP_VERSION);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)exec},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

PyMODINIT_FUNC PyInit__core(void) {
  sapwood_definition.m_slots = slots;
  return PyModuleDef_Init(&sapwood_definition);
}
