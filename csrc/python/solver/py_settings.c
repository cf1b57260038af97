/* sap_settings from the attributes of a Python object, and back: one table row per field. */
#include "python/solver/py_settings.h"
#include "python/parts.h"

#include <stddef.h>

#include "python/errors.h"

typedef enum field_kind { REAL, INTEGER, BOOLEAN, CHOICE } field_kind;

typedef struct field {
  const char *name;
  field_kind kind;
  size_t offset;              /* offset in sap_settings */
  const char *const *choices; /* names of a CHOICE in the order of the enum; NULL ends */
} field;

static const char *const line_searches[] = {"exact", "backtracking", NULL};
static const char *const starts[] = {"newton", "sticking", NULL};
static const char *const frictions[] = {"convex", "lagged", "coulomb", NULL};

/* the enums are stored as int */
_Static_assert(sizeof(sap_line_search) == sizeof(int), "sap_line_search is not an int");
_Static_assert(sizeof(sap_start) == sizeof(int), "sap_start is not an int");
_Static_assert(sizeof(sap_friction) == sizeof(int), "sap_friction is not an int");

#define FIELD(kind, name) {#name, kind, offsetof(sap_settings, name), NULL}
#define CHOICE_FIELD(name, choices) {#name, CHOICE, offsetof(sap_settings, name), choices}

static const field fields[] = {
    FIELD(REAL, relative_tolerance),
    FIELD(REAL, absolute_tolerance),
    FIELD(REAL, natural_tolerance),
    FIELD(INTEGER, max_iterations),
    CHOICE_FIELD(line_search, line_searches),
    FIELD(REAL, line_search_tolerance),
    FIELD(INTEGER, line_search_max_trials),
    FIELD(REAL, max_step),
    FIELD(REAL, armijo_rho),
    FIELD(REAL, armijo_c),
    CHOICE_FIELD(start, starts),
    FIELD(REAL, start_threshold),
    FIELD(BOOLEAN, turning),
    FIELD(BOOLEAN, mixed_precision),
    CHOICE_FIELD(friction, frictions),
    FIELD(REAL, soft_norm),
    FIELD(BOOLEAN, islands),
    FIELD(BOOLEAN, record_history),
};

#define N_FIELDS (sizeof fields / sizeof fields[0])

/* ---- one field at a time -------------------------------------------------------------------- */

static int read_integer(PyObject *value, const char *name, int32_t *target) {
  PyObject *index = PyBool_Check(value) ? NULL : PyNumber_Index(value);
  if (index == NULL) {
    return SAPWOOD_FAIL(PyExc_TypeError, "%s must be an integer, not %s", name,
                        Py_TYPE(value)->tp_name);
  }
  int overflow;
  long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
  int fits = !overflow && number >= INT32_MIN && number <= INT32_MAX;
  if (fits) {
    *target = (int32_t)number;
  } else {
    PyErr_Format(PyExc_ValueError, "%s = %S: does not fit in int32", name, index);
  }
  Py_DECREF(index);
  return fits ? 0 : -1;
}

static int read_boolean(PyObject *value, const char *name, int32_t *target) {
  if (!PyBool_Check(value) && !PyArray_IsScalar(value, Bool)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "%s must be a bool, not %s", name,
                        Py_TYPE(value)->tp_name);
  }
  int truth = PyObject_IsTrue(value);
  *target = truth > 0;
  return truth < 0 ? -1 : 0;
}

static int read_field(PyObject *value, const field *row, sap_settings *settings) {
  void *target = (char *)settings + row->offset;
  switch (row->kind) {
    case REAL: return sapwood_as_double(value, row->name, SAPWOOD_ANY, target);
    case INTEGER: return read_integer(value, row->name, target);
    case BOOLEAN: return read_boolean(value, row->name, target);
    default: {
      int choice = sapwood_as_choice(value, row->name, row->choices);
      *(int *)target = choice;
      return choice < 0 ? -1 : 0;
    }
  }
}

static PyObject *field_value(const field *row, const sap_settings *settings) {
  const void *source = (const char *)settings + row->offset;
  switch (row->kind) {
    case REAL: return PyFloat_FromDouble(*(const double *)source);
    case INTEGER: return PyLong_FromLong(*(const int32_t *)source);
    case BOOLEAN: return PyBool_FromLong(*(const int32_t *)source);
    default: return PyUnicode_FromString(row->choices[*(const int *)source]);
  }
}

/* ---- all fields ----------------------------------------------------------------------------- */

int sapwood_read_settings(PyObject *object, sap_settings *settings) {
  *settings = sap_settings_default();
  for (size_t i = 0; i < N_FIELDS && object != Py_None; i++) {
    PyObject *value = PyObject_GetAttrString(object, fields[i].name);
    if (value == NULL) {
      if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Format(PyExc_TypeError, "settings must be a SapSettings, not %s",
                     Py_TYPE(object)->tp_name);
      }
      return -1;
    }
    int failed = read_field(value, &fields[i], settings);
    Py_DECREF(value);
    if (failed) {
      return -1;
    }
  }
  sap_error error = {0};
  return sapwood_raise(sap_settings_check(settings, &error), &error);
}

/* Returns 1 with the values of the object if it was the last one read. */
static int recall(sapwood_state *state, const PyObject *given, sap_settings *settings) {
  sapwood_mutex_take(&state->shared);
  const int same = given == state->settings_object;
  if (same) {
    *settings = state->settings;
  }
  sapwood_mutex_leave(&state->shared);
  return same;
}

/* Keeps the values of an object for recall(). */
static void keep(sapwood_state *state, PyObject *given, const sap_settings *settings) {
  sapwood_mutex_take(&state->shared);
  PyObject *before = state->settings_object;
  state->settings_object = NULL; /* for a process that is forked in between */
  state->settings = *settings;
  state->settings_object = Py_NewRef(given);
  sapwood_mutex_leave(&state->shared);
  Py_XDECREF(before);
}

int sapwood_load_settings(sapwood_state *state, PyObject **object, sap_settings *settings) {
  PyObject *given = *object == Py_None ? state->default_settings : *object;
  *object = given;
  if (given != NULL && recall(state, given, settings)) {
    return 0;
  }
  if (given == NULL) {
    return SAPWOOD_FAIL(PyExc_RuntimeError, "sapwood.settings must be imported first");
  }
  if (!PyObject_TypeCheck(given, Py_TYPE(state->default_settings))) {
    return SAPWOOD_FAIL(PyExc_TypeError, "settings must be a SapSettings, not %s",
                        Py_TYPE(given)->tp_name);
  }
  if (sapwood_read_settings(given, settings) < 0) {
    return -1;
  }
  keep(state, given, settings);
  return 0;
}

int sapwood_read_threads(PyObject *value, sap_settings *settings) {
  sap_error error = {0};
  return read_integer(value, "threads", &settings->threads) < 0
             ? -1
             : sapwood_raise(sap_settings_check(settings, &error), &error);
}

/* ---- functions of the module ----------------------------------------------------------------- */

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
  sap_settings settings = sap_settings_default();
  PyObject *result = PyDict_New();
  for (size_t i = 0; i < N_FIELDS && result != NULL; i++) {
    PyObject *value = field_value(&fields[i], &settings);
    if (value == NULL || PyDict_SetItemString(result, fields[i].name, value) < 0) {
      Py_CLEAR(result);
    }
    Py_XDECREF(value);
  }
  return result;
}

/* ---- default settings ----------------------------------------------------------------------- */

PyDoc_STRVAR(set_default_settings_doc,
             "set_default_settings(settings, /)\n--\n\n"
             "Say which SapSettings are meant where none are given.");

static PyObject *set_default_settings(PyObject *module, PyObject *settings) {
  sapwood_state *state = sapwood_state_of_module(module);
  Py_XSETREF(state->default_settings, Py_NewRef(settings));
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"check_settings", check_settings, METH_O, check_settings_doc},
    {"default_settings", default_settings, METH_NOARGS, default_settings_doc},
    {"set_default_settings", set_default_settings, METH_O, set_default_settings_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_settings(PyObject *module) { return PyModule_AddFunctions(module, methods); }
