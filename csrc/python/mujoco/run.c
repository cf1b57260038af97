/* ModelStepper.run: the loop over steps of one MjData, without the GIL. */
#include "python/stepper/methods.h"
#include "mujoco/engine/options.h"
#include "mujoco/stages/step.h"
#include "python/mujoco/engine.h"
#include "python/mujoco/py_accuracy.h"
#include "python/mujoco/py_recording.h"
#include "python/mujoco/py_world.h"

const char sapwood_stepper_accept_options_doc[] =
    "accept_options($self, api, model, /)\n--\n\n"
    "Take the options of the model as they are now for being in order. Steps are taken while\n"
    "they stay the same.";

PyObject *sapwood_stepper_accept_options(PyObject *object, PyObject *args) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  PyObject *capsule, *model_object;
  if (!PyArg_ParseTuple(args, "OO:accept_options", &capsule, &model_object)) {
    return NULL;
  }
  const sapwood_engine *engine = sapwood_engine_of(capsule);
  const void *model =
      engine == NULL ? NULL : sapwood_engine_address(model_object, engine->model_type, "model");
  if (model == NULL) {
    return NULL;
  }
  self->options = sap_mujoco_read_options(&engine->api, model);
  self->options_known = 1;
  Py_RETURN_NONE;
}

const char sapwood_stepper_run_doc[] =
    "run($self, api, model, data, steps, records, signals, memory=None, recording=None,\n"
    "    accuracy=None, /)\n--\n\n"
    "Take steps of `data`. Returns the number of steps taken, how many are to be told of,\n"
    "and why the next one could not be taken: None, an exception, or a tuple (kind, array,\n"
    "index, message). records: array of STEP_RECORD with room for all steps, or None; signals:\n"
    "whether to let signals in between steps, which only the main thread can; memory:\n"
    "FrictionMemory of this stepper, for these data alone. recording: dict of what else to tell of "
    "each step, arrays\n"
    "(steps, length) of `RECORDED`, `force` (steps, 3 nbody), `state` with an int `state_spec`, "
    "and\n"
    "a ContactLog `contacts`. accuracy: (tolerance, halvings, level, state_spec, scale, parts) of\n"
    "steps in parts, with an array of PARTS_RECORD `parts`; None for whole steps.";

/* Takes the steps of a world, in parts if accuracy.halvings is not 0; returns their number. */
static int64_t take_steps(sap_mujoco_world *world, const sap_accuracy *accuracy, int64_t steps,
                          sap_step_record *records, sap_parts_record *parts, int64_t *notable) {
  return accuracy->halvings > 0
             ? sap_mujoco_run_in_parts(world, accuracy, steps, records, parts, notable)
             : sap_mujoco_run(world, steps, records, notable);
}

PyObject *sapwood_stepper_run(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
  if (n_args < 6 || n_args > 9) {
    return PyErr_Format(PyExc_TypeError,
                        "takes api, model, data, steps, records, signals, memory, recording and "
                        "accuracy");
  }
  const Py_ssize_t steps = PyLong_AsSsize_t(args[3]);
  const int signals = PyObject_IsTrue(args[5]);
  if (signals < 0) {
    return NULL;
  }
  if (steps < 0) {
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_ValueError, "steps = %zd: must be >= 0", steps);
    }
    return NULL;
  }
  sap_step_record *records = NULL;
  sap_parts_record *parts = NULL;
  sap_accuracy accuracy = {0};
  sap_mujoco_world *world = NULL;
  sapwood_watch watch;
  struct sap_recording recording;
  PyObject *answer = NULL;
  if ((args[4] != Py_None && (records = sapwood_take_records(args[4], steps)) == NULL) ||
      (n_args > 8 && args[8] != Py_None &&
       sapwood_read_accuracy(args[8], sap_stepper_forest(((sapwood_stepper *)self)->core)->nv,
                             steps, &accuracy, &parts) < 0) ||
      sapwood_world_of(&world, &watch, (sapwood_stepper *)self, args,
                       n_args > 6 ? args[6] : Py_None, signals) < 0) {
    return NULL;
  }
  if (n_args <= 7 || sapwood_recording_open(&recording, world, watch.state, args[7], steps) == 0) {
    int64_t taken, notable;
    Py_BEGIN_ALLOW_THREADS
    taken = take_steps(world, &accuracy, steps, records, parts, &notable);
    Py_END_ALLOW_THREADS
    answer = sapwood_world_ended(world, taken, notable);
  }
  sap_mujoco_close(world);
  return answer;
}
