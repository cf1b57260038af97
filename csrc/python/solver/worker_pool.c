#include "python/solver/worker_pool.h"

#include "base/memory.h"

struct sap_threads *sapwood_worker_pool_take(sapwood_state *state, int n) {
  struct sap_threads *threads = NULL;
  sapwood_mutex_take(&state->shared);
  if (state->n_pool_threads == n) {
    threads = state->pool_threads;
    state->pool_threads = NULL;
  }
  sapwood_mutex_leave(&state->shared);
  const sap_allocator memory = sap_allocator_or_default(NULL);
  return threads != NULL ? threads : sap_threads_create(n, &memory);
}

void sapwood_worker_pool_leave(sapwood_state *state, struct sap_threads *threads, int n) {
  if (threads == NULL) {
    return;
  }
  sap_threads_sleep(threads);
  sapwood_mutex_take(&state->shared);
  struct sap_threads *before = state->pool_threads;
  state->pool_threads = threads;
  state->n_pool_threads = n;
  sapwood_mutex_leave(&state->shared);
  const sap_allocator memory = sap_allocator_or_default(NULL);
  sap_threads_destroy(before, &memory);
}
