/* Tests threads: every task of a loop runs once, for any number of threads. */
#define _POSIX_C_SOURCE 200809L

#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/threads.h"
#include "check.h"
#include "child.h"
#include "meeting.h"

/* ---- threads that cannot be made ------------------------------------------------------------ */

/* The linker sends the library's calls here, see CMakeLists.txt. */
static atomic_int threads_allowed = 1000;
int __real_sap_thread_start(struct sap_thread *thread, void (*run)(void *), void *context);
int __wrap_sap_thread_start(struct sap_thread *thread, void (*run)(void *), void *context);
int __wrap_sap_thread_start(struct sap_thread *thread, void (*run)(void *), void *context) {
  return threads_allowed-- > 0 ? __real_sap_thread_start(thread, run, context) : 0;
}

/* ---- loops ---------------------------------------------------------------------------------- */

enum { MOST_TASKS = 1000 };

struct tally {
  int32_t
      runs[MOST_TASKS]; /* runs of each task: plain numbers, each written by one thread at a time */
  int32_t thread[MOST_TASKS]; /* thread that ran the task last */
};

static void count_task(void *context, int32_t task, int32_t thread) {
  struct tally *tally = context;
  tally->runs[task]++;
  tally->thread[task] = thread;
}

/* Runs loops of all sizes. Returns 0 where a task was left out or done twice, or a thread has no
 * place. */
static int loops_are_whole(struct sap_threads *threads, int32_t n) {
  static const int32_t sizes[] = {0, 1, 2, 7, 32, 33, MOST_TASKS};
  static struct tally tally;
  int whole = 1;
  for (size_t s = 0; s < CHECK_COUNT(sizes); ++s) {
    memset(&tally, 0, sizeof tally);
    const struct sap_loop loop = {count_task, &tally, sizes[s]};
    for (int32_t repeat = 0; repeat < 20; ++repeat) {
      if (repeat % 2) {
        sap_threads_run(threads, &loop);
      } else {
        sap_threads_open(threads, &loop);
        sap_threads_finish(threads, &loop);
      }
    }
    for (int32_t k = 0; k < sizes[s]; ++k) {
      whole &= tally.runs[k] == 20 && tally.thread[k] >= 0 && tally.thread[k] < n;
    }
  }
  return whole;
}

static void every_task_runs_once(void) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  CHECK(loops_are_whole(NULL, 1));
  for (int32_t n = 1; n <= 16; n = 2 * n + 1) {
    struct sap_threads *threads = sap_threads_create(n, &memory);
    REQUIRE(threads);
    CHECK_EQUAL(sap_threads_helpers(threads), 0);
    CHECK(loops_are_whole(threads, n));
    sap_threads_wake(threads);
    CHECK_EQUAL(sap_threads_helpers(threads), n - 1);
    CHECK(loops_are_whole(threads, n));
    sap_threads_sleep(threads);
    CHECK(loops_are_whole(threads, n));
    sap_threads_destroy(threads, &memory);
  }
}

static void helpers_wake_from_sleep(void) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  struct sap_threads *threads = sap_threads_create(3, &memory);
  REQUIRE(threads);
  for (int32_t repeat = 0; repeat < 10; ++repeat) {
    sap_threads_wake(threads);
    CHECK(loops_are_whole(threads, 3));
    if (repeat % 2) {
      sap_threads_sleep(threads);
    }
    /* longer than either patience */
    check_wait(0.004);
    CHECK(loops_are_whole(threads, 3));
  }
  check_wait(0.004);
  sap_threads_destroy(threads, &memory);
}

static void tasks_run_at_the_same_time(void) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  struct sap_threads *threads = sap_threads_create(4, &memory);
  REQUIRE(threads);
  sap_threads_wake(threads);
  CHECK_EQUAL(threads_that_meet(threads), 4);
  sap_threads_destroy(threads, &memory);
}

static void threads_that_cannot_be_made_are_done_without(void) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  for (int32_t allowed = 0; allowed < 4; ++allowed) {
    struct sap_threads *threads = sap_threads_create(6, &memory);
    REQUIRE(threads);
    threads_allowed = allowed;
    sap_threads_wake(threads);
    sap_threads_wake(threads);
    threads_allowed = 1000;
    CHECK_EQUAL(sap_threads_helpers(threads), allowed);
    CHECK(loops_are_whole(threads, 6));
    sap_threads_destroy(threads, &memory);
  }
}

#ifdef CHECK_CHILDREN
#define FORK_TESTS CHECK_TEST(a_child_process_makes_its_own),

static int loops_in_child(void *context) {
  struct sap_threads *threads = context;
  const sap_allocator memory = sap_allocator_or_default(NULL);
  sap_threads_wake(threads);
  const int whole = sap_threads_helpers(threads) == 3 && loops_are_whole(threads, 4);
  sap_threads_destroy(threads, &memory);
  return whole;
}

static int destroy_in_child(void *context) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  sap_threads_destroy(context, &memory);
  return 1;
}

static void a_child_process_makes_its_own(void) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  struct sap_threads *threads = sap_threads_create(4, &memory);
  REQUIRE(threads);
  sap_threads_wake(threads);
  CHECK(loops_are_whole(threads, 4));
  CHECK_EQUAL(threads_that_meet(threads), 4); /* before a fork, see meeting.h */
  CHECK(holds_in_child(loops_in_child, threads));
  CHECK(holds_in_child(destroy_in_child, threads));
  CHECK(loops_are_whole(threads, 4));
  sap_threads_destroy(threads, &memory);
}
#else
#define FORK_TESTS
#endif

static const check_test tests[] = {
    CHECK_TEST(every_task_runs_once), CHECK_TEST(helpers_wake_from_sleep),
    CHECK_TEST(tasks_run_at_the_same_time),
    CHECK_TEST(threads_that_cannot_be_made_are_done_without), FORK_TESTS};
CHECK_FILE(test_threads, tests);
