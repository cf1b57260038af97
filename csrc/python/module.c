#define SAPWOOD_IMPORT_ARRAY
#include "python/module.h"

#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "python/signals.h"

/* ---- errors --------------------------------------------------------------------------------- */

/* arguments that have another name in C */
static const struct {
  const char *in_c, *in_python;
} renamed[] = {{"barrier", "core"}, {"barrier_lambda", "core_lambda"}};

static const char *name_of(const sap_error *error, char text[SAPWOOD_NAME_LENGTH]) {
  if (error->group >= 0) {
    return sapwood_group_name(text, error->group, error->argument);
  }
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
    if (strcmp(error->argument, renamed[i].in_c) == 0) {
      return renamed[i].in_python;
    }
  }
  return error->argument;
}

static void raise_value_error(const sap_error *error) {
  char text[SAPWOOD_NAME_LENGTH];
  const char *name = name_of(error, text);
  switch (error->kind) {
    case SAP_ERROR_TREE:
      PyErr_Format(PyExc_ValueError, "%s: the block of tree %lld %s", name, (long long)error->index,
                   error->rule);
      break;
    case SAP_ERROR_CONSTRAINT:
      PyErr_Format(PyExc_ValueError, "%s: the rows of %s %lld %s", name,
                   error->group < 0 ? "contact" : "constraint", (long long)error->index,
                   error->rule);
      break;
    default: sapwood_value_error(name, error->index, error->value, error->rule);
  }
}

int sapwood_raise(sap_status status, const sap_error *error) {
  if (status == SAP_OK) {
    return 0;
  }
  if (status == SAP_OUT_OF_MEMORY) {
    PyErr_NoMemory();
  } else if (status == SAP_INTERRUPTED) {
    /* by a handler, which has raised */
  } else if (error == NULL || error->argument == NULL) {
    PyErr_SetString(PyExc_ValueError, sap_status_text(status));
  } else {
    raise_value_error(error);
  }
  return -1;
}

const char *sapwood_group_name(char text[SAPWOOD_NAME_LENGTH], int32_t k, const char *name) {
  PyOS_snprintf(text, SAPWOOD_NAME_LENGTH, "constraints[%d].%s", (int)k, name);
  return text;
}

/* ---- module functions ----------------------------------------------------------------------- */

PyDoc_STRVAR(
    check_settings_doc,
    "check_settings(settings, /)\n--\n\n"
    "Raise TypeError or ValueError, naming the field, where a field of `settings` is wrong.");

static PyObject *check_settings(PyObject *Py_UNUSED(module), PyObject *object) {
  sap_settings settings;
  if (sapwood_read_settings(object, &settings) < 0) {
    return NULL;
  }
  Py_RETURN_NONE;
}

PyDoc_STRVAR(default_settings_doc,
             "default_settings()\n--\n\n"
             "Fields and defaults of the solver settings, as a dict.");

static PyObject *default_settings(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
  return sapwood_default_settings();
}

PyDoc_STRVAR(factorizations_doc,
             "factorizations()\n--\n\n"
             "Names of the factorizations this build offers.");

static PyObject *factorizations(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
  return sapwood_available_factorizations();
}

PyDoc_STRVAR(as_float64_doc,
             "as_float64(value, name, shape=None, rule='any')\n--\n\n"
             "Contiguous float64 array of `value`, the same memory where it is one already.\n\n"
             "`shape` is a tuple with -1 for an open length; `rule` is 'any', 'finite',\n"
             "'non-negative' or 'positive'. Errors name the argument `name` and the index.");

static PyObject *as_float64(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
  static char *names[] = {"value", "name", "shape", "rule", NULL};
  PyObject *value, *shape = Py_None;
  const char *name, *rule = "any";
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "Os|Os:as_float64", names, &value, &name, &shape,
                                   &rule)) {
    return NULL;
  }
  npy_intp lengths[NPY_MAXDIMS];
  int ndim = -1;
  if (shape != Py_None) {
    if (PySequence_Check(shape) && PySequence_Size(shape) > NPY_MAXDIMS) {
      PyErr_Format(PyExc_ValueError, "shape: at most %d axes", NPY_MAXDIMS);
      return NULL;
    }
    ndim = PyArray_IntpFromSequence(shape, lengths, NPY_MAXDIMS);
    if (ndim < 0) {
      return NULL;
    }
  }
  static const char *const rules[] = {"any", "finite", "non-negative", "positive"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(rule, rules[i]) == 0) {
      return (PyObject *)sapwood_as_float64(value, name, ndim, lengths, (sapwood_rule)i);
    }
  }
  PyErr_Format(PyExc_ValueError, "rule = '%s': must be one of any, finite, non-negative, positive",
               rule);
  return NULL;
}

PyDoc_STRVAR(as_int32_doc,
             "as_int32(value, name)\n--\n\n"
             "Contiguous int32 vector of `value`, the same memory where it is one already.");

static PyObject *as_int32(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
  static char *names[] = {"value", "name", NULL};
  PyObject *value;
  const char *name;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "Os:as_int32", names, &value, &name)) {
    return NULL;
  }
  return (PyObject *)sapwood_as_int32(value, name, -1);
}

static PyMethodDef methods[] = {
    {"check_settings", check_settings, METH_O, check_settings_doc},
    {"default_settings", default_settings, METH_NOARGS, default_settings_doc},
    {"factorizations", factorizations, METH_NOARGS, factorizations_doc},
    {"as_float64", (PyCFunction)(void (*)(void))as_float64, METH_VARARGS | METH_KEYWORDS,
     as_float64_doc},
    {"as_int32", (PyCFunction)(void (*)(void))as_int32, METH_VARARGS | METH_KEYWORDS, as_int32_doc},
    {NULL, NULL, 0, NULL}};

/* ---- state ---------------------------------------------------------------------------------- */

sapwood_state *sapwood_state_of_module(PyObject *module) {
  return (sapwood_state *)PyModule_GetState(module);
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
  sapwood_state *state = sapwood_state_of_module(module);
  Py_VISIT(state->problem_type);
  Py_VISIT(state->solver_type);
  Py_VISIT(state->model_stepper_type);
  Py_VISIT(state->iteration_dtype);
  Py_VISIT(state->values_type);
  Py_VISIT(state->solution_type);
  Py_VISIT(state->group_type);
  Py_VISIT(state->statuses);
  Py_VISIT(state->default_settings);
  Py_VISIT(state->settings_object);
  return 0;
}

static int clear(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  Py_CLEAR(state->problem_type);
  Py_CLEAR(state->solver_type);
  Py_CLEAR(state->model_stepper_type);
  Py_CLEAR(state->iteration_dtype);
  Py_CLEAR(state->values_type);
  Py_CLEAR(state->solution_type);
  Py_CLEAR(state->group_type);
  Py_CLEAR(state->statuses);
  Py_CLEAR(state->default_settings);
  Py_CLEAR(state->settings_object);
  return 0;
}

static void release(void *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  clear((PyObject *)module);
  const sap_allocator memory = sap_allocator_or_default(NULL);
  sap_threads_destroy(state->idle_threads, &memory);
  sapwood_idle_clear(&state->idle);
}

/* ---- forks ---------------------------------------------------------------------------------- */

static PyObject *count_fork(PyObject *module, PyObject *Py_UNUSED(unused)) {
  sapwood_state *state = sapwood_state_of_module(module);
  state->forks++;
  state->main_thread = PyThread_get_thread_ident();
  Py_RETURN_NONE;
}

static PyMethodDef count_fork_method = {"count_fork", count_fork, METH_NOARGS, NULL};

/* Has every child process counted, where the system has them. */
static int watch_forks(PyObject *module) {
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

/* ---- initialisation ------------------------------------------------------------------------- */

static int exec(PyObject *module) {
  /* NumPy has no support for sub-interpreters */
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError, "sapwood does not support sub-interpreters");
    return -1;
  }
  if (PyArray_ImportNumPyAPI() < 0) {
    return -1;
  }
  if (sapwood_add_settings(module) < 0 || sapwood_add_results(module) < 0 ||
      sapwood_add_solution(module) < 0 || sapwood_add_problem(module) < 0 ||
      sapwood_add_solver(module) < 0 || sapwood_add_batch(module) < 0 ||
      sapwood_add_contact_law(module) < 0 || sapwood_add_row_law(module) < 0 ||
      sapwood_add_stepper(module) < 0 || sapwood_add_work(module) < 0 || watch_forks(module) < 0 ||
      sapwood_find_main_thread(sapwood_state_of_module(module)) < 0) {
    return -1;
  }
  return PyModule_AddStringConstant(module, "__version__", SAP_VERSION);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)exec},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "sapwood._core",
    .m_doc = "C core of sapwood. Internal: use the functions and classes of the package.",
    .m_size = sizeof(sapwood_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

sapwood_state *sapwood_state_of_type(PyTypeObject *type) {
  PyObject *module = PyType_GetModuleByDef(type, &definition);
  return module == NULL ? NULL : sapwood_state_of_module(module);
}

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
