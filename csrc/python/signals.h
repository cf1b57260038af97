/* Ctrl-C in the middle of a solve: the thread that signals are for looks for them some twenty times
 * a second. Their handlers run while the lock of the solver is held, see lock.h. */
#ifndef SAPWOOD_PYTHON_SIGNALS_H
#define SAPWOOD_PYTHON_SIGNALS_H

#include "python/state.h"

#define SAPWOOD_SIGNAL_INTERVAL 0.05 /* s between two looks */

/* Lets signals in, with the GIL: 1 with an exception where one of them wants to interrupt, else 0,
 * always in threads that signals are not for. Without the GIL. `state` is that of the module. */
int sapwood_signals_interrupt(void *state);

/* The interrupt of solves that end there: they raise what the handler has raised. */
sap_interrupt sapwood_interrupt_of(sapwood_state *state);

/* Sets it in a solver. */
void sapwood_watch_signals(sap_solver *solver, sapwood_state *state);

/* Notes which thread signals are for. 0, or -1 with an exception. */
int sapwood_find_main_thread(PyObject *module);

#endif
