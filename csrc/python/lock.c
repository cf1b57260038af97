#include "python/lock.h"

#include "python/convert.h"

int sapwood_lock_make(sapwood_lock *lock, const int *forks) {
  PyThread_type_lock made = PyThread_allocate_lock();
  if (made == NULL) {
    return sapwood_no_memory();
  }
  lock->lock = made;
  lock->forks = forks;
  atomic_store(&lock->forks_seen, *forks);
  atomic_store(&lock->holder, 0);
  lock->renewal = (sapwood_mutex){0};
  return 0;
}

void sapwood_lock_free(sapwood_lock *lock) {
  if (lock->lock != NULL) {
    PyThread_free_lock(lock->lock);
  }
}

int sapwood_lock_is_lost(sapwood_lock *lock) {
  if (lock->lock == NULL || atomic_load(&lock->forks_seen) == *lock->forks) {
    return 0;
  }
  /* nobody in this process has taken it yet */
  if (!PyThread_acquire_lock(lock->lock, NOWAIT_LOCK)) {
    return 1;
  }
  PyThread_release_lock(lock->lock);
  atomic_store(&lock->forks_seen, *lock->forks);
  return 0;
}

/* Returns 0, or -1 with RuntimeError if this thread holds the lock already. */
static int check_holder(const sapwood_lock *lock) {
  const unsigned long self = PyThread_get_thread_ident();
  if (atomic_load_explicit(&lock->holder, memory_order_relaxed) == self) {
    return SAPWOOD_FAIL(PyExc_RuntimeError,
                        "a signal handler must not use what was at work when the signal came");
  }
  return 0;
}

/* Renews what was lost in a fork, if something was. Returns 0, or -1 with an exception. */
static int renew_lost(sapwood_lock *lock, int (*renew)(void *owner), void *owner) {
  sapwood_lock fresh;
  if (!sapwood_lock_is_lost(lock)) {
    return 0;
  }
  if (sapwood_lock_make(&fresh, lock->forks) < 0) {
    return -1;
  }
  if (renew(owner) < 0) {
    sapwood_lock_free(&fresh);
    return -1;
  }
  lock->lock = fresh.lock;
  atomic_store(&lock->holder, 0);
  atomic_store(&lock->forks_seen, *lock->forks);
  return 0;
}

int sapwood_lock_be_ready(sapwood_lock *lock, int (*renew)(void *owner), void *owner) {
  if (atomic_load(&lock->forks_seen) == *lock->forks) {
    return check_holder(lock);
  }
  sapwood_mutex_take(&lock->renewal);
  const int failed = renew_lost(lock, renew, owner);
  sapwood_mutex_leave(&lock->renewal);
  return failed < 0 ? -1 : check_holder(lock);
}

void sapwood_lock_take(sapwood_lock *lock) {
  PyThread_acquire_lock(lock->lock, WAIT_LOCK);
  atomic_store_explicit(&lock->holder, PyThread_get_thread_ident(), memory_order_relaxed);
}

void sapwood_lock_leave(sapwood_lock *lock) {
  atomic_store_explicit(&lock->holder, 0, memory_order_relaxed);
  PyThread_release_lock(lock->lock);
}
