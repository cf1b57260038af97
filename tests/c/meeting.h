/* All threads of a loop at one time.
 *
 * To be had before fork() too: a thread that starts allocates, under AddressSanitizer with locks
 * that a child made at that moment would find taken for ever. */
#ifndef SAPWOOD_TESTS_MEETING_H
#define SAPWOOD_TESTS_MEETING_H

#include "base/system.h"
#include "base/threads.h"

static inline void check_wait(double seconds) {
  struct sap_wait wait = {0};
  while (wait.lasted < seconds) {
    sap_wait_a_little(&wait);
  }
}

struct meeting {
  struct sap_monitor monitor;
  int32_t n, present, most;
};

/* Waits until all threads have met, or for ten seconds: a task that others must run too. */
static inline void meet(void *context, int32_t task, int32_t thread) {
  struct meeting *meeting = context;
  (void)task;
  (void)thread;
  for (int32_t wait = 0; wait < 10000; ++wait) {
    sap_monitor_enter(&meeting->monitor);
    meeting->present += wait == 0;
    meeting->most = meeting->present > meeting->most ? meeting->present : meeting->most;
    const int all = meeting->present == meeting->n;
    sap_monitor_leave(&meeting->monitor);
    if (all) {
      return;
    }
    check_wait(0.001);
  }
}

/* Returns how many threads run tasks at the same time: the caller and all helpers, if all goes
 * well. */
static inline int32_t threads_that_meet(struct sap_threads *threads) {
  struct meeting meeting = {.n = 1 + sap_threads_helpers(threads)};
  sap_monitor_init(&meeting.monitor);
  const struct sap_loop loop = {meet, &meeting, meeting.n};
  sap_threads_run(threads, &loop);
  sap_monitor_destroy(&meeting.monitor);
  return meeting.most;
}

#endif
