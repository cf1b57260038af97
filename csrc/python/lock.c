#include "python/lock.h"

int sapwood_lock_make(sapwood_lock *lock, const int *forks) {
  PyThread_type_lock made = PyThread_allocate_lock();
  if (made == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  *lock = (sapwood_lock){made, forks, *forks};
  return 0;
}

void sapwood_lock_free(sapwood_lock *lock) {
  if (lock->lock != NULL) {
    PyThread_free_lock(lock->lock);
  }
}

int sapwood_lock_is_lost(sapwood_lock *lock) {
  if (lock->lock == NULL || lock->forks_seen == *lock->forks) {
    return 0;
  }
  /* nobody in this process has taken it yet */
  if (!PyThread_acquire_lock(lock->lock, NOWAIT_LOCK)) {
    return 1;
  }
  PyThread_release_lock(lock->lock);
  lock->forks_seen = *lock->forks;
  return 0;
}

void sapwood_lock_take(sapwood_lock *lock) { PyThread_acquire_lock(lock->lock, WAIT_LOCK); }

void sapwood_lock_leave(sapwood_lock *lock) { PyThread_release_lock(lock->lock); }
