/* The tuned constants of loops over triples and of friction at rest. */
#ifndef SAPWOOD_CONSTRAINTS_CONSTRAINTS_TUNING_H
#define SAPWOOD_CONSTRAINTS_CONSTRAINTS_TUNING_H

/* Triples of a round: fewer begin loops more often, more of them leave the first-level cache. A
 * multiple of the width of vectors, which changes sums by round-off alone;
 * `python -m benchmarks noise FOLDER --against REV`. */
enum { SAP_ROUND = 64 };

/* V_s over the creep by sigma under a load, below which sigma grows more slowly (slip_sigma.h): a
 * creep under a heavy load falls to this share in a step, against iterations in piles of unequal
 * masses; `python -m benchmarks piles`. */
static const double sap_creep_margin = 4.0;

#endif
