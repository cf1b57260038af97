/* A pool of a few threads shares the work of one solver: the caller is thread 0, the others are
 * helpers.
 *
 * Work is a loop of independent tasks. Each free thread, the caller included, claims the next one.
 * A helper that is late or missing costs only time, and results must not depend on which thread
 * computes them. One loop is open at a time, and tasks open no loops.
 *
 * Helpers are created when they are first needed, and wait for work first awake, then asleep. A
 * process made by fork() has no helpers of its parent and creates its own. */
#ifndef SAPWOOD_BASE_THREADS_H
#define SAPWOOD_BASE_THREADS_H

#include "sapwood.h"

enum { SAP_MOST_THREADS = 256 };

struct sap_threads;

/* Lets a little time pass: pauses, and in a long wait offers the core to others from time to
 * time. */
struct sap_wait {
  uint32_t polls;
  double since, lasted; /* s */
};
void sap_wait_a_little(struct sap_wait *wait);

struct sap_loop {
  /* runs one task in thread 0 <= thread < n */
  void (*run)(void *context, int32_t task, int32_t thread);
  void *context;
  int32_t n_tasks;
};

/* Creates a pool of the caller and n - 1 helpers, not started yet; NULL if memory runs out. */
struct sap_threads *sap_threads_create(int32_t n, const sap_allocator *allocator);

/* Ends the helpers and waits until they are gone. NULL is allowed. */
void sap_threads_destroy(struct sap_threads *threads, const sap_allocator *allocator);

/* Starts missing helpers and wakes sleeping ones; they stay awake between loops until the next call
 * of sap_threads_sleep(). There are fewer helpers if threads cannot be created. */
void sap_threads_wake(struct sap_threads *threads);
void sap_threads_sleep(struct sap_threads *threads);

/* Returns the number of started helpers. */
int32_t sap_threads_helpers(const struct sap_threads *threads);

/* Runs all tasks and returns when they are done. With NULL for `threads` they run one after the
 * other. */
void sap_threads_run(struct sap_threads *threads, const struct sap_loop *loop);

/* Run a loop in two halves, for a caller with work of its own in between, which must not change
 * data that the tasks read or write. With NULL for `threads` all tasks run in the second half. */
void sap_threads_open(struct sap_threads *threads, const struct sap_loop *loop);
void sap_threads_finish(struct sap_threads *threads, const struct sap_loop *loop);

/* Lets the caller run one task of the open loop between the two halves; 0 if none is left. */
int sap_threads_help(struct sap_threads *threads);

#endif
