/* _core.solve_batch: many problems on several threads.
 *
 * The calling thread does everything that needs Python. It makes room for result after result,
 * which helpers fill behind it without the GIL. Then it turns finished results into Python objects,
 * in order; if the next one is not finished it solves another itself. Without helpers it goes
 * through the problems one by one. */
#include "python/parts.h"

#include <math.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "python/errors.h"
#include "python/problem/py_problem.h"
#include "python/signals.h"
#include "python/solver/calls.h"
#include "python/solver/worker_pool.h"
#include "python/solver/py_settings.h"
#include "python/solver/solution.h"

typedef struct entry {
  const sapwood_problem *problem; /* borrowed from the list */
  PyArrayObject *guess;           /* or NULL */
  const double *v_guess;          /* (nv) data of the guess, or NULL */
  sapwood_result result;
  sapwood_records records;
  sap_status status;
  sap_error error;
  double seconds;
  atomic_int done;
} entry;

typedef struct batch {
  entry *entries;               /* (n) from PyMem_Malloc */
  PyObject *problems, *guesses; /* lists (n) that no other code can reach */
  Py_ssize_t n;
  int n_threads;
  sap_solver *solver[SAP_MOST_THREADS]; /* solver of each thread */
  int record_history;
  Py_ssize_t at_once; /* problems per task, so that threads rarely share the memory they write */
  _Atomic Py_ssize_t ready; /* number of entries with room for results, or that never get it */
  atomic_int stop;          /* the remaining problems are cancelled */
  int interrupted;          /* a signal has come: the caller has an exception */
} batch;

/* Returns 1 if a solve on a helper must end. */
static int is_stopped(void *context) {
  return atomic_load_explicit(&((batch *)context)->stop, memory_order_relaxed);
}

/* ---- without the GIL ------------------------------------------------------------------------- */

static void solve_entry(batch *all, Py_ssize_t i, int32_t thread) {
  entry *e = &all->entries[i];
  sap_solver *solver = all->solver[thread];
  struct sap_wait wait = {0};
  while (atomic_load_explicit(&all->ready, memory_order_acquire) <= i) {
    sap_wait_a_little(&wait);
  }
  if (e->problem != NULL && !atomic_load_explicit(&all->stop, memory_order_relaxed)) {
    const double start = sap_seconds();
    e->status =
        sap_solver_solve(solver, &e->problem->problem, e->v_guess, &e->result.solution, &e->error);
    e->seconds = sap_seconds() - start;
    if (thread == 0 && e->status == SAP_INTERRUPTED) {
      all->interrupted = 1;
    }
    if (e->status == SAP_OK && all->record_history) {
      e->status = sapwood_copy_history(solver, &e->records);
    }
  }
  atomic_store_explicit(&e->done, 1, memory_order_release);
}

static void solve_entries(void *context, int32_t task, int32_t thread) {
  batch *all = context;
  const Py_ssize_t begin = task * all->at_once, end = begin + all->at_once;
  for (Py_ssize_t i = begin; i < end && i < all->n; i++) {
    solve_entry(all, i, thread);
  }
}

/* ---- with the GIL ---------------------------------------------------------------------------- */

static void clear_entry(entry *e) {
  Py_CLEAR(e->guess);
  sapwood_result_clear(&e->result);
  PyMem_RawFree(e->records.copy);
  e->records.copy = NULL;
}

/* Makes room for the results of problem i. Returns 0, or -1 with an exception and no problem in the
 * entry. */
static int prepare_entry(const sapwood_state *state, const batch *all, Py_ssize_t i) {
  entry *e = &all->entries[i];
  e->problem = sapwood_as_problem(state, PyList_GET_ITEM(all->problems, i));
  if (e->problem == NULL ||
      sapwood_read_guess(e->problem, PyList_GET_ITEM(all->guesses, i), &e->guess, &e->v_guess) <
          0 ||
      sapwood_result_allocate(&e->result, &e->problem->problem, &e->problem->sizes) < 0) {
    e->problem = NULL;
    sapwood_note_place("problems", i);
    return -1;
  }
  return 0;
}

/* Puts the solution of problem i into the list; it takes over the arrays of the entry. Returns 0,
 * or -1 with an exception. */
static int finish_entry(const sapwood_state *state, const batch *all, Py_ssize_t i,
                        PyObject *list) {
  entry *e = &all->entries[i];
  PyObject *solution = NULL;
  if (!all->interrupted && PyErr_CheckSignals() == 0 && sapwood_raise(e->status, &e->error) == 0) {
    solution = sapwood_solution(state, &e->result, &e->problem->problem, e->seconds,
                                all->record_history ? &e->records : NULL);
    clear_entry(e);
  }
  if (solution == NULL) {
    sapwood_note_place("problems", i);
    return -1;
  }
  PyList_SET_ITEM(list, i, solution);
  return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Fills the list with solutions. Returns 0, or -1 with an exception. */
static int run_alone(const sapwood_state *state, batch *all, PyObject *list) {
  for (Py_ssize_t i = 0; i < all->n; i++) {
    if (prepare_entry(state, all, i) < 0) {
      return -1;
    }
    all->ready = i + 1;
    Py_BEGIN_ALLOW_THREADS
    solve_entry(all, i, 0);
    Py_END_ALLOW_THREADS
    if (finish_entry(state, all, i, list) < 0) {
      return -1;
    }
  }
  return 0;
}

/* Waits for problem i, and solves others meanwhile, until a signal interrupts it. */
static void wait_for(sapwood_state *state, batch *all, struct sap_threads *threads, Py_ssize_t i) {
  struct sap_wait wait = {0};
  double looked = 0; /* value of wait.lasted at the last look for signals */
  while (!all->interrupted && !atomic_load_explicit(&all->entries[i].done, memory_order_acquire)) {
    if (sap_threads_help(threads)) {
      wait = (struct sap_wait){0};
      looked = 0;
    } else {
      sap_wait_a_little(&wait);
    }
    if (wait.lasted - looked > sapwood_signal_interval) {
      looked = wait.lasted;
      all->interrupted |= sapwood_signals_interrupt(state);
    }
  }
}

/* Puts the solutions of the first n problems into the list. Returns 0, or -1 with an exception. */
static int collect(sapwood_state *state, batch *all, Py_ssize_t n, PyObject *list,
                   struct sap_threads *threads) {
  for (Py_ssize_t i = 0; i < n; i++) {
    if (!atomic_load_explicit(&all->entries[i].done, memory_order_acquire)) {
      Py_BEGIN_ALLOW_THREADS
      wait_for(state, all, threads, i);
      Py_END_ALLOW_THREADS
    }
    if (finish_entry(state, all, i, list) < 0) {
      return -1;
    }
  }
  return 0;
}

/* Does the same with helpers. */
static int run_shared(sapwood_state *state, batch *all, PyObject *list,
                      struct sap_threads *threads) {
  const struct sap_loop loop = {solve_entries, all,
                                (int32_t)((all->n + all->at_once - 1) / all->at_once)};
  PyObject *type = NULL, *value = NULL, *traceback = NULL;
  sap_threads_wake(threads);
  sap_threads_open(threads, &loop);
  /* a wrong argument counts once all problems before it have been solved */
  Py_ssize_t n = 0;
  while (n < all->n && prepare_entry(state, all, n) == 0) {
    atomic_store_explicit(&all->ready, ++n, memory_order_release);
  }
  PyErr_Fetch(&type, &value, &traceback);
  atomic_store_explicit(&all->ready, all->n, memory_order_release);
  int failed = collect(state, all, n, list, threads);
  atomic_store_explicit(&all->stop, 1, memory_order_relaxed);
  Py_BEGIN_ALLOW_THREADS
  sap_threads_finish(threads, &loop);
  Py_END_ALLOW_THREADS
  if (failed == 0 && type != NULL) {
    PyErr_Restore(type, value, traceback);
    return -1;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return failed;
}

/* Takes a solver for each thread; the first one looks for signals. Returns 0, or -1 with an
 * exception. */
static int take_solvers(sapwood_state *state, batch *all, const sap_settings *settings) {
  for (int k = 0; k < all->n_threads; k++) {
    sap_error error = {0};
    if (sapwood_raise(
            sapwood_solver_cache_take(&state->solver_cache, settings, &all->solver[k], &error),
            &error) < 0) {
      return -1;
    }
    if (k == 0) {
      sapwood_watch_signals(all->solver[k], state);
    } else {
      sap_solver_set_interrupt(all->solver[k], &(sap_interrupt){is_stopped, all, 0});
    }
  }
  return 0;
}

/* Keeps copies of the lists, which other threads may change, and makes the entries. Returns 0, or
 * -1 with an exception. */
static int open_batch(batch *all, PyObject *problems, PyObject *guesses) {
  all->problems = PyList_GetSlice(problems, 0, all->n);
  all->guesses = PyList_GetSlice(guesses, 0, all->n);
  all->entries = PyMem_Calloc((size_t)all->n + 1, sizeof *all->entries);
  if (all->problems == NULL || all->guesses == NULL || all->entries == NULL) {
    return sapwood_no_memory();
  }
  if (PyList_GET_SIZE(all->problems) != all->n || PyList_GET_SIZE(all->guesses) != all->n) {
    return SAPWOOD_FAIL(PyExc_RuntimeError, "another thread has shortened the lists");
  }
  return 0;
}

static void close_batch(sapwood_state *state, batch *all) {
  for (int k = 0; k < all->n_threads; k++) {
    sapwood_solver_cache_leave(&state->solver_cache, all->solver[k]);
  }
  for (Py_ssize_t i = 0; all->entries != NULL && i < all->n; i++) {
    clear_entry(&all->entries[i]);
  }
  PyMem_Free(all->entries);
  Py_XDECREF(all->problems);
  Py_XDECREF(all->guesses);
}

/* Solves all problems on the threads. Returns a new list of solutions, or NULL with an
 * exception. */
static PyObject *solve_all(sapwood_state *state, batch *all) {
  struct sap_threads *threads = NULL;
  if (all->n_threads > 1 && (threads = sapwood_worker_pool_take(state, all->n_threads)) == NULL) {
    return PyErr_NoMemory();
  }
  PyObject *list = PyList_New(all->n);
  if (list != NULL &&
      (threads == NULL ? run_alone(state, all, list) : run_shared(state, all, list, threads)) < 0) {
    Py_CLEAR(list);
  }
  sapwood_worker_pool_leave(state, threads, all->n_threads);
  return list;
}

PyDoc_STRVAR(
    solve_batch_doc,
    "solve_batch(problems, v_guesses, settings, threads, /)\n--\n\n"
    "Solve the Problems of a list from the v_guesses of another. Returns a list of Solutions.");

static PyObject *solve_batch(PyObject *module, PyObject *args) {
  sapwood_state *state = sapwood_state_of_module(module);
  PyObject *problems, *guesses, *settings_object, *list = NULL;
  int wanted;
  sap_settings settings;
  if (!PyArg_ParseTuple(args, "O!O!Oi:solve_batch", &PyList_Type, &problems, &PyList_Type, &guesses,
                        &settings_object, &wanted) ||
      sapwood_load_settings(state, &settings_object, &settings) < 0) {
    return NULL;
  }
  const Py_ssize_t n = PyList_GET_SIZE(problems);
  if (PyList_GET_SIZE(guesses) != n || n > INT32_MAX || wanted < 1) {
    return PyErr_Format(PyExc_ValueError, "one guess per problem, and a thread");
  }
  const int n_threads = sapwood_tasks_threads(n, wanted);
  batch all = {.n = n,
               .n_threads = n_threads,
               .record_history = settings.record_history,
               .at_once = n / (64 * (Py_ssize_t)n_threads) + 1};
  all.at_once = all.at_once < 8 ? all.at_once : 8;
  if (open_batch(&all, problems, guesses) == 0 && take_solvers(state, &all, &settings) == 0) {
    list = solve_all(state, &all);
  }
  close_batch(state, &all);
  return list;
}

static PyMethodDef methods[] = {{"solve_batch", solve_batch, METH_VARARGS, solve_batch_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_batch(PyObject *module) { return PyModule_AddFunctions(module, methods); }
