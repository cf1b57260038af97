#include "python/solver/solver_cache.h"

#include <string.h>

#include "solver/solver_object.h"

/* Returns 1 if the solver can be reset; others have threads, or memory of libraries. */
static int can_be_reset(const sap_settings *settings) { return settings->threads == 1; }

/* Returns the newest solver, whose memory may still be in the cache of the processor, or NULL. */
static sap_solver *take_newest(sapwood_solver_cache *cache) {
  sap_solver *solver = NULL;
  sapwood_mutex_take(&cache->mutex);
  if (cache->n > 0) {
    solver = cache->solver[--cache->n];
    cache->memory -= sap_solver_memory(solver);
  }
  sapwood_mutex_leave(&cache->mutex);
  return solver;
}

sap_status sapwood_solver_cache_take(sapwood_solver_cache *cache, const sap_settings *settings,
                                     sap_solver **solver, sap_error *error) {
  *solver = can_be_reset(settings) ? take_newest(cache) : NULL;
  return *solver == NULL ? sap_solver_create(solver, settings, NULL, error)
                         : sap_solver_reset(*solver, settings, error);
}

static void destroy_oldest(sapwood_solver_cache *cache) {
  sap_solver *oldest = cache->solver[0];
  cache->n--;
  memmove(&cache->solver[0], &cache->solver[1], (size_t)cache->n * sizeof cache->solver[0]);
  cache->memory -= sap_solver_memory(oldest);
  sap_solver_destroy(oldest);
}

void sapwood_solver_cache_leave(sapwood_solver_cache *cache, sap_solver *solver) {
  if (solver == NULL || !can_be_reset(&solver->settings) ||
      sap_solver_memory(solver) > SAPWOOD_CACHED_MEMORY) {
    sap_solver_destroy(solver);
    return;
  }
  sapwood_mutex_take(&cache->mutex);
  cache->memory += sap_solver_memory(solver);
  while (cache->n == SAPWOOD_CACHED_SOLVERS || cache->memory > SAPWOOD_CACHED_MEMORY) {
    destroy_oldest(cache);
  }
  cache->solver[cache->n++] = solver;
  sapwood_mutex_leave(&cache->mutex);
}

void sapwood_solver_cache_clear(sapwood_solver_cache *cache) {
  while (cache->n > 0) {
    destroy_oldest(cache);
  }
}
