/* The lock of an object with a workspace.
 *
 * A process made by fork() has the thread that called fork() and no other: a lock that another one
 * held stays held there for ever, and what it guards stays in the middle of a change. The module
 * counts the forks between it and its import, so that an object finds that out when it is used for
 * the first time, under the GIL, and makes anew what is lost. */
#ifndef SAPWOOD_PYTHON_LOCK_H
#define SAPWOOD_PYTHON_LOCK_H

#include <Python.h>
#include <stdatomic.h>

typedef struct sapwood_lock {
  PyThread_type_lock lock;
  const int *forks;    /* of the module */
  int forks_seen;      /* when it was last looked whether the lock is lost */
  atomic_ulong holder; /* thread, or 0 */
} sapwood_lock;

/* 0, or -1 with MemoryError and nothing changed. In place of one that is lost, which is left where
 * it is, it works again. */
int sapwood_lock_make(sapwood_lock *lock, const int *forks);

/* Frees what sapwood_lock_make() made; zeros are allowed. */
void sapwood_lock_free(sapwood_lock *lock);

/* Is it held by a thread that this process does not have? Needs the GIL, and has to be asked before
 * the lock is taken. */
int sapwood_lock_is_lost(sapwood_lock *lock);

/* 0, or -1 with RuntimeError where this thread holds it already: the handler of a signal that came
 * while the object was at work must not use it. Needs the GIL. */
int sapwood_lock_check(const sapwood_lock *lock);

/* without the GIL */
void sapwood_lock_take(sapwood_lock *lock);
void sapwood_lock_leave(sapwood_lock *lock);

#endif
