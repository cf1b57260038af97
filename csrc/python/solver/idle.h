/* Solvers that nobody uses any more, kept for the next ones: sapwood.solve() takes one per call,
 * and fresh pages from the system would cost it more than a small solve. What they solved before is
 * forgotten, their memory is not.
 *
 * All this needs the GIL, and so no lock that a fork could leave behind. */
#ifndef SAPWOOD_PYTHON_IDLE_H
#define SAPWOOD_PYTHON_IDLE_H

#include "sapwood.h"

enum { SAPWOOD_IDLE_SOLVERS = 16 };

typedef struct sapwood_solver_cache {
  sap_solver *solver[SAPWOOD_IDLE_SOLVERS]; /* the newest last */
  int n;
  size_t memory; /* of all, in bytes */
} sapwood_solver_cache;

/* a solver as sap_solver_create() makes it */
sap_status sapwood_solver_cache_take(sapwood_solver_cache *idle, const sap_settings *settings,
                                     sap_solver **solver, sap_error *error);

/* in place of sap_solver_destroy(); NULL is allowed */
void sapwood_solver_cache_leave(sapwood_solver_cache *idle, sap_solver *solver);

void sapwood_solver_cache_clear(sapwood_solver_cache *idle);

#endif
