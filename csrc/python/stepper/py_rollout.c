/* ModelStepper.rollout: many worlds, one after the other, on one MjData, without the GIL. */
#include "python/stepper/py_rollout.h"

#include "mujoco/stages/rollout.h"
#include "python/stepper/py_world.h"

/* ---- arguments ------------------------------------------------------------------------------ */

/* `lengths` are those of the array: of its first axes 1 is allowed where it is only read */
static int take_plane(struct sap_plane *out, PyObject *object, const char *name, int ndim,
                      const npy_intp *lengths, int written) {
  *out = (struct sap_plane){0};
  if (object == Py_None) {
    return 0;
  }
  PyArrayObject *array = sapwood_in_place(
      object, name, NPY_DOUBLE, ndim, (npy_intp[3]){-1, ndim == 3 ? -1 : lengths[1], lengths[2]},
      NPY_ARRAY_C_CONTIGUOUS | (written ? NPY_ARRAY_WRITEABLE : 0));
  if (array == NULL) {
    return -1;
  }
  npy_intp stride = 1;
  npy_intp strides[2] = {0, 0};
  for (int axis = ndim - 1; axis >= 0; axis--) {
    const npy_intp length = PyArray_DIM(array, axis);
    if (axis < ndim - 1) {
      if (length != lengths[axis] && (written || length != 1)) {
        PyErr_Format(PyExc_ValueError, "%s has length %zd along axis %d, expected %zd%s", name,
                     length, axis, lengths[axis], written ? "" : " or 1");
        Py_DECREF(array);
        return -1;
      }
      strides[axis] = length == 1 ? 0 : stride;
    }
    stride *= length;
  }
  *out = (struct sap_plane){sapwood_doubles(array), strides[0], ndim == 3 ? strides[1] : 0};
  /* the caller's reference keeps the memory */
  Py_DECREF(array);
  return 0;
}

/* data of a vector (n); the caller's reference keeps it */
static void *take_vector(PyObject *object, const char *name, int typenum, npy_intp n) {
  PyArrayObject *array =
      sapwood_in_place(object, name, typenum, 1, &n, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE);
  void *data = array == NULL ? NULL : PyArray_DATA(array);
  Py_XDECREF(array);
  return data;
}

/* ---- the call ------------------------------------------------------------------------------- */

const char sapwood_stepper_rollout_doc[] =
    "rollout($self, /, api, model, data, first, last, steps, neutral_spec, state_spec,\n"
    "        control_spec, neutral, initial_state, control, state, sensordata, records, taken,\n"
    "        stop, signals, memory=None)\n--\n\n"
    "Roll out worlds first to last - 1 on `data`. Returns the world that was reached, how many\n"
    "steps are to be told of, and why: None at the end, else as `run`. A further call may go on\n"
    "with the next world. neutral (nneutral) is what a world starts from, but for its\n"
    "initial_state. initial_state (worlds, nstate) and control (worlds, steps, ncontrol)\n"
    "may have length 1 for worlds and steps; control and the outputs state (worlds, steps,\n"
    "nstate), sensordata (worlds, steps, nsensordata) and records (worlds, steps) may be None.\n"
    "taken (worlds) int64 counts steps; all stop when stop[0], uint8, is not 0. memory: as `run`\n"
    "has it.";

PyObject *sapwood_stepper_rollout(PyObject *self, PyObject *args, PyObject *keywords) {
  static char *names[] = {"api",           "model",        "data",       "first",        "last",
                          "steps",         "neutral_spec", "state_spec", "control_spec", "neutral",
                          "initial_state", "control",      "state",      "sensordata",   "records",
                          "taken",         "stop",         "signals",    "memory",       NULL};
  struct sap_rollout r = {0};
  sapwood_place place;
  sapwood_watch watch;
  Py_ssize_t first, last, n_steps;
  int signals, nneutral, nstate, ncontrol;
  PyObject *api, *model, *data, *neutral, *initial, *control, *state, *sensordata, *records, *taken,
      *stop, *memory = Py_None;
  if (!PyArg_ParseTupleAndKeywords(
          args, keywords, "OOOnnniiiOOOOOOOOp|O:rollout", names, &api, &model, &data, &first, &last,
          &n_steps, &r.neutral_spec, &r.state_spec, &r.control_spec, &neutral, &initial, &control,
          &state, &sensordata, &records, &taken, &stop, &signals, &memory) ||
      sapwood_place_find(&place, (sapwood_stepper *)self, api, model, data) < 0 ||
      sapwood_world_open(&r.world, &watch, &place, memory, signals) < 0) {
    return NULL;
  }
  if (sap_rollout_lengths(&r, &nneutral, &nstate, &ncontrol) < 0) {
    PyErr_SetString(PyExc_ValueError, r.world.message);
    return NULL;
  }
  if (!PyArray_Check(taken) || first < 0 || first > last || n_steps < 0 ||
      last > PyArray_SIZE((PyArrayObject *)taken) ||
      n_steps > NPY_MAX_INTP / (1 + PyArray_SIZE((PyArrayObject *)taken))) {
    PyErr_SetString(PyExc_ValueError, "first, last and steps must fit the arrays");
    return NULL;
  }
  r.first = first;
  r.last = last;
  r.steps = n_steps;
  const npy_intp worlds = PyArray_SIZE((PyArrayObject *)taken), steps = n_steps;
  if ((r.taken = take_vector(taken, "taken", NPY_INT64, worlds)) == NULL ||
      (r.neutral = take_vector(neutral, "neutral", NPY_DOUBLE, nneutral)) == NULL ||
      (r.stop = take_vector(stop, "stop", NPY_UINT8, 1)) == NULL ||
      take_plane(&r.initial, initial, "initial_state", 2, (npy_intp[]){worlds, nstate, 0}, 0) < 0 ||
      take_plane(&r.control, control, "control", 3, (npy_intp[]){worlds, steps, ncontrol}, 0) < 0 ||
      take_plane(&r.state, state, "state", 3, (npy_intp[]){worlds, steps, nstate}, 1) < 0 ||
      take_plane(&r.sensordata, sensordata, "sensordata", 3,
                 (npy_intp[]){worlds, steps, (npy_intp)r.world.nsensordata}, 1) < 0 ||
      (records != Py_None && (r.records = sapwood_take_records(records, worlds * steps)) == NULL)) {
    return NULL;
  }
  if (r.initial.base == NULL) {
    PyErr_SetString(PyExc_TypeError, "initial_state must be an array");
    return NULL;
  }
  int ended;
  Py_BEGIN_ALLOW_THREADS
  ended = sap_rollout_run(&r);
  Py_END_ALLOW_THREADS
  PyObject *failure = ended ? Py_NewRef(Py_None) : sapwood_world_failure(&r.world);
  return failure == NULL
             ? NULL
             : Py_BuildValue("(LLN)", (long long)r.current, (long long)r.notable, failure);
}
