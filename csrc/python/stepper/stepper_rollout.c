/* ModelStepper.rollout: many worlds, one after the other, on one MjData, without the GIL.
 *
 * Every world begins with all that a step starts from set anew, so that nothing of the one before
 * it remains. The caller shares worlds out to threads, each with a ModelStepper and a MjData of its
 * own. */
#include "python/stepper/mujoco_step.h"

#include "base/clock.h"

/* An array of (worlds, steps, columns) or (worlds, columns); what has one world or one step serves
 * all. */
typedef struct plane {
  double *base; /* NULL where there is none */
  npy_intp world_stride, step_stride;
} plane;

typedef struct rollout {
  sapwood_world world;
  int neutral_spec, state_spec, control_spec;
  int nneutral, nstate, ncontrol; /* lengths of the three */
  const double *neutral;          /* (nneutral) */
  plane initial, control, state, sensordata;
  sapwood_step_record *records; /* (worlds, steps) or NULL */
  const volatile uint8_t *stop;
  int64_t *taken; /* (worlds) */
  Py_ssize_t current, last, steps;
  Py_ssize_t unconverged;
  const double *from; /* what set_state sets, by from_spec */
  int from_spec;
  int signals; /* this thread is the one that signals are for */
} rollout;

/* ---- arguments ------------------------------------------------------------------------------ */

/* `lengths` are those of the array: of its first axes 1 is allowed where it is only read */
static int take_plane(plane *out, PyObject *object, const char *name, int ndim,
                      const npy_intp *lengths, int written) {
  *out = (plane){0};
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
  *out = (plane){sapwood_doubles(array), strides[0], ndim == 3 ? strides[1] : 0};
  /* the caller's reference keeps the memory */
  Py_DECREF(array);
  return 0;
}

static double *entry_of(const plane *p, Py_ssize_t world, Py_ssize_t step) {
  return p->base + world * p->world_stride + step * p->step_stride;
}

static void call_state_size(void *context) {
  rollout *r = context;
  r->nneutral = r->world.api->mj_stateSize(r->world.model, r->neutral_spec);
  r->nstate = r->world.api->mj_stateSize(r->world.model, r->state_spec);
  r->ncontrol = r->world.api->mj_stateSize(r->world.model, r->control_spec);
}

/* data of a vector (n); the caller's reference keeps it */
static void *take_vector(PyObject *object, const char *name, int typenum, npy_intp n) {
  PyArrayObject *array =
      sapwood_in_place(object, name, typenum, 1, &n, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE);
  void *data = array == NULL ? NULL : PyArray_DATA(array);
  Py_XDECREF(array);
  return data;
}

/* ---- one world ------------------------------------------------------------------------------ */

static void call_set_state(void *context) {
  const rollout *r = context;
  r->world.api->mj_setState(r->world.model, r->world.data, r->from, r->from_spec);
}

/* sets a part of the state; 0, or -1 with the failure in the world */
static int set_state(rollout *r, const double *from, int spec) {
  r->from = from;
  r->from_spec = spec;
  if (sapwood_mujoco_call(r->world.api, call_set_state, r, r->world.message) < 0) {
    r->world.failure = SAPWOOD_STEP_MUJOCO;
    return -1;
  }
  return 0;
}

/* 0 at the end or when told to stop, -1 when interrupted or with the failure in the world */
static int run_world(rollout *r, double *looked) {
  sapwood_world *world = &r->world;
  const Py_ssize_t w = r->current;
  if (set_state(r, r->neutral, r->neutral_spec) < 0 ||
      set_state(r, entry_of(&r->initial, w, 0), r->state_spec) < 0) {
    return -1;
  }
  world->started = sap_seconds();
  for (Py_ssize_t t = 0; t < r->steps && !*r->stop; t++) {
    if (r->control.base != NULL && set_state(r, entry_of(&r->control, w, t), r->control_spec) < 0) {
      return -1;
    }
    if (sapwood_world_step(world) != SAPWOOD_STEP_TAKEN) {
      return -1;
    }
    if (r->state.base != NULL) {
      world->api->mj_getState(world->model, world->data, entry_of(&r->state, w, t), r->state_spec);
    }
    if (r->sensordata.base != NULL) {
      memcpy(entry_of(&r->sensordata, w, t),
             sapwood_pointer_at(world->data, world->api->data.sensordata),
             sizeof(double) * (size_t)world->nsensordata);
    }
    if (r->records != NULL) {
      r->records[w * r->steps + t] = world->record;
    }
    r->unconverged += world->record.status != SAP_CONVERGED;
    r->taken[w]++;
    if (r->signals && sapwood_look_for_signals(world->started, looked) < 0) {
      return -1;
    }
  }
  return 0;
}

/* ---- the call ------------------------------------------------------------------------------- */

const char sapwood_stepper_rollout_doc[] =
    "rollout($self, /, api, model, data, first, last, steps, neutral_spec, state_spec,\n"
    "        control_spec, neutral, initial_state, control, state, sensordata, records, taken,\n"
    "        stop, signals)\n--\n\n"
    "Roll out worlds first to last - 1 on `data`. Returns the world that was reached, how many\n"
    "steps did not converge, and why: None at the end, else as `run`. A further call may go on\n"
    "with the next world. neutral (nneutral) is what a world starts from, but for its\n"
    "initial_state. initial_state (worlds, nstate) and control (worlds, steps, ncontrol)\n"
    "may have length 1 for worlds and steps; control and the outputs state (worlds, steps,\n"
    "nstate), sensordata (worlds, steps, nsensordata) and records (worlds, steps) may be None.\n"
    "taken (worlds) int64 counts steps; all stop when stop[0], uint8, is not 0.";

PyObject *sapwood_stepper_rollout(PyObject *self, PyObject *args, PyObject *keywords) {
  static char *names[] = {
      "api",        "model",        "data",    "first",         "last",    "steps", "neutral_spec",
      "state_spec", "control_spec", "neutral", "initial_state", "control", "state", "sensordata",
      "records",    "taken",        "stop",    "signals",       NULL};
  rollout r = {0};
  Py_ssize_t first;
  PyObject *api, *model, *data, *neutral, *initial, *control, *state, *sensordata, *records, *taken,
      *stop;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOnnniiiOOOOOOOOp:rollout", names, &api,
                                   &model, &data, &first, &r.last, &r.steps, &r.neutral_spec,
                                   &r.state_spec, &r.control_spec, &neutral, &initial, &control,
                                   &state, &sensordata, &records, &taken, &stop, &r.signals) ||
      sapwood_world_open(&r.world, (sapwood_stepper *)self, api, model, data) < 0) {
    return NULL;
  }
  if (sapwood_mujoco_call(r.world.api, call_state_size, &r, r.world.message) < 0) {
    PyErr_SetString(PyExc_ValueError, r.world.message);
    return NULL;
  }
  if (!PyArray_Check(taken) || first < 0 || first > r.last || r.steps < 0 ||
      r.last > PyArray_SIZE((PyArrayObject *)taken) ||
      r.steps > NPY_MAX_INTP / (1 + PyArray_SIZE((PyArrayObject *)taken))) {
    PyErr_SetString(PyExc_ValueError, "first, last and steps must fit the arrays");
    return NULL;
  }
  const npy_intp worlds = PyArray_SIZE((PyArrayObject *)taken), steps = r.steps;
  if ((r.taken = take_vector(taken, "taken", NPY_INT64, worlds)) == NULL ||
      (r.neutral = take_vector(neutral, "neutral", NPY_DOUBLE, r.nneutral)) == NULL ||
      (r.stop = take_vector(stop, "stop", NPY_UINT8, 1)) == NULL ||
      take_plane(&r.initial, initial, "initial_state", 2, (npy_intp[]){worlds, r.nstate, 0}, 0) <
          0 ||
      take_plane(&r.control, control, "control", 3, (npy_intp[]){worlds, steps, r.ncontrol}, 0) <
          0 ||
      take_plane(&r.state, state, "state", 3, (npy_intp[]){worlds, steps, r.nstate}, 1) < 0 ||
      take_plane(&r.sensordata, sensordata, "sensordata", 3,
                 (npy_intp[]){worlds, steps, (npy_intp)r.world.nsensordata}, 1) < 0 ||
      (records != Py_None && (r.records = sapwood_take_records(records, worlds * steps)) == NULL)) {
    return NULL;
  }
  if (r.initial.base == NULL) {
    PyErr_SetString(PyExc_TypeError, "initial_state must be an array");
    return NULL;
  }
  int ended = 1;
  Py_BEGIN_ALLOW_THREADS
  double looked = r.world.started;
  for (r.current = first; r.current < r.last && ended && !*r.stop; r.current++) {
    ended = run_world(&r, &looked) == 0;
  }
  r.current -= !ended;
  Py_END_ALLOW_THREADS
  PyObject *failure = ended ? Py_NewRef(Py_None) : sapwood_world_failure(&r.world);
  return failure == NULL ? NULL : Py_BuildValue("(nnN)", r.current, r.unconverged, failure);
}
