#include "python/stepper/py_memory.h"
#include "python/parts.h"

#include "step/contacts/friction_memory.h"
#include "python/errors.h"
#include "python/stepper/ready.h"

typedef struct sapwood_memory {
  PyObject_HEAD
  sapwood_stepper *stepper; /* a reference */
  sap_friction_memory *core;
  const sap_stepper *user; /* core of the stepper that used it last */
} sapwood_memory;

/* ---- life ----------------------------------------------------------------------------------- */

static PyObject *memory_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"stepper", NULL};
  const sapwood_state *state = sapwood_state_of_type(type);
  PyObject *stepper;
  if (state == NULL || !PyArg_ParseTupleAndKeywords(args, keywords, "O!:FrictionMemory", names,
                                                    state->model_stepper_type, &stepper)) {
    return NULL;
  }
  sapwood_memory *self = (sapwood_memory *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->stepper = (sapwood_stepper *)Py_NewRef(stepper);
  self->user = self->stepper->core;
  if (sapwood_raise(sap_friction_memory_create(&self->core, NULL), NULL) < 0) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

/* Returns 1 if a thread that this process does not have may have used it. */
static int is_lost(const sapwood_memory *self) {
  return self->user != self->stepper->core || sapwood_lock_is_lost(&self->stepper->lock);
}

static void memory_dealloc(PyObject *object) {
  sapwood_memory *self = (sapwood_memory *)object;
  if (!is_lost(self)) {
    sap_friction_memory_destroy(self->core);
  }
  Py_DECREF(self->stepper);
  sapwood_free_object(object);
}

/* Renews the memory if sapwood_stepper_be_ready(), which comes first, renewed the stepper. */
static int be_ready(sapwood_memory *self) {
  sap_friction_memory *fresh;
  if (!is_lost(self)) {
    return 0;
  }
  if (sapwood_raise(sap_friction_memory_create(&fresh, NULL), NULL) < 0) {
    return -1;
  }
  self->core = fresh;
  self->user = self->stepper->core;
  return 0;
}

int sapwood_memory_of(sapwood_stepper *stepper, PyObject *object, sap_friction_memory **memory) {
  *memory = NULL;
  if (object == Py_None) {
    return 0;
  }
  if (!PyObject_TypeCheck(object, stepper->state->memory_type)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "memory must be a FrictionMemory, not %s",
                        Py_TYPE(object)->tp_name);
  }
  sapwood_memory *self = (sapwood_memory *)object;
  if (self->stepper != stepper) {
    return SAPWOOD_FAIL(PyExc_ValueError, "memory must be of this stepper");
  }
  if (be_ready(self) < 0) {
    return -1;
  }
  *memory = self->core;
  return 0;
}

/* ---- type ----------------------------------------------------------------------------------- */

PyDoc_STRVAR(memory_doc,
             "FrictionMemory(stepper)\n--\n\n"
             "What lagged friction remembers of the steps of one data by a ModelStepper.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)memory_doc},
                              {Py_tp_new, (void *)memory_new},
                              {Py_tp_dealloc, (void *)memory_dealloc},
                              {0, NULL}};

static PyType_Spec spec = SAPWOOD_SPEC("FrictionMemory", sapwood_memory, Py_TPFLAGS_IMMUTABLETYPE);

int sapwood_add_memory(PyObject *module) {
  return sapwood_add_type(module, &spec, &sapwood_state_of_module(module)->memory_type);
}
