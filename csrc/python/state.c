#include "python/state.h"

#include "base/memory.h"
#include "base/threads.h"

sapwood_state *sapwood_state_of_module(PyObject *module) {
  return (sapwood_state *)PyModule_GetState(module);
}

sapwood_state *sapwood_state_of_type(PyTypeObject *type) {
  PyObject *module = PyType_GetModuleByDef(type, &sapwood_definition);
  return module == NULL ? NULL : sapwood_state_of_module(module);
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
  sapwood_state *state = sapwood_state_of_module(module);
  Py_VISIT(state->problem_type);
  Py_VISIT(state->solver_type);
  Py_VISIT(state->sensitivity_type);
  Py_VISIT(state->model_stepper_type);
  Py_VISIT(state->memory_type);
  Py_VISIT(state->contact_log_type);
  Py_VISIT(state->byte_watch_type);
  Py_VISIT(state->prepared_step_type);
  Py_VISIT(state->world_batch_type);
  Py_VISIT(state->iteration_dtype);
  Py_VISIT(state->contact_dtype);
  Py_VISIT(state->values_type);
  Py_VISIT(state->solution_type);
  Py_VISIT(state->group_type);
  Py_VISIT(state->statuses);
  Py_VISIT(state->island_algorithms);
  Py_VISIT(state->default_settings);
  Py_VISIT(state->settings_object);
  return 0;
}

static int clear(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  Py_CLEAR(state->problem_type);
  Py_CLEAR(state->solver_type);
  Py_CLEAR(state->sensitivity_type);
  Py_CLEAR(state->model_stepper_type);
  Py_CLEAR(state->memory_type);
  Py_CLEAR(state->contact_log_type);
  Py_CLEAR(state->byte_watch_type);
  Py_CLEAR(state->prepared_step_type);
  Py_CLEAR(state->world_batch_type);
  Py_CLEAR(state->iteration_dtype);
  Py_CLEAR(state->contact_dtype);
  Py_CLEAR(state->values_type);
  Py_CLEAR(state->solution_type);
  Py_CLEAR(state->group_type);
  Py_CLEAR(state->statuses);
  Py_CLEAR(state->island_algorithms);
  Py_CLEAR(state->default_settings);
  Py_CLEAR(state->settings_object);
  return 0;
}

static void release(void *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  clear((PyObject *)module);
  const sap_allocator memory = sap_allocator_or_default(NULL);
  sap_threads_destroy(state->pool_threads, &memory);
  sapwood_solver_cache_clear(&state->solver_cache);
  geo_workspace_destroy(state->surfaces_workspace);
}

struct PyModuleDef sapwood_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "sapwood._core",
    .m_doc = "C core of sapwood. Internal: use the functions and classes of the package.",
    .m_size = sizeof(sapwood_state),
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};
