/* The extension module sapwood._core: each topic adds its types and functions. */
#include "python/numpy_api.h"
#include "python/parts.h"
#include "python/state.h"

static int exec(PyObject *module) {
  /* NumPy has no support for sub-interpreters */
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    return SAPWOOD_FAIL(PyExc_ImportError, "sapwood does not support sub-interpreters");
  }
  if (sapwood_import_numpy() < 0) {
    return -1;
  }
#define ADD(part) sapwood_add_##part,
  static int (*const add[])(PyObject *) = {SAPWOOD_PARTS(ADD)};
#undef ADD
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
