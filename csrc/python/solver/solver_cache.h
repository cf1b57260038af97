/* The solver cache: unused solvers for later calls. sapwood.solve() takes one per call, because
 * fresh pages from the system would cost it more than a small solve. A cached solver has forgotten
 * its problems and keeps its memory.
 *
 * All functions need the GIL, or take the mutex of a module without one. */
#ifndef SAPWOOD_PYTHON_SOLVER_CACHE_H
#define SAPWOOD_PYTHON_SOLVER_CACHE_H

#include "python/mutex.h"
#include "python/python_tuning.h"
#include "sapwood.h"

typedef struct sapwood_solver_cache {
  sapwood_mutex mutex;
  sap_solver *solver[SAPWOOD_CACHED_SOLVERS]; /* solvers, the newest last */
  int n;
  size_t memory; /* memory of all solvers, bytes */
} sapwood_solver_cache;

/* Returns a solver in the state that sap_solver_create() gives. */
sap_status sapwood_solver_cache_take(sapwood_solver_cache *cache, const sap_settings *settings,
                                     sap_solver **solver, sap_error *error);

/* Takes back a solver, in place of sap_solver_destroy(); NULL is allowed. */
void sapwood_solver_cache_leave(sapwood_solver_cache *cache, sap_solver *solver);

void sapwood_solver_cache_clear(sapwood_solver_cache *cache);

#endif
