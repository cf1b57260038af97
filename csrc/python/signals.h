/* Ctrl-C during a solve: the main thread looks for signals some twenty times a second. Their
 * handlers run while the lock of the solver is held, see lock.h. */
#ifndef SAPWOOD_PYTHON_SIGNALS_H
#define SAPWOOD_PYTHON_SIGNALS_H

#include "python/python_tuning.h"
#include "python/state.h"

/* Handles signals with the GIL: returns 1 with an exception if one of them interrupts, else 0. In
 * threads that receive no signals it always returns 0. Called without the GIL. `state` is that of
 * the module. */
int sapwood_signals_interrupt(void *state);

/* Returns the interrupt of solves; an interrupted solve raises the exception of the handler. */
sap_interrupt sapwood_interrupt_of(sapwood_state *state);

/* Sets this interrupt in a solver. */
void sapwood_watch_signals(sap_solver *solver, sapwood_state *state);

#endif
