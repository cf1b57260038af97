#include "python/stepper/prepared_step.h"

#include <stddef.h>
#include <structmember.h>

#include "mujoco/engine/fields.h"
#include "python/stepper/byte_watch.h"
#include "python/stepper/py_world.h"

typedef struct sapwood_prepared_step {
  PyObject_HEAD
  PyObject *stepper, *api, *model, *data; /* references to what the place is of */
  PyObject *memory;                       /* FrictionMemory or None */
  PyObject *watches;                      /* tuple of ByteWatch */
  sapwood_place place;
  double start; /* time before the last step, s */
} sapwood_prepared_step;

/* ---- life ----------------------------------------------------------------------------------- */

static int are_watches(PyObject *object, const sapwood_state *state) {
  int all = PyTuple_Check(object);
  for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(object); i++) {
    all = PyObject_TypeCheck(PyTuple_GET_ITEM(object, i), state->byte_watch_type);
  }
  return all;
}

const char sapwood_stepper_prepare_doc[] =
    "prepare($self, api, model, data, memory, watches, /)\n--\n\n"
    "A PreparedStep of `data`. memory: as `run` has it; watches: tuple of ByteWatch, whose bytes\n"
    "have to stay the same.";

PyObject *sapwood_stepper_prepare(PyObject *object, PyObject *args) {
  sapwood_stepper *stepper = (sapwood_stepper *)object;
  PyObject *api, *model, *data, *memory, *watches;
  sapwood_place place;
  sap_mujoco_world world;
  sapwood_watch watch;
  if (!PyArg_ParseTuple(args, "OOOOO:prepare", &api, &model, &data, &memory, &watches) ||
      sapwood_place_find(&place, stepper, api, model, data) < 0 ||
      sapwood_world_open(&world, &watch, &place, memory, 0) < 0) {
    return NULL;
  }
  if (!are_watches(watches, stepper->state)) {
    PyErr_SetString(PyExc_TypeError, "watches must be a tuple of ByteWatch");
    return NULL;
  }
  PyTypeObject *type = stepper->state->prepared_step_type;
  sapwood_prepared_step *self = (sapwood_prepared_step *)type->tp_alloc(type, 0);
  if (self != NULL) {
    self->stepper = Py_NewRef(object);
    self->api = Py_NewRef(api);
    self->model = Py_NewRef(model);
    self->data = Py_NewRef(data);
    self->memory = Py_NewRef(memory);
    self->watches = Py_NewRef(watches);
    self->place = place;
  }
  return (PyObject *)self;
}

static void step_dealloc(PyObject *object) {
  sapwood_prepared_step *self = (sapwood_prepared_step *)object;
  PyTypeObject *type = Py_TYPE(object);
  Py_DECREF(self->stepper);
  Py_DECREF(self->api);
  Py_DECREF(self->model);
  Py_DECREF(self->data);
  Py_DECREF(self->memory);
  Py_DECREF(self->watches);
  type->tp_free(object);
  Py_DECREF(type);
}

/* ---- the step ------------------------------------------------------------------------------- */

static int has_changed(const sapwood_prepared_step *self) {
  int changed = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->watches) && !changed; i++) {
    changed = sapwood_byte_watch_has_changed(PyTuple_GET_ITEM(self->watches, i));
  }
  return changed;
}

PyDoc_STRVAR(take_doc,
             "take($self, /)\n--\n\n"
             "Take the step. Returns True once it is taken and its solve has converged; None,\n"
             "with nothing done, where bytes or options have changed; else what `run` returns.");

static PyObject *step_take(PyObject *object, PyObject *Py_UNUSED(unused)) {
  sapwood_prepared_step *self = (sapwood_prepared_step *)object;
  sap_mujoco_world world;
  sapwood_watch watch;
  if (has_changed(self)) {
    Py_RETURN_NONE;
  }
  if (sapwood_world_open(&world, &watch, &self->place, self->memory, 0) < 0) {
    return NULL;
  }
  self->start = sap_double_at(world.data, world.api->data.time);
  int64_t taken, notable;
  Py_BEGIN_ALLOW_THREADS
  taken = sap_mujoco_run(&world, 1, NULL, &notable);
  Py_END_ALLOW_THREADS
  if (world.failure == SAP_STEP_OPTIONS) {
    Py_RETURN_NONE;
  }
  if (taken == 1 && notable == 0 && !PyErr_Occurred()) {
    Py_RETURN_TRUE;
  }
  return sapwood_world_ended(&world, taken, notable);
}

/* ---- type ----------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"take", step_take, METH_NOARGS, take_doc}, {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"data", T_OBJECT_EX, offsetof(sapwood_prepared_step, data), READONLY, "the MjData"},
    {"start", T_DOUBLE, offsetof(sapwood_prepared_step, start), READONLY,
     "time before the last step, s"},
    {NULL, 0, 0, 0, NULL}};

PyDoc_STRVAR(step_doc, "One step of one MjData, made by ModelStepper.prepare.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)step_doc},
                              {Py_tp_dealloc, (void *)step_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {0, NULL}};

static PyType_Spec spec = {
    .name = "sapwood._core.PreparedStep",
    .basicsize = sizeof(sapwood_prepared_step),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int sapwood_add_prepared_step(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  state->prepared_step_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
  return state->prepared_step_type == NULL ? -1
                                           : PyModule_AddType(module, state->prepared_step_type);
}
