/* The tuned constants of the extension module. One command measures whole calls from Python:
 *
 *     python -m benchmarks solvers FOLDER */
#ifndef SAPWOOD_PYTHON_PYTHON_TUNING_H
#define SAPWOOD_PYTHON_PYTHON_TUNING_H

/* Time between two looks for signals, s: a look takes the GIL, which other threads may hold, and
 * Ctrl-C waits for the next one. */
static const double sapwood_signal_interval = 0.05;

/* Limits of the solver cache, solvers and bytes: memory that is kept against fresh pages from the
 * system for a solve. */
enum { SAPWOOD_CACHED_SOLVERS = 16, SAPWOOD_CACHED_MEMORY = 64 << 20 };

#endif
