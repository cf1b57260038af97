/* What a solve cannot do without: arithmetic and memory traffic of its phases, island by island.
 *
 * Counted from the contact graph, the regions that the contacts ended in and the records of the
 * iterations; no loop of the solver counts anything. It is the least that the mathematics asks for
 * and not what this implementation does: symmetric blocks by halves, no explicit zeros, contacts
 * without impulse left out, every number read or written once per pass. A multiply-add is two
 * flops; `roots` are square roots and divisions. With n velocities of a tree, and c rows below the
 * diagonal in a column of L:
 *
 *     per evaluation (the guess and every iterate)
 *       law            34 flops and 2 roots per contact: y, gamma, cost and G
 *       products       J^T gamma: 6 n per contact that acts and tree; norms of (20): 13 per scalar
 *     per direction
 *       assembly       W = C J with G = C^T C of rank r = 3 in stiction (3 n flops), 2 sliding
 *                      (8 n); W^T W: r n (n + 1) per tree, 2 r n_a n_b per pair of trees
 *       factorization  c (c + 2) flops and 2 roots per column: the exact columns of L in the order
 *                      of the graph, (N^3/3 + N^2/2 - 5 N/6 for one tree)
 *       solves         4 c + 2 per column
 *       products       A dv: 2 n^2; J dv: 6 n per contact and tree; dots and the step: 10 per
 *                      scalar, 6 per contact
 *     per trial of a line search
 *       line search    31 flops and 2 roots per contact
 *
 * J is in its general form, a 3 x n block per contact and tree. Where regions changed on the way,
 * those at the end stand for all of it. */
#ifndef SAPWOOD_BENCHMARKS_WORK_H
#define SAPWOOD_BENCHMARKS_WORK_H

#include "sapwood.h"

enum {
  WORK_ASSEMBLY,
  WORK_FACTORIZATION,
  WORK_SOLVES,
  WORK_PRODUCTS,
  WORK_LAW,
  WORK_LINE_SEARCH,
  WORK_PHASES
};

struct operations {
  double flops, roots, bytes;
};

struct island_work {
  int32_t evaluations, directions, trials;
  double resident;                      /* bytes that an iteration touches */
  struct operations phase[WORK_PHASES]; /* over the whole solve */
};

/* Counts the work of a solve of a checked problem, whose contacts have the compliant law alone,
 * from its n records: the island (from 0 to n_islands - 1) and the trials of each. regions
 * (n_contacts) are those of the solution. islands (n_islands): as many as the solve had; one island
 * that is the whole problem counts as one. 0, or a sap_status. */
int benchmark_work(const sap_problem *problem, const int8_t *regions, int32_t n,
                   const int32_t *island, const int32_t *trials, int32_t n_islands,
                   struct island_work *islands);

#endif
