/* The lock of an object with a workspace.
 *
 * A process made by fork() has only the thread that called fork(). A lock that another thread held
 * stays held there for ever, and the object under it stays in the middle of a change. The module
 * counts the forks since its import. So an object notices this at its first use, under the GIL, and
 * renews the lost parts. Without a GIL a mutex takes its place. */
#ifndef SAPWOOD_PYTHON_LOCK_H
#define SAPWOOD_PYTHON_LOCK_H

#include <stdatomic.h>

#include "python/mutex.h"

typedef struct sapwood_lock {
  PyThread_type_lock lock;
  const int *forks;      /* counter of the module */
  atomic_int forks_seen; /* counter at the last check of the lock */
  atomic_ulong holder;   /* thread that holds it, or 0 */
  sapwood_mutex renewal; /* held by the thread that checks or renews the lock after a fork */
} sapwood_lock;

/* Makes a lock. Returns 0, or -1 with MemoryError and nothing changed. */
int sapwood_lock_make(sapwood_lock *lock, const int *forks);

/* Frees a lock of sapwood_lock_make(); zeros are allowed. */
void sapwood_lock_free(sapwood_lock *lock);

/* Returns 1 if a thread that this process does not have holds the lock. Needs the GIL, before the
 * lock is taken, and no other thread that uses the object. */
int sapwood_lock_is_lost(sapwood_lock *lock);

/* Prepares an object for a call. If a thread that this process does not have holds the lock, a new
 * lock replaces it, and `renew` what that thread may have been changing; the lost parts stay where
 * they are. `renew` returns 0, or -1 with an exception and nothing changed. Returns 0, or -1 with
 * an exception: RuntimeError if this thread holds the lock already, because the handler of a signal
 * must not use an object that is at work. Needs the GIL. */
int sapwood_lock_be_ready(sapwood_lock *lock, int (*renew)(void *owner), void *owner);

/* Take and leave the lock, without the GIL. */
void sapwood_lock_take(sapwood_lock *lock);
void sapwood_lock_leave(sapwood_lock *lock);

/* Begin and end a block that has the lock and not the GIL. */
#define SAPWOOD_BEGIN_LOCKED(lock) \
  Py_BEGIN_ALLOW_THREADS           \
  sapwood_lock_take(lock);
#define SAPWOOD_END_LOCKED(lock) \
  sapwood_lock_leave(lock);      \
  Py_END_ALLOW_THREADS

#endif
