/* Calls in three parts: arguments are read and room for results is made with the GIL, what lies
 * between runs without it, and results become objects with it again. So one call may be made, or
 * many of them on several threads, whose results do not depend on how many these are. */
#ifndef SAPWOOD_PYTHON_CALLS_H
#define SAPWOOD_PYTHON_CALLS_H

#include "python/state.h"

typedef struct sapwood_call_kind {
  size_t size; /* of a call, which is zeros before it is prepared */
  int makes;   /* is self the type of what is made, or one of these? */
  /* 0, or -1 with an exception; to be cleared either way */
  int (*prepare)(void *call, PyObject *self, PyObject *args);
  void (*run)(void *call); /* without the GIL; on any thread */
  /* the result, or NULL with an exception */
  PyObject *(*finish)(void *call);
  void (*clear)(void *call);
} sapwood_call_kind;

/* The result of one call, or NULL with an exception. */
PyObject *sapwood_call_one(const sapwood_call_kind *kind, PyObject *self, PyObject *args);

/* List of the results of many, from a list of tuples (self, args), self of or below `type`; NULL
 * with the exception of the first that fails, which has a note of its place in `name`. A signal may
 * interrupt them. */
PyObject *sapwood_call_many(sapwood_state *state, const sapwood_call_kind *kind, PyTypeObject *type,
                            const char *name, PyObject *list, int n_threads);

#endif
