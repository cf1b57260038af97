/* The tuned constant of loops over triples, which changes sums by round-off alone. One command
 * measures it against another revision of the sources:
 *
 *     python -m benchmarks noise FOLDER --against REV */
#ifndef SAPWOOD_CONSTRAINTS_CONSTRAINTS_TUNING_H
#define SAPWOOD_CONSTRAINTS_CONSTRAINTS_TUNING_H

/* Triples of a round: fewer begin loops more often, more of them leave the first-level cache. A
 * multiple of the width of vectors. */
enum { SAP_ROUND = 64 };

#endif
