#include "python/stepper/engine.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

static const char capsule_name[] = "sapwood.mujoco_api";

/* ---- what Python has to find ---------------------------------------------------------------- */

typedef struct entry {
  const char *name;
  size_t offset; /* in sap_mujoco */
} entry;

#define FUNCTION(name) {#name, offsetof(sap_mujoco, name)},
#define MODEL(name) {"model." #name, offsetof(sap_mujoco, model.name)},
#define DATA(name) {"data." #name, offsetof(sap_mujoco, data.name)},
#define CONTACT(name) {"contact." #name, offsetof(sap_mujoco, contact.name)},

static const entry functions[] = {SAP_MUJOCO_FUNCTIONS(FUNCTION) SAP_MUJOCO_CALLBACKS(FUNCTION)};

/* clang-format off */
static const entry offsets[] = {
    SAP_MUJOCO_SIZES(MODEL)
    SAP_MUJOCO_CONSTANTS(MODEL)
    SAP_MUJOCO_OPTIONS(MODEL)
    SAP_MUJOCO_NUMBERS(DATA)
    SAP_MUJOCO_WARNINGS(DATA)
    SAP_MUJOCO_ARRAYS(DATA)
    SAP_MUJOCO_CONTACT(CONTACT)
    MODEL(size)
    CONTACT(size)
};
/* clang-format on */

/* ---- the capsule ---------------------------------------------------------------------------- */

static void release(PyObject *capsule) {
  sapwood_engine *engine = PyCapsule_GetPointer(capsule, capsule_name);
  Py_XDECREF(engine->model_type);
  Py_XDECREF(engine->data_type);
  PyMem_Free(engine);
}

/* the entry of a mapping as an integer; -1 with an exception */
static int read_integer(PyObject *mapping, const char *name, Py_ssize_t *value) {
  PyObject *object = PyMapping_GetItemString(mapping, name);
  if (object == NULL) {
    return -1;
  }
  *value = PyLong_AsSsize_t(object);
  Py_DECREF(object);
  return *value == -1 && PyErr_Occurred() ? -1 : 0;
}

/* an offset, which may be -1 where it is optional; -1 with an exception */
static int read_offset(PyObject *layout, const char *name, int optional, ptrdiff_t *offset) {
  if (read_integer(layout, name, offset) < 0) {
    return -1;
  }
  if (*offset < (optional ? -1 : 0) || *offset > INT_MAX) {
    PyErr_Format(PyExc_ValueError, "%s = %zd: must be an offset in bytes", name, *offset);
    return -1;
  }
  return 0;
}

static int read_table(sap_mujoco *api, PyObject *addresses, PyObject *layout) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    Py_ssize_t address;
    if (read_integer(addresses, functions[i].name, &address) < 0) {
      return -1;
    }
    if (address == 0) {
      PyErr_Format(PyExc_ValueError, "%s: no function has the address 0", functions[i].name);
      return -1;
    }
    memcpy((char *)api + functions[i].offset, &address, sizeof address);
  }
  for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
    const size_t at = offsets[i].offset;
    const int optional = at == offsetof(sap_mujoco, contact.surfacevel) ||
                         at == offsetof(sap_mujoco, model.geom_adhesion) ||
                         at == offsetof(sap_mujoco, model.pair_adhesion) ||
                         at == offsetof(sap_mujoco, model.pair_dim);
    ptrdiff_t offset;
    if (read_offset(layout, offsets[i].name, optional, &offset) < 0) {
      return -1;
    }
    memcpy((char *)api + offsets[i].offset, &offset, sizeof offset);
  }
  return 0;
}

const char sapwood_mujoco_api_doc[] =
    "mujoco_api(functions, layout, model_type, data_type, /)\n--\n\n"
    "Capsule for ModelStepper.run and rollout. functions: addresses of MuJoCo's functions and\n"
    "callbacks by name; layout: offsets of fields of its structs by names like 'data.time'. "
    "Addresses and\n"
    "offsets are believed. RuntimeError where an error of MuJoCo cannot be caught.";

PyObject *sapwood_mujoco_api(PyObject *Py_UNUSED(module), PyObject *args) {
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
