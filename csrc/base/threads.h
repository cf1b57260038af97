/* A few threads that share the work of one solver: its caller, who is thread 0, and helpers.
 *
 * Work is a loop of independent tasks. Whoever is free claims the next one, and so does the caller:
 * a helper that is late, or could not be made, costs time and nothing else, and what is computed
 * must not depend on who computes it. One loop is open at a time, and tasks open none.
 *
 * Helpers are made when they are first roused, and wait for work first awake, then asleep. A
 * process made by fork() has none of its parent's; there they are made anew. */
#ifndef SAPWOOD_BASE_THREADS_H
#define SAPWOOD_BASE_THREADS_H

#include "sapwood.h"

enum { SAP_MOST_THREADS = 256 };

struct sap_threads;

/* Lets a little time pass: at first by pausing, when it lasts by offering the core to others from
 * time to time. */
struct sap_wait {
  uint32_t polls;
  double since, lasted; /* s */
};
void sap_wait_a_little(struct sap_wait *wait);

struct sap_loop {
  /* one task, run by thread 0 <= thread < n */
  void (*run)(void *context, int32_t task, int32_t thread);
  void *context;
  int32_t n_tasks;
};

/* The caller and n - 1 helpers, none of which is started yet; NULL when memory ran out. */
struct sap_threads *sap_threads_create(int32_t n, const sap_allocator *allocator);

/* Ends the helpers and waits until they are gone. NULL is allowed. */
void sap_threads_destroy(struct sap_threads *threads, const sap_allocator *allocator);

/* Starts helpers that are missing and wakes those asleep; they stay awake between loops until
 * sap_threads_rest(). Where a thread cannot be made, there are fewer. */
void sap_threads_rouse(struct sap_threads *threads);
void sap_threads_rest(struct sap_threads *threads);

/* helpers that were started */
int32_t sap_threads_helpers(const struct sap_threads *threads);

/* Runs all tasks and returns when they are done. With NULL for `threads` they run one after the
 * other. */
void sap_threads_run(struct sap_threads *threads, const struct sap_loop *loop);

/* The same in two halves, for a caller with work of its own in between: nothing that the tasks read
 * or write may be changed there. With NULL for `threads` all tasks run in the second. */
void sap_threads_open(struct sap_threads *threads, const struct sap_loop *loop);
void sap_threads_finish(struct sap_threads *threads, const struct sap_loop *loop);

/* One task of the open loop, by the caller between the two halves; 0 where none is left. */
int sap_threads_help(struct sap_threads *threads);

#endif
