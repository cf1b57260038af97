/* The mutex of what calls of a process share: caches of the module, and renewals after a fork.
 *
 * With the GIL it is nothing, because the GIL guards these. It is held for moves of pointers and
 * numbers alone, never while Python code can run. Zeros are an open mutex. A section guards the
 * fields of one object, and Python code may run in it. */
#ifndef SAPWOOD_PYTHON_MUTEX_H
#define SAPWOOD_PYTHON_MUTEX_H

#include <Python.h>

typedef struct sapwood_mutex {
#ifdef Py_GIL_DISABLED
  PyMutex mutex;
#else
  char none;
#endif
} sapwood_mutex;

static inline void sapwood_mutex_take(sapwood_mutex *self) {
#ifdef Py_GIL_DISABLED
  PyMutex_Lock(&self->mutex);
#else
  (void)self;
#endif
}

static inline void sapwood_mutex_leave(sapwood_mutex *self) {
#ifdef Py_GIL_DISABLED
  PyMutex_Unlock(&self->mutex);
#else
  (void)self;
#endif
}

#ifdef Py_GIL_DISABLED
#define SAPWOOD_BEGIN_SECTION(object) Py_BEGIN_CRITICAL_SECTION(object)
#define SAPWOOD_END_SECTION() Py_END_CRITICAL_SECTION()
#else
#define SAPWOOD_BEGIN_SECTION(object) (void)(object)
#define SAPWOOD_END_SECTION()
#endif

#endif
