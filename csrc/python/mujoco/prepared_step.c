/* _core.PreparedStep: one step of one MjData. All that stays the same from step to step is looked
 * up before, so that a call from Python costs little more than the step. */
#include "python/parts.h"
#include "python/stepper/methods.h"

#include <stddef.h>
#include <structmember.h>

#include "mujoco/engine/fields.h"
#include "python/mujoco/byte_watch.h"
#include "python/mujoco/py_world.h"

typedef struct sapwood_prepared_step {
  PyObject_HEAD
  PyObject *stepper, *api, *model; /* references for the place */
  PyObject *data;                  /* weak reference to the MjData of the place */
  PyObject *memory;                /* FrictionMemory or None */
  PyObject *watches;               /* tuple of ByteWatch */
  PyObject *record;                /* array of one STEP_RECORD */
  sap_step_record *written;        /* the record in this array */
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
    "prepare($self, api, model, data, memory, watches, forget, record, /)\n--\n\n"
    "A PreparedStep of `data`, which it does not keep alive. memory: as `run` has it; watches: "
    "tuple\n"
    "of ByteWatch, whose bytes have to stay the same; forget: called once the data are gone, as a\n"
    "callback of weakref.ref; record: array of one STEP_RECORD, which each step writes.";

PyObject *sapwood_stepper_prepare(PyObject *object, PyObject *args) {
  sapwood_stepper *stepper = (sapwood_stepper *)object;
  PyObject *api, *model, *data, *memory, *watches, *forget, *record;
  sapwood_place place;
  sap_mujoco_world *world;
  sapwood_watch watch;
  sap_step_record *written;
  if (!PyArg_ParseTuple(args, "OOOOOOO:prepare", &api, &model, &data, &memory, &watches, &forget,
                        &record) ||
      (written = sapwood_take_records(record, 1)) == NULL ||
      sapwood_place_find(&place, stepper, api, model, data) < 0 ||
      sapwood_world_open(&world, &watch, &place, memory, 0) < 0) {
    return NULL;
  }
  sap_mujoco_close(world); /* this was a trial */
  if (!are_watches(watches, stepper->state)) {
    return PyErr_Format(PyExc_TypeError, "watches must be a tuple of ByteWatch");
  }
  PyObject *weak = PyWeakref_NewRef(data, forget);
  if (weak == NULL) {
    return NULL;
  }
  PyTypeObject *type = stepper->state->prepared_step_type;
  sapwood_prepared_step *self = (sapwood_prepared_step *)type->tp_alloc(type, 0);
  if (self == NULL) {
    Py_DECREF(weak);
  } else {
    self->stepper = Py_NewRef(object);
    self->api = Py_NewRef(api);
    self->model = Py_NewRef(model);
    self->data = weak;
    self->memory = Py_NewRef(memory);
    self->watches = Py_NewRef(watches);
    self->record = Py_NewRef(record);
    self->written = written;
    self->place = place;
  }
  return (PyObject *)self;
}

static void step_dealloc(PyObject *object) {
  sapwood_prepared_step *self = (sapwood_prepared_step *)object;
  Py_DECREF(self->stepper);
  Py_DECREF(self->api);
  Py_DECREF(self->model);
  Py_DECREF(self->data);
  Py_DECREF(self->memory);
  Py_DECREF(self->watches);
  Py_DECREF(self->record);
  sapwood_free_object(object);
}

/* ---- the step ------------------------------------------------------------------------------- */

static int has_changed(const sapwood_prepared_step *self) {
  int changed = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->watches) && !changed; i++) {
    changed = sapwood_byte_watch_has_changed(PyTuple_GET_ITEM(self->watches, i));
  }
  return changed;
}

/* Returns 1 if the step was prepared for these data; None stands for data that are gone. */
static int is_of(const sapwood_prepared_step *self, const PyObject *data) {
  return data != Py_None && ((const PyWeakReference *)self->data)->wr_object == data;
}

PyDoc_STRVAR(
    take_doc,
    "take($self, data, /)\n--\n\n"
    "Take the step. Returns True once it is taken and its solve has converged; None, with\n"
    "nothing done, where bytes or options have changed or these are other data; else what\n"
    "`run` returns.");

static PyObject *step_take(PyObject *object, PyObject *data) {
  sapwood_prepared_step *self = (sapwood_prepared_step *)object;
  sap_mujoco_world *world;
  sapwood_watch watch;
  if (!is_of(self, data) || has_changed(self)) {
    Py_RETURN_NONE;
  }
  if (sapwood_world_open(&world, &watch, &self->place, self->memory, 0) < 0) {
    return NULL;
  }
  self->start = sap_mjdata_time(&self->place.engine->api, self->place.data);
  int64_t taken, notable;
  Py_BEGIN_ALLOW_THREADS
  taken = sap_mujoco_run(world, 1, self->written, &notable);
  Py_END_ALLOW_THREADS
  PyObject *answer;
  if (sap_mujoco_end(world)->failure == SAP_STEP_OPTIONS) {
    answer = Py_NewRef(Py_None);
  } else if (taken == 1 && notable == 0 && !PyErr_Occurred()) {
    answer = Py_NewRef(Py_True);
  } else {
    answer = sapwood_world_ended(world, taken, notable);
  }
  sap_mujoco_close(world);
  return answer;
}

/* ---- type ----------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"take", step_take, METH_O, take_doc}, {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {{"start", T_DOUBLE, offsetof(sapwood_prepared_step, start),
                                 READONLY, "time before the last step, s"},
                                {"record", T_OBJECT, offsetof(sapwood_prepared_step, record),
                                 READONLY, "array of one STEP_RECORD, of the last step"},
                                {NULL, 0, 0, 0, NULL}};

PyDoc_STRVAR(step_doc, "One step of one MjData, made by ModelStepper.prepare.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)step_doc},
                              {Py_tp_dealloc, (void *)step_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {0, NULL}};

static PyType_Spec spec =
    SAPWOOD_SPEC("PreparedStep", sapwood_prepared_step,
                 Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION);

int sapwood_add_prepared_step(PyObject *module) {
  return sapwood_add_type(module, &spec, &sapwood_state_of_module(module)->prepared_step_type);
}
