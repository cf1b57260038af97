#include "idle.h"

#include <string.h>

#include "sap/solver.h"

/* most that is kept, in bytes */
enum { MOST_MEMORY = 64 << 20 };

/* others have threads, or memory of libraries */
static int can_be_renewed(const sap_settings *settings) {
  return settings->threads == 1 && settings->factorization == SAP_SUPERNODAL;
}

sap_status sapwood_idle_take(sapwood_idle *idle, const sap_settings *settings, sap_solver **solver,
                             sap_error *error) {
  if (idle->n == 0 || !can_be_renewed(settings)) {
    return sap_solver_create(solver, settings, NULL, error);
  }
  *solver = idle->solver[--idle->n]; /* whose memory may still be in the cache */
  return sap_solver_renew(*solver, settings, error);
}

static size_t memory_of(const sapwood_idle *idle) {
  size_t bytes = 0;
  for (int i = 0; i < idle->n; i++) {
    bytes += sap_solver_memory(idle->solver[i]);
  }
  return bytes;
}

/* the oldest ones make room */
void sapwood_idle_leave(sapwood_idle *idle, sap_solver *solver) {
  const size_t bytes = solver == NULL ? 0 : sap_solver_memory(solver);
  if (bytes > MOST_MEMORY || solver == NULL || !can_be_renewed(&solver->settings)) {
    sap_solver_destroy(solver);
    return;
  }
  while (idle->n == SAPWOOD_IDLE_SOLVERS || memory_of(idle) > MOST_MEMORY - bytes) {
    sap_solver_destroy(idle->solver[0]);
    idle->n--;
    memmove(&idle->solver[0], &idle->solver[1], (size_t)idle->n * sizeof idle->solver[0]);
  }
  idle->solver[idle->n++] = solver;
}

void sapwood_idle_clear(sapwood_idle *idle) {
  while (idle->n > 0) {
    sap_solver_destroy(idle->solver[--idle->n]);
  }
}
