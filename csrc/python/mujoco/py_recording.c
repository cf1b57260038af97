#include "python/mujoco/py_recording.h"
#include "python/parts.h"

#include <string.h>

#include "base/memory.h"
#include "python/record.h"
#include "python/stepper/contacts.h"

/* ---- the log -------------------------------------------------------------------------------- */

typedef struct sapwood_contact_log {
  PyObject_HEAD
  struct sap_contact_log log;
} sapwood_contact_log;

static PyObject *log_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {NULL};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, ":ContactLog", names)) {
    return NULL;
  }
  sapwood_contact_log *self = (sapwood_contact_log *)type->tp_alloc(type, 0);
  if (self != NULL) {
    self->log.allocator = sap_allocator_or_default(NULL);
  }
  return (PyObject *)self;
}

static void log_dealloc(PyObject *object) {
  sapwood_contact_log *self = (sapwood_contact_log *)object;
  sap_contact_log_release(&self->log);
  sapwood_free_object(object);
}

PyDoc_STRVAR(append_doc,
             "append($self, contacts, /)\n--\n\n"
             "Add the contacts of a step, an array of CONTACT_RECORD.");

static PyObject *log_append(PyObject *object, PyObject *contacts) {
  struct sap_contact_log *log = &((sapwood_contact_log *)object)->log;
  const sap_contact_record *given =
      sapwood_take_structs(contacts, "contacts", "CONTACT_RECORD", sizeof *given, 0, 0);
  if (given == NULL) {
    return NULL;
  }
  const npy_intp n = PyArray_SIZE((PyArrayObject *)contacts);
  sap_contact_record *room = sap_contact_log_room(log, n);
  if (room == NULL) {
    return PyErr_NoMemory();
  }
  memcpy(room, given, (size_t)n * sizeof *room);
  log->n += n;
  Py_RETURN_NONE;
}

PyDoc_STRVAR(clear_doc,
             "clear($self)\n--\n\n"
             "Forget all contacts.");

static PyObject *log_clear(PyObject *object, PyObject *Py_UNUSED(unused)) {
  ((sapwood_contact_log *)object)->log.n = 0;
  Py_RETURN_NONE;
}

PyDoc_STRVAR(array_doc,
             "array($self)\n--\n\n"
             "A copy of all contacts, of dtype CONTACT_RECORD.");

static PyObject *log_array(PyObject *object, PyObject *Py_UNUSED(unused)) {
  const struct sap_contact_log *log = &((sapwood_contact_log *)object)->log;
  PyArrayObject *array = sapwood_new_contacts(sapwood_state_of_type(Py_TYPE(object)), log->n);
  if (array != NULL && log->n > 0) {
    memcpy(PyArray_DATA(array), log->records, (size_t)log->n * sizeof *log->records);
  }
  return (PyObject *)array;
}

/* ---- the arrays ----------------------------------------------------------------------------- */

/* Finds an array (steps, length) of the dict, which keeps it; *out is NULL for none. */
static int take_array(double **out, PyObject *dict, const char *name, Py_ssize_t steps,
                      int64_t length) {
  *out = NULL;
  PyObject *object;
  if (sapwood_item(dict, name, &object) < 0) {
    return -1;
  }
  if (object == NULL) {
    return 0;
  }
  PyArrayObject *array =
      sapwood_in_place(object, name, NPY_DOUBLE, 2, (npy_intp[2]){steps, (npy_intp)length},
                       NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE);
  if (array == NULL) {
    return -1;
  }
  *out = sapwood_doubles(array);
  Py_DECREF(array);
  return 0;
}

/* Reads the integer of the dict, 0 for none. */
static int take_integer(int *out, PyObject *dict, const char *name) {
  PyObject *object;
  if (sapwood_item(dict, name, &object) < 0) {
    return -1;
  }
  const long value = object == NULL ? 0 : PyLong_AsLong(object);
  *out = (int)value;
  return value == -1 && PyErr_Occurred() ? -1 : 0;
}

struct sap_contact_log *sapwood_contact_log_of(PyObject *object, const sapwood_state *state) {
  if (!PyObject_TypeCheck(object, state->contact_log_type)) {
    PyErr_SetString(PyExc_TypeError, "contacts must be a ContactLog");
    return NULL;
  }
  return &((sapwood_contact_log *)object)->log;
}

static int take_log(struct sap_contact_log **out, PyObject *dict, const sapwood_state *state) {
  PyObject *object;
  *out = NULL;
  if (sapwood_item(dict, "contacts", &object) < 0) {
    return -1;
  }
  if (object == NULL) {
    return 0;
  }
  *out = sapwood_contact_log_of(object, state);
  return *out == NULL ? -1 : 0;
}

#define NAME(name) #name,
static const char *const recorded[] = {SAP_RECORDED(NAME)};
#undef NAME

int sapwood_recording_open(struct sap_recording *recording, sap_mujoco_world *world,
                           const sapwood_state *state, PyObject *dict, Py_ssize_t steps) {
  *recording = (struct sap_recording){0};
  if (dict == Py_None) {
    return 0;
  }
  if (!PyDict_Check(dict)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "recording must be a dict, not %s",
                        Py_TYPE(dict)->tp_name);
  }
  if (take_integer(&recording->state_spec, dict, "state_spec") < 0 ||
      take_log(&recording->contacts, dict, state) < 0) {
    return -1;
  }
  if (sap_recording_open(recording, world) < 0) {
    return SAPWOOD_FAIL(PyExc_ValueError, "%s", sap_mujoco_end(world)->message);
  }
  for (int i = 0; i < SAP_N_RECORDED; i++) {
    if (take_array(&recording->arrays[i], dict, recorded[i], steps, recording->lengths[i]) < 0) {
      return -1;
    }
  }
  return take_array(&recording->state, dict, "state", steps, recording->n_state) < 0 ||
                 take_array(&recording->force, dict, "force", steps, recording->n_force) < 0
             ? -1
             : 0;
}

/* ---- the module ----------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"append", log_append, METH_O, append_doc},
                                {"clear", log_clear, METH_NOARGS, clear_doc},
                                {"array", log_array, METH_NOARGS, array_doc},
                                {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(log_doc,
             "ContactLog()\n--\n\n"
             "The contacts of many steps, one after the other; grows as needed.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)log_doc},
                              {Py_tp_new, (void *)log_new},
                              {Py_tp_dealloc, (void *)log_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = SAPWOOD_SPEC("ContactLog", sapwood_contact_log, Py_TPFLAGS_IMMUTABLETYPE);

static const char *recorded_name(Py_ssize_t i) { return recorded[i]; }

int sapwood_add_recording(PyObject *module) {
  PyTypeObject **type = &sapwood_state_of_module(module)->contact_log_type;
  PyObject *names = sapwood_make_names(SAP_N_RECORDED, recorded_name);
  return sapwood_add_object(module, "RECORDED", names) < 0 ? -1
                                                           : sapwood_add_type(module, &spec, type);
}
