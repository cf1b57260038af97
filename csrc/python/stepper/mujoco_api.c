#include "python/stepper/mujoco_api.h"

#include <limits.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>

#include "python/stepper/stepper_elements.h"

static const char capsule_name[] = "sapwood.mujoco_api";

/* ---- what Python has to find ---------------------------------------------------------------- */

typedef struct entry {
  const char *name;
  size_t offset; /* in sapwood_mujoco */
} entry;

#define FUNCTION(name) {#name, offsetof(sapwood_mujoco, name)}
#define MODEL(name) {"model." #name, offsetof(sapwood_mujoco, model.name)}
#define DATA(name) {"data." #name, offsetof(sapwood_mujoco, data.name)}
#define CONTACT(name) {"contact." #name, offsetof(sapwood_mujoco, contact.name)}

static const entry functions[] = {
    FUNCTION(mj_step1),
    FUNCTION(mj_fwdActuation),
    FUNCTION(mj_fwdAcceleration),
    FUNCTION(mj_sensorAcc),
    FUNCTION(mj_Euler),
    FUNCTION(mj_isSparse),
    FUNCTION(mj_stateSize),
    FUNCTION(mj_getState),
    FUNCTION(mj_setState),
    FUNCTION(mju_error),
    FUNCTION(_mjPRIVATE_setTlsLogHandler),
    FUNCTION(_mjPRIVATE_getGlobalLogHandler),
};

static const entry offsets[] = {
    MODEL(nq),           MODEL(nv),
    MODEL(nu),           MODEL(na),
    MODEL(nbody),        MODEL(ngeom),
    MODEL(ntree),        MODEL(nC),
    MODEL(nmocap),       MODEL(nsensordata),
    MODEL(neq),          MODEL(ntendon),
    MODEL(nout),         MODEL(disableactuator),
    MODEL(timestep),     MODEL(integrator),
    MODEL(cone),         MODEL(disableflags),
    MODEL(enableflags),  DATA(time),
    DATA(pstack),        DATA(pbase),
    DATA(ncon),          DATA(nefc),
    DATA(contacts_full), DATA(rows_full),
    DATA(flg_rnepost),   DATA(qpos),
    DATA(qvel),          DATA(act),
    DATA(ctrl),          DATA(mocap_pos),
    DATA(mocap_quat),    DATA(M),
    DATA(cdof),          DATA(subtree_com),
    DATA(qfrc_smooth),   DATA(qacc_smooth),
    DATA(qacc),          DATA(qfrc_constraint),
    DATA(efc_force),     DATA(sensordata),
    DATA(contact),       CONTACT(size),
    CONTACT(dist),       CONTACT(pos),
    CONTACT(frame),      CONTACT(friction),
    CONTACT(surfacevel), CONTACT(adhesion),
    CONTACT(dim),        CONTACT(geom),
    CONTACT(exclude),    CONTACT(efc_address),
};

/* ---- errors of MuJoCo ----------------------------------------------------------------------- */

/* the beginning of mjLogMessage */
typedef struct log_message {
  int level, topic;
  char subject[SAPWOOD_MUJOCO_MESSAGE];
} log_message;

enum { LEVEL_ERROR = 3 };

typedef struct guard {
  jmp_buf place;
  char *message;
  sapwood_mujoco_log *outer; /* handler before the outermost call */
  struct guard *previous;
} guard;

/* Innermost call on this thread: MuJoCo hands its handler nothing of ours. */
static _Thread_local guard *innermost;

static void handle_message(const void *object) {
  const log_message *message = object;
  guard *now = innermost;
  if (message->level != LEVEL_ERROR) {
    now->outer(object);
    return;
  }
  memcpy(now->message, message->subject, SAPWOOD_MUJOCO_MESSAGE);
  now->message[SAPWOOD_MUJOCO_MESSAGE - 1] = '\0';
  longjmp(now->place, 1);
}

int sapwood_mujoco_call(const sapwood_mujoco *api, void (*body)(void *), void *context,
                        char *message) {
  sapwood_mujoco_log *const before = api->_mjPRIVATE_setTlsLogHandler(handle_message);
  guard now = {.message = message, .previous = innermost};
  /* where warnings go: past all nested calls, as a handler in between may hand them to us again */
  now.outer = innermost != NULL ? innermost->outer : before;
  if (now.outer == NULL) {
    now.outer = api->_mjPRIVATE_getGlobalLogHandler();
  }
  int answer = -1;
  innermost = &now;
  if (setjmp(now.place) == 0) {
    body(context);
    answer = 0;
  }
  innermost = now.previous;
  api->_mjPRIVATE_setTlsLogHandler(before);
  return answer;
}

/* ---- the capsule ---------------------------------------------------------------------------- */

static void release(PyObject *capsule) {
  sapwood_mujoco *api = PyCapsule_GetPointer(capsule, capsule_name);
  Py_XDECREF(api->model_type);
  Py_XDECREF(api->data_type);
  PyMem_Free(api);
}

static const char probe[] = "sapwood looks for the way errors take";

static void raise_probe(void *context) {
  const sapwood_mujoco *api = context;
  api->mju_error("%s", probe);
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

static int read_table(sapwood_mujoco *api, PyObject *addresses, PyObject *layout) {
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
    const int optional = offsets[i].offset == offsetof(sapwood_mujoco, contact.surfacevel) ||
                         offsets[i].offset == offsetof(sapwood_mujoco, contact.adhesion);
    ptrdiff_t offset;
    if (read_offset(layout, offsets[i].name, optional, &offset) < 0) {
      return -1;
    }
    memcpy((char *)api + offsets[i].offset, &offset, sizeof offset);
  }
  for (int i = 0; i < SAPWOOD_ELEMENT_ARRAYS; i++) {
    char name[64];
    (void)snprintf(name, sizeof name, "data.%s", sapwood_element_arrays[i].name);
    if (read_offset(layout, name, 0, &api->data.elements[i]) < 0) {
      return -1;
    }
  }
  return 0;
}

const char sapwood_mujoco_api_doc[] =
    "mujoco_api(functions, layout, model_type, data_type, /)\n--\n\n"
    "Capsule for ModelStepper.run and rollout. functions: addresses of MuJoCo's functions by\n"
    "name; layout: offsets of fields of its structs by names like 'data.time'. Addresses and\n"
    "offsets are believed. RuntimeError where an error of MuJoCo cannot be caught.";

PyObject *sapwood_mujoco_api(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *addresses, *layout, *model_type, *data_type;
  if (!PyArg_ParseTuple(args, "OOO!O!:mujoco_api", &addresses, &layout, &PyType_Type, &model_type,
                        &PyType_Type, &data_type)) {
    return NULL;
  }
  sapwood_mujoco *api = PyMem_Calloc(1, sizeof *api);
  if (api == NULL) {
    return PyErr_NoMemory();
  }
  PyObject *capsule = NULL;
  if (read_table(api, addresses, layout) == 0) {
    /* an error must come back here, with its text */
    char message[SAPWOOD_MUJOCO_MESSAGE] = "";
    if (sapwood_mujoco_call(api, raise_probe, api, message) == 0 || strcmp(message, probe) != 0) {
      PyErr_SetString(PyExc_RuntimeError,
                      "the errors of this version of MuJoCo cannot be caught from C");
    } else {
      capsule = PyCapsule_New(api, capsule_name, release);
    }
  }
  if (capsule == NULL) {
    PyMem_Free(api);
    return NULL;
  }
  api->model_type = (PyTypeObject *)Py_NewRef(model_type);
  api->data_type = (PyTypeObject *)Py_NewRef(data_type);
  return capsule;
}

const sapwood_mujoco *sapwood_mujoco_of(PyObject *object) {
  if (!PyCapsule_IsValid(object, capsule_name)) {
    PyErr_Format(PyExc_TypeError, "api must come from mujoco_api, not %s",
                 Py_TYPE(object)->tp_name);
    return NULL;
  }
  return PyCapsule_GetPointer(object, capsule_name);
}

void *sapwood_mujoco_address(PyObject *object, PyTypeObject *type, const char *name) {
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
