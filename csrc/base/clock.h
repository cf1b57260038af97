/* Monotonic time in seconds, for the timings in sap_solution. */
#ifndef SAPWOOD_BASE_CLOCK_H
#define SAPWOOD_BASE_CLOCK_H

double sap_seconds(void);

#endif
