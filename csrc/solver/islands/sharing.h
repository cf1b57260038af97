/* How threads share the islands of a problem.
 *
 * Islands are divided into runs once for each graph: an expensive island is a run by itself, cheap
 * ones are runs of neighbours. Before each solve every thread gets a queue, whose runs cost about
 * as much as those of the others: first expensive ones, then neighbours, almost the same in every
 * solve of a graph, so that it finds their data in its cache. What they cost is known from the
 * solve before. Whoever is done with its own queue takes from the ends of the others. */
#ifndef SAPWOOD_SOLVER_ISLANDS_SHARING_H
#define SAPWOOD_SOLVER_ISLANDS_SHARING_H

#include <stdatomic.h>

#include "problem/graph/graph.h"

/* islands [begin, end), which one thread solves */
struct sap_run {
  int32_t begin, end;
  struct sap_run *next; /* of those that the same thread has solved */
  double work; /* what the solve before spent on it; in the first one what an iteration costs */
};

/* What is left to a thread: places of `order`, begin << 32 | end. No two queues share a cache
 * line. */
struct sap_queue {
  _Alignas(SAP_ALIGNMENT) _Atomic uint64_t left;
  double work;            /* of all its runs */
  struct sap_run *solved; /* by its thread, and not written yet */
  int32_t n_expensive;
  int32_t next; /* place for its next expensive run, while runs are divided */
};

struct sap_sharing {
  int32_t n_threads;       /* that a solve may use; with one of them there are no runs */
  double *work;            /* (n_islands) what an iteration costs */
  struct sap_run *run;     /* (n_runs) expensive ones by powers of 2, then the others in order */
  int32_t *home;           /* (n_expensive) whose queue */
  struct sap_queue *queue; /* (n_threads) */
  int32_t *order;          /* (n_runs) runs by queue */
  int32_t n_runs, n_expensive;
  double total, longest; /* what an iteration of all runs costs, and of the longest */
};

void sap_sharing_carve(struct sap_sharing *sharing, struct sap_arena *arena, int32_t n_islands);

/* divides the islands of a new graph into runs */
void sap_sharing_plan(struct sap_sharing *sharing, const struct sap_graph *graph);

/* Do several threads save more time than it takes to wake them? */
int sap_sharing_pays(const struct sap_sharing *sharing);

/* fills the queues */
void sap_sharing_divide(struct sap_sharing *sharing);

/* the next run for a thread; NULL where none is left */
struct sap_run *sap_sharing_take(struct sap_sharing *sharing, int32_t thread);

#endif
