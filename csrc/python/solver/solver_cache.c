#include "python/solver/solver_cache.h"

#include <string.h>

#include "solver/solver_object.h"

/* upper limit of the cached memory, bytes */
enum { MOST_MEMORY = 64 << 20 };

/* Returns 1 if the solver can be reset; others have threads, or memory of libraries. */
static int can_be_reset(const sap_settings *settings) { return settings->threads == 1; }

sap_status sapwood_solver_cache_take(sapwood_solver_cache *cache, const sap_settings *settings,
                                     sap_solver **solver, sap_error *error) {
  if (cache->n == 0 || !can_be_reset(settings)) {
    return sap_solver_create(solver, settings, NULL, error);
  }
  *solver = cache->solver[--cache->n]; /* the newest one, as its memory may still be in the cache */
  cache->memory -= sap_solver_memory(*solver);
  return sap_solver_reset(*solver, settings, error);
}

static void destroy_oldest(sapwood_solver_cache *cache) {
  cache->memory -= sap_solver_memory(cache->solver[0]);
  sap_solver_destroy(cache->solver[0]);
  cache->n--;
  memmove(&cache->solver[0], &cache->solver[1], (size_t)cache->n * sizeof cache->solver[0]);
}

void sapwood_solver_cache_leave(sapwood_solver_cache *cache, sap_solver *solver) {
  if (solver == NULL || !can_be_reset(&solver->settings) ||
      sap_solver_memory(solver) > MOST_MEMORY) {
    sap_solver_destroy(solver);
    return;
  }
  cache->memory += sap_solver_memory(solver);
  while (cache->n == SAPWOOD_CACHED_SOLVERS || cache->memory > MOST_MEMORY) {
    destroy_oldest(cache);
  }
  cache->solver[cache->n++] = solver;
}

void sapwood_solver_cache_clear(sapwood_solver_cache *cache) {
  while (cache->n > 0) {
    destroy_oldest(cache);
  }
}
