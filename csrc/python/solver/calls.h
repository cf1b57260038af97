/* Calls in three parts. The first reads arguments and allocates results with the GIL. The second
 * runs without it. The third makes objects of the results with it again. So one call may be made,
 * or many on several threads; the results do not depend on the number of threads. */
#ifndef SAPWOOD_PYTHON_CALLS_H
#define SAPWOOD_PYTHON_CALLS_H

#include "python/state.h"

typedef struct sapwood_call_kind {
  size_t size; /* size of a call, which is zeroed before `prepare` */
  int makes;   /* 1: self is the type of the new object; 0: an instance */
  /* returns 0, or -1 with an exception; `clear` follows either way */
  int (*prepare)(void *call, PyObject *self, PyObject *args);
  void (*run)(void *call); /* runs without the GIL, on any thread */
  /* returns the result, or NULL with an exception */
  PyObject *(*finish)(void *call);
  void (*clear)(void *call);
} sapwood_call_kind;

/* Independent tasks 0 to n - 1. `run` has no GIL; any value except 0 ends the tasks. */
typedef struct sapwood_tasks {
  int (*run)(void *context, Py_ssize_t task, int32_t thread);
  void *context;
  Py_ssize_t n; /* less than 2^31 */
} sapwood_tasks;

/* Returns the number of threads for n tasks, at most as many as are wanted. */
int sapwood_tasks_threads(Py_ssize_t n, int wanted);

/* Runs the tasks on threads of the pool, in ascending order on each. Returns 0, or -1 if they were
 * ended: by `run`, or by a signal or lack of memory with an exception. */
int sapwood_tasks_run(sapwood_state *state, const sapwood_tasks *tasks, int n_threads);

/* Returns the result of one call, or NULL with an exception. */
PyObject *sapwood_call_one(const sapwood_call_kind *kind, PyObject *self, PyObject *args);

/* Returns the list of the results of many calls, from a list of tuples (self, args). self is of
 * `type` or below. NULL with the exception of the first that fails, which has a note of its place
 * in `name`. A signal may interrupt the calls. */
PyObject *sapwood_call_many(sapwood_state *state, const sapwood_call_kind *kind, PyTypeObject *type,
                            const char *name, PyObject *list, int n_threads);

#endif
