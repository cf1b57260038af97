/* The tuned constants of threads, measured by
 *
 *     python -m benchmarks scaling */
#ifndef SAPWOOD_BASE_BASE_TUNING_H
#define SAPWOOD_BASE_BASE_TUNING_H

/* Time, s, that a helper without work stays awake: longer during a solve, since waking takes longer
 * than most waits, and short afterwards, in case the next solve follows at once. Longer ones burn a
 * core. */
static const double sap_awake_in_use = 1e-3, sap_awake_after_use = 50e-6;

/* A thread that waits longer than this, s, offers its core to others from time to time, and looks
 * at the clock once in so many polls: other programs on the core against a late start. */
static const double sap_patience = 30e-6;
enum { SAP_CLOCK_EVERY = 16 };

#endif
