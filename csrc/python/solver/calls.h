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

/* Returns the result of one call, or NULL with an exception. */
PyObject *sapwood_call_one(const sapwood_call_kind *kind, PyObject *self, PyObject *args);

/* Returns the list of the results of many calls, from a list of tuples (self, args). self is of
 * `type` or below. NULL with the exception of the first that fails, which has a note of its place
 * in `name`. A signal may interrupt the calls. */
PyObject *sapwood_call_many(sapwood_state *state, const sapwood_call_kind *kind, PyTypeObject *type,
                            const char *name, PyObject *list, int n_threads);

#endif
