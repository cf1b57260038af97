#include "python/solver/calls.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "python/errors.h"
#include "python/signals.h"
#include "python/solver/worker_pool.h"

PyObject *sapwood_call_one(const sapwood_call_kind *kind, PyObject *self, PyObject *args) {
  void *call = PyMem_Calloc(1, kind->size);
  PyObject *result = NULL;
  if (call == NULL) {
    return PyErr_NoMemory();
  }
  if (kind->prepare(call, self, args) == 0) {
    Py_BEGIN_ALLOW_THREADS
    kind->run(call);
    Py_END_ALLOW_THREADS
    result = kind->finish(call);
  }
  kind->clear(call);
  PyMem_Free(call);
  return result;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

typedef struct run_state {
  sapwood_state *state;
  const sapwood_tasks *tasks;
  Py_ssize_t at_once; /* tasks that a thread takes at a time */
  double looked;      /* time of the caller's last look for signals, s */
  atomic_int stop;    /* the remaining tasks are cancelled */
} run_state;

/* Looks for signals from time to time, in the calling thread alone. */
static void look_for_signals(run_state *all) {
  const double now = sap_seconds();
  if (now - all->looked > sapwood_signal_interval) {
    all->looked = now;
    if (sapwood_signals_interrupt(all->state)) {
      atomic_store_explicit(&all->stop, 1, memory_order_relaxed);
    }
  }
}

static void run_some(void *context, int32_t part, int32_t thread) {
  run_state *all = context;
  const sapwood_tasks *tasks = all->tasks;
  const Py_ssize_t begin = part * all->at_once, end = begin + all->at_once;
  for (Py_ssize_t i = begin; i < end && i < tasks->n; i++) {
    if (atomic_load_explicit(&all->stop, memory_order_relaxed)) {
      return;
    }
    if (tasks->run(tasks->context, i, thread)) {
      atomic_store_explicit(&all->stop, 1, memory_order_relaxed);
    } else if (thread == 0) {
      look_for_signals(all);
    }
  }
}

int sapwood_tasks_threads(Py_ssize_t n, int wanted) {
  const int n_threads = wanted < SAP_MOST_THREADS ? wanted : SAP_MOST_THREADS;
  return n_threads < n ? n_threads : n > 0 ? (int)n : 1;
}

int sapwood_tasks_run(sapwood_state *state, const sapwood_tasks *tasks, int n_threads) {
  const Py_ssize_t at_once = tasks->n / (64 * (Py_ssize_t)n_threads) + 1;
  run_state all = {.state = state, .tasks = tasks, .at_once = at_once < 8 ? at_once : 8};
  const struct sap_loop loop = {run_some, &all,
                                (int32_t)((tasks->n + all.at_once - 1) / all.at_once)};
  struct sap_threads *threads = NULL;
  if (n_threads > 1 && (threads = sapwood_worker_pool_take(state, n_threads)) == NULL) {
    return sapwood_no_memory();
  }
  Py_BEGIN_ALLOW_THREADS
  all.looked = sap_seconds();
  if (threads != NULL) {
    sap_threads_wake(threads);
  }
  sap_threads_run(threads, &loop);
  Py_END_ALLOW_THREADS
  sapwood_worker_pool_leave(state, threads, n_threads);
  return atomic_load(&all.stop) ? -1 : 0;
}

/* ---- many calls ------------------------------------------------------------------------------ */

typedef struct calls {
  const sapwood_call_kind *kind;
  char *call; /* (n) calls of kind->size bytes each */
  Py_ssize_t n;
} calls;

static void *call_at(const calls *all, Py_ssize_t i) {
  return all->call + (size_t)i * all->kind->size;
}

static int run_call(void *context, Py_ssize_t i, int32_t thread) {
  const calls *all = context;
  (void)thread;
  all->kind->run(call_at(all, i));
  return 0;
}

/* Prepares one call. Returns 0, or -1 with an exception. */
static int prepare_one(const calls *all, PyTypeObject *type, PyObject *item, void *call) {
  PyObject *self, *args;
  if (!PyTuple_Check(item)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "calls must be tuples");
  }
  if (!PyArg_ParseTuple(item, "OO!", &self, &PyTuple_Type, &args)) {
    return -1;
  }
  const int fits = all->kind->makes
                       ? PyType_Check(self) && PyType_IsSubtype((PyTypeObject *)self, type)
                       : PyObject_TypeCheck(self, type);
  if (!fits) {
    return SAPWOOD_FAIL(PyExc_TypeError, "calls must be of %s", type->tp_name);
  }
  return all->kind->prepare(call, self, args);
}

/* Reads all arguments. Returns 0, or -1 with an exception. */
static int prepare_all(const calls *all, PyTypeObject *type, PyObject *list, const char *name) {
  for (Py_ssize_t i = 0; i < all->n; i++) {
    if (prepare_one(all, type, PyList_GET_ITEM(list, i), call_at(all, i)) < 0) {
      sapwood_note_place(name, i);
      return -1;
    }
  }
  return 0;
}

static PyObject *finish_all(const calls *all, const char *name) {
  PyObject *results = PyList_New(all->n);
  for (Py_ssize_t i = 0; i < all->n && results != NULL; i++) {
    PyObject *result = all->kind->finish(call_at(all, i));
    if (result == NULL) {
      sapwood_note_place(name, i);
      Py_CLEAR(results);
      break;
    }
    PyList_SET_ITEM(results, i, result);
  }
  return results;
}

PyObject *sapwood_call_many(sapwood_state *state, const sapwood_call_kind *kind, PyTypeObject *type,
                            const char *name, PyObject *list, int n_threads) {
  /* another thread may change the list meanwhile */
  PyObject *mine = PyList_GetSlice(list, 0, PY_SSIZE_T_MAX), *results = NULL;
  const Py_ssize_t n = mine == NULL ? 0 : PyList_GET_SIZE(mine);
  if (mine == NULL || n > INT32_MAX || n_threads < 1) {
    if (mine != NULL) {
      PyErr_SetString(PyExc_ValueError, "at least one thread, and not too many calls");
    }
    Py_XDECREF(mine);
    return NULL;
  }
  calls all = {kind, PyMem_Calloc((size_t)n + 1, kind->size), n};
  const sapwood_tasks tasks = {run_call, &all, n};
  if (all.call == NULL) {
    PyErr_NoMemory();
  } else if (prepare_all(&all, type, mine, name) == 0 &&
             sapwood_tasks_run(state, &tasks, sapwood_tasks_threads(n, n_threads)) == 0) {
    results = finish_all(&all, name);
  }
  for (Py_ssize_t i = 0; all.call != NULL && i < n; i++) {
    kind->clear(call_at(&all, i));
  }
  PyMem_Free(all.call);
  Py_XDECREF(mine);
  return results;
}
