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

void sapwood_free_object(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

int sapwood_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type) {
  PyTypeObject *made = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
  const int failed = made == NULL || PyModule_AddType(module, made) < 0;
  if (type == NULL) {
    Py_XDECREF(made);
  } else {
    *type = made;
  }
  return failed ? -1 : 0;
}

int sapwood_add_object(PyObject *module, const char *name, PyObject *object) {
  const int failed = object == NULL || PyModule_AddObjectRef(module, name, object) < 0;
  Py_XDECREF(object);
  return failed ? -1 : 0;
}

PyObject *sapwood_make_names(Py_ssize_t n, const char *(*name_of)(Py_ssize_t i)) {
  PyObject *names = PyTuple_New(n);
  for (Py_ssize_t i = 0; i < n && names != NULL; i++) {
    PyObject *name = PyUnicode_FromString(name_of(i));
    if (name == NULL) {
      Py_CLEAR(names);
    } else {
      PyTuple_SET_ITEM(names, i, name);
    }
  }
  return names;
}

/* Applies a macro to each reference of the state. */
#define FOR_EACH_REFERENCE(DO)   \
  DO(state->problem_type);       \
  DO(state->solver_type);        \
  DO(state->sensitivity_type);   \
  DO(state->model_stepper_type); \
  DO(state->memory_type);        \
  DO(state->contact_log_type);   \
  DO(state->byte_watch_type);    \
  DO(state->prepared_step_type); \
  DO(state->world_batch_type);   \
  DO(state->iteration_dtype);    \
  DO(state->contact_dtype);      \
  DO(state->values_type);        \
  DO(state->solution_type);      \
  DO(state->group_type);         \
  DO(state->statuses);           \
  DO(state->island_algorithms);  \
  DO(state->default_settings);   \
  DO(state->settings_object)

static int traverse(PyObject *module, visitproc visit, void *arg) {
  sapwood_state *state = sapwood_state_of_module(module);
  FOR_EACH_REFERENCE(Py_VISIT);
  return 0;
}

static int clear(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  FOR_EACH_REFERENCE(Py_CLEAR);
  return 0;
}

static void release(void *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  clear((PyObject *)module);
  const sap_allocator memory = sap_allocator_or_default(NULL);
  sap_threads_destroy(state->pool_threads, &memory);
  sapwood_solver_cache_clear(&state->solver_cache);
  geo_workspace_destroy(state->surfaces_workspace);
  fem_face_search_destroy(state->face_search);
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
