#include "python/solver/worker_pool.h"

#include "base/memory.h"

struct sap_threads *sapwood_worker_pool_take(sapwood_state *state, int n) {
  struct sap_threads *threads = state->pool_threads;
  if (threads != NULL && state->n_pool_threads == n) {
    state->pool_threads = NULL;
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
  struct sap_threads *before = state->pool_threads;
  state->pool_threads = threads;
  state->n_pool_threads = n;
  const sap_allocator memory = sap_allocator_or_default(NULL);
  sap_threads_destroy(before, &memory);
}
