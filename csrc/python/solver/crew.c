#include "python/solver/crew.h"

#include "base/memory.h"

struct sap_threads *sapwood_worker_pool_take(sapwood_state *state, int n) {
  struct sap_threads *threads = state->idle_threads;
  if (threads != NULL && state->n_idle_threads == n) {
    state->idle_threads = NULL;
    return threads;
  }
  const sap_allocator memory = sap_allocator_or_default(NULL);
  return sap_threads_create(n, &memory);
}

void sapwood_worker_pool_leave(sapwood_state *state, struct sap_threads *threads, int n) {
  if (threads == NULL) {
    return;
  }
  sap_threads_sleep(threads);
  struct sap_threads *before = state->idle_threads;
  state->idle_threads = threads;
  state->n_idle_threads = n;
  const sap_allocator memory = sap_allocator_or_default(NULL);
  sap_threads_destroy(before, &memory);
}
