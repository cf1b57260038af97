#include "python/batch/batch_call.h"

#include <string.h>

#include "base/clock.h"
#include "mujoco/batch/batch_object.h"
#include "mujoco/stages/lean_step.h"
#include "python/batch/call_room.h"
#include "python/errors.h"
#include "python/mujoco/py_recording.h"
#include "python/signals.h"

/* ---- arguments ------------------------------------------------------------------------------ */

/* clang-format off */
#define OBJECTS(OBJECT)                                                                       \
  OBJECT(state) OBJECT(start) OBJECT(keys) OBJECT(overlay) OBJECT(ids) OBJECT(control)        \
  OBJECT(records) OBJECT(step_records) OBJECT(taken) OBJECT(last_records) OBJECT(body_forces) \
  OBJECT(status) OBJECT(speeds) OBJECT(contacts) OBJECT(failed) OBJECT(acts)
/* clang-format on */
#define MEMBER(name) PyObject *name;
#define NONE(name) .name = Py_None,

/* The arguments as objects. */
struct given {
  OBJECTS(MEMBER)
  Py_ssize_t n_worlds, chunk, steps, remembered, behind;
  int state_spec, overlay_spec, control_spec, stage, signals;
};

/* Returns the data of an array (lengths), which the caller keeps; NULL without an exception for
 * None. */
static void *take_array(PyObject *object, const char *name, int typenum, int ndim,
                        const npy_intp *lengths, int written) {
  if (object == Py_None) {
    return NULL;
  }
  PyArrayObject *array =
      sapwood_in_place(object, name, typenum, ndim, lengths,
                       NPY_ARRAY_C_CONTIGUOUS | (written ? NPY_ARRAY_WRITEABLE : 0));
  void *data = array == NULL ? NULL : PyArray_DATA(array);
  Py_XDECREF(array);
  return data;
}

/* Finds a plane (worlds, steps, columns); its first axes may have the length 1. */
static int take_plane(sap_plane *plane, PyObject *object, const char *name,
                      const npy_intp *lengths) {
  *plane = (sap_plane){0};
  if (object == Py_None) {
    return 0;
  }
  PyArrayObject *array = sapwood_in_place(object, name, NPY_DOUBLE, 3,
                                          (npy_intp[]){-1, -1, lengths[2]}, NPY_ARRAY_C_CONTIGUOUS);
  if (array == NULL) {
    return -1;
  }
  const npy_intp *dims = PyArray_DIMS(array);
  int wrong = -1;
  for (int axis = 0; axis < 2; axis++) {
    wrong = dims[axis] != lengths[axis] && dims[axis] != 1 ? axis : wrong;
  }
  if (wrong >= 0) {
    PyErr_Format(PyExc_ValueError, "%s has length %zd along axis %d, expected %zd or 1", name,
                 (Py_ssize_t)dims[wrong], wrong, (Py_ssize_t)lengths[wrong]);
  } else {
    *plane = (sap_plane){sapwood_doubles(array), dims[0] == 1 ? 0 : dims[1] * dims[2],
                         dims[1] == 1 ? 0 : dims[2]};
  }
  Py_DECREF(array);
  return wrong >= 0 ? -1 : 0;
}

/* Reads the ids, which must be sorted and within the rows. */
static int take_ids(const struct given *g, npy_intp rows, sap_batch_call *call) {
  const npy_intp n = g->n_worlds;
  call->ids = take_array(g->ids, "ids", NPY_INT32, 1, &n, 0);
  if (PyErr_Occurred()) {
    return -1;
  }
  if (call->ids == NULL) {
    if (n > rows) {
      return SAPWOOD_FAIL(PyExc_ValueError, "n_worlds = %zd: there are %zd rows", (Py_ssize_t)n,
                          (Py_ssize_t)rows);
    }
    return 0;
  }
  for (npy_intp i = 0; i < n; i++) {
    if (call->ids[i] < 0 || call->ids[i] >= rows || (i > 0 && call->ids[i] <= call->ids[i - 1])) {
      return SAPWOOD_FAIL(PyExc_ValueError, "ids[%zd] = %d: must be sorted and in [0, %zd)",
                          (Py_ssize_t)i, (int)call->ids[i], (Py_ssize_t)rows);
    }
  }
  return 0;
}

static int check_callable(PyObject *object, const char *name) {
  if (object == Py_None || PyCallable_Check(object)) {
    return 0;
  }
  return SAPWOOD_FAIL(PyExc_TypeError, "%s must be callable", name);
}

static int check_numbers(const struct given *g) {
  if (g->n_worlds < 0 || g->n_worlds > INT32_MAX || g->chunk < 1 || g->chunk > INT32_MAX ||
      g->remembered < 0 || g->remembered > INT32_MAX || g->behind < 0 || g->behind > INT32_MAX ||
      g->steps < 0 || g->steps > NPY_MAX_INTP / (1 + g->n_worlds) || g->stage < SAP_STAGE_NONE ||
      g->stage > SAP_STAGE_ACC) {
    return SAPWOOD_FAIL(PyExc_ValueError,
                        "n_worlds, chunk, remembered, steps or stage is out of range");
  }
  if (!PyTuple_Check(g->records)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "records must be a tuple");
  }
  if (check_callable(g->failed, "failed") < 0 || check_callable(g->acts, "acts") < 0) {
    return -1;
  }
  return 0;
}

/* Reads the states that worlds start from. */
static int take_states(const sapwood_world_batch *self, const struct given *g, npy_intp *rows,
                       sap_batch_call *call) {
  const npy_intp whole = sapwood_state_length(self, g->state_spec, "state_spec");
  const npy_intp part =
      whole < 0 ? -1 : sapwood_state_length(self, g->overlay_spec, "overlay_spec");
  const npy_intp control =
      part < 0 ? -1 : sapwood_state_length(self, g->control_spec, "control_spec");
  if (control < 0) {
    return -1;
  }
  const npy_intp memory = g->remembered > 0 ? sap_batch_memory_size(self->core, g->remembered) : 0;
  const npy_intp row = whole + g->behind + memory;
  const npy_intp overlay = g->overlay_spec == g->state_spec ? row : part;
  *rows = g->n_worlds;
  if (PyArray_Check(g->state) && PyArray_NDIM((PyArrayObject *)g->state) > 0) {
    *rows = PyArray_DIM((PyArrayObject *)g->state, 0);
  } else if (self->n_worlds >= 0) {
    *rows = self->n_worlds;
  }
  const npy_intp worlds = g->n_worlds, steps = g->steps;
  call->state = take_array(g->state, "state", NPY_DOUBLE, 2, (npy_intp[]){*rows, row}, 1);
  call->state_stride = row;
  call->remembered = g->remembered;
  call->start = take_array(g->start, "start", NPY_DOUBLE, 1, &whole, 0);
  call->keys = take_array(g->keys, "keys", NPY_INT32, 1, &worlds, 0);
  if (PyErr_Occurred() ||
      take_plane(&call->overlay, g->overlay, "overlay", (npy_intp[]){worlds, 1, overlay}) < 0 ||
      take_plane(&call->control, g->control, "control", (npy_intp[]){worlds, steps, control}) < 0) {
    return -1;
  }
  if (call->state == NULL && call->start == NULL && call->keys == NULL) {
    return SAPWOOD_FAIL(PyExc_TypeError, "one of state, start and keys must be an array");
  }
  if (self->n_worlds >= 0 && self->n_worlds != *rows) {
    return SAPWOOD_FAIL(PyExc_ValueError, "state has %zd rows, the bound fields have %lld",
                        (Py_ssize_t)*rows, (long long)self->n_worlds);
  }
  call->state_spec = g->state_spec;
  call->overlay_spec = g->overlay_spec;
  call->control_spec = g->control_spec;
  return 0;
}

static int take_outputs(const sapwood_world_batch *self, const struct given *g, npy_intp rows,
                        sap_batch_call *call) {
  const npy_intp worlds = g->n_worlds, bodies = self->n_bodies;
  call->taken = take_array(g->taken, "taken", NPY_INT64, 1, &worlds, 1);
  call->status = take_array(g->status, "status", NPY_UINT8, 1, &rows, 1);
  call->body_forces =
      take_array(g->body_forces, "body_forces", NPY_DOUBLE, 3, (npy_intp[]){rows, bodies, 3}, 1);
  call->speeds =
      take_array(g->speeds, "speeds", NPY_DOUBLE, 2, (npy_intp[]){rows, SAP_STEP_SPEEDS}, 0);
  if (PyErr_Occurred() ||
      (g->step_records != Py_None &&
       (call->step_records = sapwood_take_records(g->step_records, worlds * g->steps)) == NULL) ||
      (g->last_records != Py_None &&
       (call->last_records = sapwood_take_records(g->last_records, rows)) == NULL)) {
    return -1;
  }
  return 0;
}

static int take_arguments(const sapwood_world_batch *self, const struct given *g,
                          struct sapwood_call_room *room, sap_batch_call *call) {
  npy_intp rows;
  if (check_numbers(g) < 0 || take_states(self, g, &rows, call) < 0 ||
      take_ids(g, rows, call) < 0 || take_outputs(self, g, rows, call) < 0) {
    return -1;
  }
  call->n_worlds = g->n_worlds;
  call->chunk = g->chunk;
  call->steps = g->steps;
  call->stage = (sap_batch_stage)g->stage;
  return sapwood_take_call_records(self, g->records, room, call) < 0 ||
                 sapwood_take_call_logs(self, g->contacts, rows, room) < 0
             ? -1
             : 0;
}

/* ---- hooks ---------------------------------------------------------------------------------- */

/* A thread of a call in which callbacks of the engine may run Python. */
struct held {
  PyGILState_STATE gil;
  PyThreadState *thread;
  PyObject *error; /* exception of an act that is to be told of, or NULL */
};

struct report {
  sapwood_state *state;
  PyObject *failed;  /* callable or None */
  PyObject *acts;    /* callable or None */
  PyObject *raised;  /* exception that ends the call, or NULL; guarded by the GIL */
  struct held *held; /* (n_workers) */
  const sapwood_world_batch *batch;
  struct sap_contact_log **logs; /* (worlds of the batch) or NULL; a thread writes to its own */
  atomic_int no_memory;          /* 1: a log could not grow */
  double looked;                 /* time of the last look for signals, s */
};

/* Keeps the present exception if it is the first one. Needs the GIL. */
static void keep_exception(struct report *report) {
  PyObject *value = sapwood_take_exception();
  if (report->raised == NULL) {
    report->raised = value;
  } else {
    Py_XDECREF(value);
  }
}

/* Gives a helper a thread state, so that an exception of a callback outlives the callback. */
static void enter(void *context, int32_t worker) {
  struct report *report = context;
  if (worker > 0) {
    report->held[worker].gil = PyGILState_Ensure();
    report->held[worker].thread = PyEval_SaveThread();
  }
}

static void leave(void *context, int32_t worker) {
  struct report *report = context;
  if (worker > 0) {
    PyEval_RestoreThread(report->held[worker].thread);
    if (PyErr_Occurred()) {
      keep_exception(report);
    }
    PyGILState_Release(report->held[worker].gil);
  }
}

static int look_for_signals(void *context, int32_t worker, double now) {
  struct report *report = context;
  if (worker > 0 || now - report->looked < sapwood_signal_interval) {
    return 0;
  }
  report->looked = now;
  return sapwood_signals_interrupt(report->state);
}

/* Tells of a world that failed; an exception ends the call. */
static int tell(void *context, int32_t worker, int64_t position, int64_t step,
                const sap_mujoco_world *world) {
  struct report *report = context;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *failure = report->held[worker].error;
  report->held[worker].error = NULL;
  failure = failure == NULL ? sapwood_world_failure(world) : failure;
  PyObject *answer = failure == NULL || report->failed == Py_None
                         ? Py_XNewRef(failure)
                         : PyObject_CallFunction(report->failed, "iLLO", (int)worker,
                                                 (long long)position, (long long)step, failure);
  Py_XDECREF(failure);
  if (answer == NULL) {
    keep_exception(report);
  }
  const int ends = answer == NULL;
  Py_XDECREF(answer);
  PyGILState_Release(gil);
  return ends;
}

/* Calls acts(worker, position, act, record), whose exception is told of. */
static int act(void *context, int32_t worker, int64_t position, sap_batch_act what,
               sap_step_record *record) {
  struct report *report = context;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *memory = PyMemoryView_FromMemory((char *)record, sizeof *record, PyBUF_WRITE);
  PyObject *answer = memory == NULL ? NULL
                                    : PyObject_CallFunction(report->acts, "iLiO", (int)worker,
                                                            (long long)position, (int)what, memory);
  Py_XDECREF(memory);
  if (answer == NULL) {
    report->held[worker].error = sapwood_take_exception();
  }
  const int failed = answer == NULL;
  Py_XDECREF(answer);
  PyGILState_Release(gil);
  return failed;
}

/* Writes the contacts of a world to its log. */
static void keep_contacts(void *context, int32_t worker, int64_t world) {
  struct report *report = context;
  const sap_stepper *stepper = report->batch->steppers[worker];
  struct sap_contact_log *log = report->logs[world];
  const int64_t n = stepper->gather.problem.n_contacts;
  log->n = 0;
  sap_contact_record *room = sap_contact_log_room(log, n);
  if (room == NULL) {
    atomic_store(&report->no_memory, 1);
  } else {
    sap_stepper_contacts(stepper, room);
    log->n = n;
  }
}

/* Returns 1 if a callback is registered with the engine, which may be Python's. */
static int has_callbacks(const sap_mujoco *api) {
  int any = 0;
#define LOOK_AT(name) any |= *api->name != NULL;
  SAP_MUJOCO_CALLBACKS(LOOK_AT)
#undef LOOK_AT
  return any;
}

/* ---- the call ------------------------------------------------------------------------------- */

static PyObject *run(const sapwood_world_batch *self, const sap_batch_call *call,
                     const struct given *g, const struct sapwood_call_room *room) {
  struct report report = {.state = self->state,
                          .failed = g->failed,
                          .acts = g->acts,
                          .batch = self,
                          .logs = room->logs,
                          .looked = sap_seconds()};
  report.held = PyMem_Calloc((size_t)self->n_workers, sizeof *report.held);
  if (report.held == NULL) {
    return PyErr_NoMemory();
  }
  const int calls_python = self->n_workers > 1 && (g->acts != Py_None || has_callbacks(self->api));
  const sap_batch_hooks hooks = {.context = &report,
                                 .enter = calls_python ? enter : NULL,
                                 .leave = calls_python ? leave : NULL,
                                 .stop = g->signals ? look_for_signals : NULL,
                                 .solved = room->logs != NULL ? keep_contacts : NULL,
                                 .failed = tell,
                                 .act = g->acts != Py_None ? act : NULL};
  sap_batch_end end;
  Py_BEGIN_ALLOW_THREADS
  end = sap_batch_run(self->core, call, &hooks);
  Py_END_ALLOW_THREADS
  PyMem_Free(report.held);
  if (PyErr_Occurred()) {
    keep_exception(&report);
  }
  if (report.raised == NULL && atomic_load(&report.no_memory)) {
    return PyErr_NoMemory();
  }
  if (report.raised != NULL) {
    PyErr_SetObject((PyObject *)Py_TYPE(report.raised), report.raised);
    Py_DECREF(report.raised);
    return NULL;
  }
  return Py_BuildValue("LL", (long long)end.failed, (long long)end.notable);
}

const char sapwood_world_batch_run_doc[] =
    "run($self, /, *, n_worlds, state_spec, state=None, ids=None, steps=0, stage=0, status=None,\n"
    "    last_records=None, body_forces=None, speeds=None, contacts=None, remembered=0, chunk=1,\n"
    "    signals=False, failed=None, keys=None, start=None, overlay=None, overlay_spec=0,\n"
    "    control=None, control_spec=0, records=(), step_records=None, taken=None, acts=None,\n"
    "    behind=0)\n--\n\n"
    "Run a call as sapwood/batch.h has it. Returns the number of worlds that failed and of steps\n"
    "that are to be told of. remembered: contacts that rows of state have room for.\n"
    "records: tuples (arrays of the workers or None, spec, array (worlds, steps, ...));\n"
    "signals: whether to let signals in, which only the main thread can;\n"
    "failed(worker, position, step, failure): called for each world that fails, with a failure as\n"
    "`ModelStepper.run` has it; an exception in it ends the call and is raised.\n"
    "acts(worker, position, act, record): takes the steps, see sap_batch_hooks; its exception\n"
    "is the failure that `failed` is told of. behind: values of rows that it alone reads.";

PyObject *sapwood_world_batch_run(PyObject *object, PyObject *args, PyObject *keywords) {
  /* arguments of every call come first, since parsing ends with the last one given */
  static char *names[] = {"n_worlds",     "state_spec", "state",        "ids",          "steps",
                          "stage",        "status",     "last_records", "body_forces",  "speeds",
                          "contacts",     "remembered", "chunk",        "signals",      "failed",
                          "keys",         "start",      "overlay",      "overlay_spec", "control",
                          "control_spec", "records",    "step_records", "taken",        "acts",
                          "behind",       NULL};
  const sapwood_world_batch *self = (sapwood_world_batch *)object;
  PyObject *empty = PyTuple_New(0);
  struct given g = {OBJECTS(NONE).n_worlds = -1, .chunk = 1};
  g.records = empty;
  struct sapwood_call_room room = {0};
  sap_batch_call call = {0};
  PyObject *answer = NULL;
  if (empty != NULL &&
      PyArg_ParseTupleAndKeywords(
          args, keywords, "|$niOOniOOOOOnnpOOOOiOiOOOOn:run", names, &g.n_worlds, &g.state_spec,
          &g.state, &g.ids, &g.steps, &g.stage, &g.status, &g.last_records, &g.body_forces,
          &g.speeds, &g.contacts, &g.remembered, &g.chunk, &g.signals, &g.failed, &g.keys, &g.start,
          &g.overlay, &g.overlay_spec, &g.control, &g.control_spec, &g.records, &g.step_records,
          &g.taken, &g.acts, &g.behind) &&
      take_arguments(self, &g, &room, &call) == 0) {
    answer = run(self, &call, &g, &room);
  }
  sapwood_release_call_room(&room);
  Py_XDECREF(empty);
  return answer;
}
