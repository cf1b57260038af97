/* Threads of a call over many objects. They stay for the next one that asks for as many, asleep:
 * making them takes longer than a few small solves. */
#ifndef SAPWOOD_PYTHON_CREW_H
#define SAPWOOD_PYTHON_CREW_H

#include "base/threads.h"
#include "python/state.h"

/* n threads, those of the call before where it had as many. NULL when memory ran out. */
struct sap_threads *sapwood_worker_pool_take(sapwood_state *state, int n);

/* Gives n threads back; NULL is allowed. */
void sapwood_worker_pool_leave(sapwood_state *state, struct sap_threads *threads, int n);

#endif
