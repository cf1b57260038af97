/* Divides the islands of a problem among threads.
 *
 * Islands are divided into runs once for each graph: an expensive island is a run by itself, cheap
 * ones form runs of neighbours. Before each solve every thread gets a queue, and all queues cost
 * about the same. A queue has expensive runs first, then neighbours; it changes little between
 * solves of a graph, so that its thread finds the data in its cache. The previous solve measures
 * the cost of each run. A thread that has emptied its queue takes from the ends of the others. */
#ifndef SAPWOOD_SOLVER_ISLANDS_SHARING_H
#define SAPWOOD_SOLVER_ISLANDS_SHARING_H

#include <stdatomic.h>

#include "problem/graph/graph.h"

/* Islands [begin, end), which one thread solves. */
struct sap_run {
  int32_t begin, end;
  struct sap_run *next; /* next run that the same thread has solved */
  double work;          /* cost in the previous solve; initially the cost of an iteration */
};

/* The remaining runs of a thread: places of `order`, begin << 32 | end. No two queues share a cache
 * line. */
struct sap_queue {
  _Alignas(SAP_ALIGNMENT) _Atomic uint64_t left;
  double work;            /* cost of all its runs */
  struct sap_run *solved; /* runs solved by its thread, not written yet */
  int32_t n_expensive;
  int32_t next; /* place of its next expensive run, while runs are divided */
};

struct sap_sharing {
  int32_t n_threads;       /* upper limit for a solve; with one thread there are no runs */
  double *work;            /* (n_islands) cost of an iteration */
  struct sap_run *run;     /* (n_runs) expensive ones by powers of 2, then the others in order */
  int32_t *home;           /* (n_expensive) index of the run's queue */
  struct sap_queue *queue; /* (n_threads) */
  int32_t *order;          /* (n_runs) runs by queue */
  int32_t n_runs, n_expensive;
  double total, longest; /* cost of an iteration of all runs; of the longest run */
};

void sap_sharing_carve(struct sap_sharing *sharing, struct sap_arena *arena, int32_t n_islands);

/* Divides the islands of a new graph into runs. */
void sap_sharing_plan(struct sap_sharing *sharing, const struct sap_graph *graph);

/* Do several threads save more time than it takes to wake them? */
int sap_sharing_pays(const struct sap_sharing *sharing);

/* Fills the queues. */
void sap_sharing_divide(struct sap_sharing *sharing);

/* Returns the next run for a thread; NULL if none is left. */
struct sap_run *sap_sharing_take(struct sap_sharing *sharing, int32_t thread);

#endif
