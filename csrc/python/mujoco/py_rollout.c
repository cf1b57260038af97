/* ModelStepper.rollout: many worlds, one after the other, on one MjData, without the GIL. */
#include "python/mujoco/py_rollout.h"

#include "mujoco/stages/rollout.h"
#include "python/mujoco/py_world.h"

/* ---- arguments ------------------------------------------------------------------------------ */

/* Finds a plane; `lengths` are those of the array. If the array is only read, its first axes may
 * have the length 1. */
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

/* Returns the data of a vector (n); the caller's reference keeps it. */
static void *take_vector(PyObject *object, const char *name, int typenum, npy_intp n) {
  PyArrayObject *array =
      sapwood_in_place(object, name, typenum, 1, &n, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE);
  void *data = array == NULL ? NULL : PyArray_DATA(array);
  Py_XDECREF(array);
  return data;
}

/* ---- the call ------------------------------------------------------------------------------- */

/* The arguments with lengths that follow from each other. */
struct given {
  Py_ssize_t first, last, steps;
  PyObject *neutral, *initial, *control, *state, *sensordata, *records, *taken, *stop;
};

static int take_arrays(struct sap_rollout *r, const struct given *g) {
  struct sap_rollout_lengths n;
  if (sap_rollout_find_lengths(r, &n) < 0) {
    PyErr_SetString(PyExc_ValueError, sap_mujoco_end(r->world)->message);
    return -1;
  }
  if (!PyArray_Check(g->taken) || g->first < 0 || g->first > g->last || g->steps < 0 ||
      g->last > PyArray_SIZE((PyArrayObject *)g->taken) ||
      g->steps > NPY_MAX_INTP / (1 + PyArray_SIZE((PyArrayObject *)g->taken))) {
    PyErr_SetString(PyExc_ValueError, "first, last and steps must fit the arrays");
    return -1;
  }
  r->first = g->first;
  r->last = g->last;
  r->steps = g->steps;
  const npy_intp worlds = PyArray_SIZE((PyArrayObject *)g->taken), steps = g->steps;
  if ((r->taken = take_vector(g->taken, "taken", NPY_INT64, worlds)) == NULL ||
      (r->neutral = take_vector(g->neutral, "neutral", NPY_DOUBLE, n.neutral)) == NULL ||
      (r->stop = take_vector(g->stop, "stop", NPY_UINT8, 1)) == NULL ||
      take_plane(&r->initial, g->initial, "initial_state", 2, (npy_intp[]){worlds, n.state, 0}, 0) <
          0 ||
      take_plane(&r->control, g->control, "control", 3, (npy_intp[]){worlds, steps, n.control}, 0) <
          0 ||
      take_plane(&r->state, g->state, "state", 3, (npy_intp[]){worlds, steps, n.state}, 1) < 0 ||
      take_plane(&r->sensordata, g->sensordata, "sensordata", 3,
                 (npy_intp[]){worlds, steps, (npy_intp)n.sensordata}, 1) < 0 ||
      (g->records != Py_None &&
       (r->records = sapwood_take_records(g->records, worlds * steps)) == NULL)) {
    return -1;
  }
  if (r->initial.base == NULL) {
    PyErr_SetString(PyExc_TypeError, "initial_state must be an array");
    return -1;
  }
  return 0;
}

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
  struct given g;
  sapwood_place place;
  sapwood_watch watch;
  int signals;
  PyObject *api, *model, *data, *memory = Py_None, *answer = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOnnniiiOOOOOOOOp|O:rollout", names, &api,
                                   &model, &data, &g.first, &g.last, &g.steps, &r.neutral_spec,
                                   &r.state_spec, &r.control_spec, &g.neutral, &g.initial,
                                   &g.control, &g.state, &g.sensordata, &g.records, &g.taken,
                                   &g.stop, &signals, &memory) ||
      sapwood_place_find(&place, (sapwood_stepper *)self, api, model, data) < 0 ||
      sapwood_world_open(&r.world, &watch, &place, memory, signals) < 0) {
    return NULL;
  }
  if (take_arrays(&r, &g) == 0) {
    int ended;
    Py_BEGIN_ALLOW_THREADS
    ended = sap_rollout_run(&r);
    Py_END_ALLOW_THREADS
    PyObject *failure = ended ? Py_NewRef(Py_None) : sapwood_world_failure(r.world);
    answer = failure == NULL
                 ? NULL
                 : Py_BuildValue("(LLN)", (long long)r.current, (long long)r.notable, failure);
  }
  sap_mujoco_close(r.world);
  return answer;
}
