/* The worker pool: threads of a call over many objects. They sleep until the next call that asks
 * for as many, because their creation takes longer than a few small solves. */
#ifndef SAPWOOD_PYTHON_WORKER_POOL_H
#define SAPWOOD_PYTHON_WORKER_POOL_H

#include "base/threads.h"
#include "python/state.h"

/* Returns n threads, those of the call before if it had as many. NULL if memory ran out. */
struct sap_threads *sapwood_worker_pool_take(sapwood_state *state, int n);

/* Gives n threads back; NULL is allowed. */
void sapwood_worker_pool_leave(sapwood_state *state, struct sap_threads *threads, int n);

#endif
