#include "python/solver/idle.h"

#include <string.h>

#include "solver/solver_object.h"

/* upper limit of the cached memory, bytes */
enum { MOST_MEMORY = 64 << 20 };

/* Returns 1 if the solver can be reset; others have threads, or memory of libraries. */
static int can_be_reset(const sap_settings *settings) { return settings->threads == 1; }

sap_status sapwood_solver_cache_take(sapwood_solver_cache *idle, const sap_settings *settings,
                                     sap_solver **solver, sap_error *error) {
  if (idle->n == 0 || !can_be_reset(settings)) {
    return sap_solver_create(solver, settings, NULL, error);
  }
  *solver = idle->solver[--idle->n]; /* the newest one, as its memory may still be in the cache */
  idle->memory -= sap_solver_memory(*solver);
  return sap_solver_reset(*solver, settings, error);
}

static void destroy_oldest(sapwood_solver_cache *idle) {
  idle->memory -= sap_solver_memory(idle->solver[0]);
  sap_solver_destroy(idle->solver[0]);
  idle->n--;
  memmove(&idle->solver[0], &idle->solver[1], (size_t)idle->n * sizeof idle->solver[0]);
}

void sapwood_solver_cache_leave(sapwood_solver_cache *idle, sap_solver *solver) {
  if (solver == NULL || !can_be_reset(&solver->settings) ||
      sap_solver_memory(solver) > MOST_MEMORY) {
    sap_solver_destroy(solver);
    return;
  }
  idle->memory += sap_solver_memory(solver);
  while (idle->n == SAPWOOD_IDLE_SOLVERS || idle->memory > MOST_MEMORY) {
    destroy_oldest(idle);
  }
  idle->solver[idle->n++] = solver;
}

void sapwood_solver_cache_clear(sapwood_solver_cache *idle) {
  while (idle->n > 0) {
    destroy_oldest(idle);
  }
}
