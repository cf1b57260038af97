#include "python/mujoco/engine.h"
#include "python/parts.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "python/state.h"

static const char capsule_name[] = "sapwood.mujoco_api";

/* ---- tables for Python ---------------------------------------------------------------------- */

/* A function or callback, and its place in sap_mujoco. */
struct function {
  const char *name;
  size_t place;
};

#define FUNCTION(name) {#name, offsetof(sap_mujoco, name)},
static const struct function functions[] = {SAP_MUJOCO_FUNCTIONS(FUNCTION)};
static const struct function callbacks[] = {SAP_MUJOCO_CALLBACKS(FUNCTION)};
#undef FUNCTION

/* A row of sapwood/mujoco_fields.h, and the place of its offset in sap_mujoco. */
struct row {
  const char *structure, *owner, *name, *type, *shape, *versions, *readers, *change, *again;
  size_t place;
};

enum { IN_PYTHON = -1 };
/* offsetof() takes no parentheses: NOLINTBEGIN(bugprone-macro-parentheses) */
#define PLACE_CORE(owner, name) offsetof(sap_mujoco, owner.name)
#define PLACE_BOTH(owner, name) offsetof(sap_mujoco, owner.name)
/* NOLINTEND(bugprone-macro-parentheses) */
#define PLACE_PYTHON(owner, name) (size_t)IN_PYTHON
#define ROW(structure, owner, name, type, shape, versions, readers, change, again) \
  {structure, #owner,   #name,   #type,  #shape,                                   \
   #versions, #readers, #change, #again, PLACE_##readers(owner, name)},
#define MODEL(name, type, shape, versions, readers, change, again) \
  ROW("mjModel", model, name, type, shape, versions, readers, change, again)
#define OPTION(name, type, shape, versions, readers, change, again) \
  ROW("mjOption", model, name, type, shape, versions, readers, change, again)
#define DATA(name, type, shape, versions, readers, change, again) \
  ROW("mjData", data, name, type, shape, versions, readers, change, again)
#define CONTACT(name, type, shape, versions, readers, change, again) \
  ROW("mjContact", contact, name, type, shape, versions, readers, change, again)
#define WARNING(name, warning)                         \
  {"mjWarningStat", "data", #name,    "INT",     "()", \
   "ALL",           "CORE", #warning, "NOTHING", PLACE_CORE(data, name)},

/* clang-format off */
static const struct row rows[] = {
    SAP_MUJOCO_MODEL(MODEL)
    SAP_MUJOCO_OPTION(OPTION)
    SAP_MUJOCO_DATA(DATA)
    SAP_MUJOCO_CONTACT(CONTACT)
    SAP_MUJOCO_WARNINGS(WARNING)
};
/* clang-format on */

enum {
  N_FUNCTIONS = sizeof functions / sizeof *functions,
  N_CALLBACKS = sizeof callbacks / sizeof *callbacks,
  N_ROWS = sizeof rows / sizeof *rows
};

static const char *function_name(Py_ssize_t i) { return functions[i].name; }
static const char *callback_name(Py_ssize_t i) { return callbacks[i].name; }

static PyObject *make_rows(void) {
  PyObject *table = PyTuple_New(N_ROWS);
  for (Py_ssize_t i = 0; i < N_ROWS && table != NULL; i++) {
    const struct row *r = rows + i;
    PyObject *row = Py_BuildValue("(sssssssss)", r->structure, r->owner, r->name, r->type, r->shape,
                                  r->versions, r->readers, r->change, r->again);
    if (row == NULL) {
      Py_CLEAR(table);
    } else {
      PyTuple_SET_ITEM(table, i, row);
    }
  }
  return table;
}

/* ---- the capsule ---------------------------------------------------------------------------- */

static void release(PyObject *capsule) {
  sapwood_engine *engine = PyCapsule_GetPointer(capsule, capsule_name);
  Py_XDECREF(engine->model_type);
  Py_XDECREF(engine->data_type);
  PyMem_Free(engine);
}

/* Reads the entry of a mapping as an integer; returns -1 with an exception. */
static int read_integer(PyObject *mapping, const char *name, Py_ssize_t *value) {
  PyObject *object = PyMapping_GetItemString(mapping, name);
  if (object == NULL) {
    return -1;
  }
  *value = PyLong_AsSsize_t(object);
  Py_DECREF(object);
  return *value == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Reads an offset, which may be -1 if it is optional; returns -1 with an exception. */
static int read_offset(PyObject *layout, const char *name, int optional, ptrdiff_t *offset) {
  if (read_integer(layout, name, offset) < 0) {
    return -1;
  }
  if (*offset < (optional ? -1 : 0) || *offset > INT_MAX) {
    return SAPWOOD_FAIL(PyExc_ValueError, "%s = %zd: must be an offset in bytes", name, *offset);
  }
  return 0;
}

static int read_functions(sap_mujoco *api, PyObject *addresses, const struct function *list,
                          size_t n) {
  for (size_t i = 0; i < n; i++) {
    Py_ssize_t address;
    if (read_integer(addresses, list[i].name, &address) < 0) {
      return -1;
    }
    if (address == 0) {
      return SAPWOOD_FAIL(PyExc_ValueError, "%s: no function has the address 0", list[i].name);
    }
    memcpy((char *)api + list[i].place, &address, sizeof address);
  }
  return 0;
}

static int read_table(sap_mujoco *api, PyObject *addresses, PyObject *layout) {
  if (read_functions(api, addresses, functions, N_FUNCTIONS) < 0 ||
      read_functions(api, addresses, callbacks, N_CALLBACKS) < 0 ||
      read_offset(layout, "model.size", 0, &api->model.size) < 0 ||
      read_offset(layout, "model.contact_sensor", 0, &api->model.contact_sensor) < 0 ||
      read_offset(layout, "contact.size", 0, &api->contact.size) < 0) {
    return -1;
  }
  for (size_t i = 0; i < N_ROWS; i++) {
    const int optional = strcmp(rows[i].versions, "ALL") != 0 ||
                         rows[i].place == offsetof(sap_mujoco, model.pair_dim);
    char name[64];
    ptrdiff_t offset;
    if (rows[i].place == (size_t)IN_PYTHON) {
      continue;
    }
    (void)PyOS_snprintf(name, sizeof name, "%s.%s", rows[i].owner, rows[i].name);
    if (read_offset(layout, name, optional, &offset) < 0) {
      return -1;
    }
    memcpy((char *)api + rows[i].place, &offset, sizeof offset);
  }
  return 0;
}

static const char api_doc[] =
    "mujoco_api(functions, layout, model_type, data_type, /)\n--\n\n"
    "Capsule for ModelStepper.run and rollout. functions: addresses of MuJoCo's functions and\n"
    "callbacks by name; layout: offsets of fields of its structs by names like 'data.time'. "
    "Addresses and\n"
    "offsets are believed. RuntimeError where an error of MuJoCo cannot be caught.";

static PyObject *mujoco_api(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *addresses, *layout, *model_type, *data_type;
  if (!PyArg_ParseTuple(args, "OOO!O!:mujoco_api", &addresses, &layout, &PyType_Type, &model_type,
                        &PyType_Type, &data_type)) {
    return NULL;
  }
  sapwood_engine *engine = PyMem_Calloc(1, sizeof *engine);
  if (engine == NULL) {
    return PyErr_NoMemory();
  }
  PyObject *capsule = NULL;
  if (read_table(&engine->api, addresses, layout) == 0) {
    if (!sap_mujoco_catches_errors(&engine->api)) {
      PyErr_SetString(PyExc_RuntimeError,
                      "the errors of this version of MuJoCo cannot be caught from C");
    } else {
      capsule = PyCapsule_New(engine, capsule_name, release);
    }
  }
  if (capsule == NULL) {
    PyMem_Free(engine);
    return NULL;
  }
  engine->model_type = (PyTypeObject *)Py_NewRef(model_type);
  engine->data_type = (PyTypeObject *)Py_NewRef(data_type);
  return capsule;
}

static const char is_tested_doc[] =
    "mujoco_is_tested(version, /)\n--\n\n"
    "Whether tests ran with this version of MuJoCo, as mujoco.mj_version has it, or with another\n"
    "one of its series.";

static PyObject *mujoco_is_tested(PyObject *Py_UNUSED(module), PyObject *version) {
  const int number = (int)PyLong_AsLong(version);
  return number == -1 && PyErr_Occurred() ? NULL : PyBool_FromLong(sap_mujoco_is_tested(number));
}

const sapwood_engine *sapwood_engine_of(PyObject *object) {
  if (!PyCapsule_IsValid(object, capsule_name)) {
    PyErr_Format(PyExc_TypeError, "api must come from mujoco_api, not %s",
                 Py_TYPE(object)->tp_name);
    return NULL;
  }
  return PyCapsule_GetPointer(object, capsule_name);
}

void *sapwood_engine_address(PyObject *object, PyTypeObject *type, const char *name) {
  if (!PyObject_TypeCheck(object, type)) {
    PyErr_Format(PyExc_TypeError, "%s must be a %s, not %s", name, type->tp_name,
                 Py_TYPE(object)->tp_name);
    return NULL;
  }
  PyObject *address = PyObject_GetAttrString(object, "_address");
  if (address == NULL) {
    return NULL;
  }
  void *pointer = PyLong_AsVoidPtr(address);
  Py_DECREF(address);
  if (pointer == NULL && !PyErr_Occurred()) {
    PyErr_Format(PyExc_ValueError, "%s is empty", name);
  }
  return pointer;
}

/* ---- the module ----------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"mujoco_api", mujoco_api, METH_VARARGS, api_doc},
                                {"mujoco_is_tested", mujoco_is_tested, METH_O, is_tested_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_engine(PyObject *module) {
#define VERSION(number) number,
  const int tested[] = {SAP_MUJOCO_TESTED(VERSION)};
#undef VERSION
  PyObject *versions = PyList_New(0);
  for (size_t i = 0; i < sizeof tested / sizeof *tested && versions != NULL; i++) {
    PyObject *version = PyLong_FromLong(tested[i]);
    if (version == NULL || PyList_Append(versions, version) < 0) {
      Py_CLEAR(versions);
    }
    Py_XDECREF(version);
  }
  return sapwood_add_object(module, "MUJOCO_TESTED", versions) < 0 ||
                 sapwood_add_object(module, "MUJOCO_FUNCTIONS",
                                    sapwood_make_names(N_FUNCTIONS, function_name)) < 0 ||
                 sapwood_add_object(module, "MUJOCO_CALLBACKS",
                                    sapwood_make_names(N_CALLBACKS, callback_name)) < 0 ||
                 sapwood_add_object(module, "MUJOCO_FIELDS", make_rows()) < 0 ||
                 PyModule_AddFunctions(module, methods) < 0
             ? -1
             : 0;
}
