/* This module limits the size of a problem. */
#ifndef SAPWOOD_PROBLEM_CAPACITY_H
#define SAPWOOD_PROBLEM_CAPACITY_H

/* largest number of contacts and rows, trees, velocities; keeps indices within 32 bits */
enum { SAP_MOST_ENTRIES = 1 << 28 };

#endif
