#include "python/mujoco/py_world.h"
#include "python/parts.h"

#include <string.h>

#include "base/clock.h"
#include "mujoco/engine/options.h"
#include "python/errors.h"
#include "python/record.h"
#include "python/signals.h"
#include "python/stepper/py_memory.h"
#include "python/stepper/ready.h"

/* ---- hooks ---------------------------------------------------------------------------------- */

static void lock(void *context) {
  sapwood_watch *watch = context;
  sapwood_lock_take(watch->lock);
}

static void unlock(void *context) {
  sapwood_watch *watch = context;
  sapwood_lock_leave(watch->lock);
}

/* Calls sapwood_signals_interrupt() if the last look is some time ago. */
static int look_for_signals(void *context, double now) {
  sapwood_watch *watch = context;
  if (now - watch->looked < sapwood_signal_interval) {
    return 0;
  }
  watch->looked = now;
  return sapwood_signals_interrupt(watch->state);
}

/* ---- opening -------------------------------------------------------------------------------- */

int sapwood_place_find(sapwood_place *place, sapwood_stepper *stepper, PyObject *api,
                       PyObject *model, PyObject *data) {
  *place = (sapwood_place){stepper, sapwood_engine_of(api), NULL, NULL};
  if (place->engine == NULL) {
    return -1;
  }
  place->model = sapwood_engine_address(model, place->engine->model_type, "model");
  if (place->model != NULL) {
    place->data = sapwood_engine_address(data, place->engine->data_type, "data");
  }
  return place->data == NULL ? -1 : 0;
}

int sapwood_world_open(sap_mujoco_world **world, sapwood_watch *watch, const sapwood_place *place,
                       PyObject *memory, int signals) {
  sapwood_stepper *stepper = place->stepper;
  sap_friction_memory *remembered = NULL;
  if (sapwood_stepper_be_ready(stepper) < 0 ||
      sapwood_memory_of(stepper, memory, &remembered) < 0) {
    return -1;
  }
  sap_error error = {0};
  const sap_status status =
      sap_mujoco_open_with(world, &place->engine->api, stepper->core, place->model, place->data,
                           stepper->options_known ? &stepper->options : NULL, &error);
  if (status == SAP_INVALID_ARGUMENT) {
    return SAPWOOD_FAIL(PyExc_ValueError, "%s %s", error.argument, error.rule);
  }
  if (sapwood_raise(status, &error) < 0) {
    return -1;
  }
  *watch = (sapwood_watch){&stepper->lock, stepper->state, signals ? sap_seconds() : 0.0};
  sap_mujoco_set_hooks(*world,
                       &(sap_step_hooks){watch, lock, unlock, signals ? look_for_signals : NULL});
  sap_mujoco_set_memory(*world, remembered);
  return 0;
}

int sapwood_world_of(sap_mujoco_world **world, sapwood_watch *watch, sapwood_stepper *stepper,
                     PyObject *const objects[3], PyObject *memory, int signals) {
  sapwood_place place;
  return sapwood_place_find(&place, stepper, objects[0], objects[1], objects[2]) < 0
             ? -1
             : sapwood_world_open(world, watch, &place, memory, signals);
}

/* ---- reports -------------------------------------------------------------------------------- */

PyObject *sapwood_world_failure(const sap_mujoco_world *world) {
  const sap_step_end *end = sap_mujoco_end(world);
  if (PyErr_Occurred()) {
    return sapwood_take_exception();
  }
  if (end->failure == SAP_STEP_TAKEN) {
    return Py_NewRef(Py_None);
  }
  PyObject *message = NULL;
  if (end->failure == SAP_STEP_ARGUMENT) {
    sapwood_raise(end->status, &end->error);
    PyObject *error = sapwood_take_exception();
    if (error == NULL || end->status == SAP_OUT_OF_MEMORY) {
      return error;
    }
    message = PyObject_Str(error);
    Py_DECREF(error);
  } else {
    const char *text = end->failure == SAP_STEP_MUJOCO ? end->message : "";
    message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  }
  return message == NULL ? NULL
                         : Py_BuildValue("(siLN)", sap_step_failure_name(end->failure), end->code,
                                         (long long)end->index, message);
}

PyObject *sapwood_world_ended(const sap_mujoco_world *world, int64_t taken, int64_t notable) {
  PyObject *failure = sapwood_world_failure(world);
  return failure == NULL ? NULL
                         : Py_BuildValue("(LLN)", (long long)taken, (long long)notable, failure);
}

/* ---- records -------------------------------------------------------------------------------- */

sap_step_record *sapwood_take_records(PyObject *object, npy_intp n) {
  return sapwood_take_structs(object, "records", "STEP_RECORD", sizeof(sap_step_record), n,
                              NPY_ARRAY_WRITEABLE);
}

/* Fields of the dtype with the memory layout of sap_step_record. */
static const sapwood_field step_fields[] = {
    SAPWOOD_FIELD(sap_step_record, time, "f8"),
    SAPWOOD_FIELD(sap_step_record, momentum_error, "f8"),
    SAPWOOD_FIELD(sap_step_record, velocity_error_bound, "f8"),
    SAPWOOD_FIELD(sap_step_record, coulomb_error, "f8"),
    SAPWOOD_FIELD(sap_step_record, overlap, "f8"),
    SAPWOOD_FIELD(sap_step_record, solver_seconds, "f8"),
    SAPWOOD_FIELD(sap_step_record, seconds, "f8"),
    SAPWOOD_FIELD(sap_step_record, contacts, "i4"),
    SAPWOOD_FIELD(sap_step_record, iterations, "i4"),
    SAPWOOD_FIELD(sap_step_record, total_iterations, "i4"),
    SAPWOOD_FIELD(sap_step_record, line_search_trials, "i4"),
    SAPWOOD_FIELD(sap_step_record, status, "i4"),
    SAPWOOD_FIELD(sap_step_record, islands, "i4"),
    SAPWOOD_FIELD(sap_step_record, deep_contacts, "i4"),
    SAPWOOD_FIELD(sap_step_record, dense_islands, "i4"),
    SAPWOOD_FIELD(sap_step_record, fallbacks, "i4"),
};

int sapwood_add_step_record(PyObject *module) {
  PyArray_Descr *dtype = SAPWOOD_RECORD(sap_step_record, step_fields);
  return sapwood_add_object(module, "STEP_RECORD", (PyObject *)dtype);
}
