/* How large a problem may be. */
#ifndef SAPWOOD_PROBLEM_CAPACITY_H
#define SAPWOOD_PROBLEM_CAPACITY_H

/* contacts and rows, trees, velocities: keeps every index of the solver within 32 bits */
enum { SAP_MOST_ENTRIES = 1 << 28 };

#endif
