#include "base/threads.h"

#include <stdatomic.h>

#include "base/base_tuning.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/system.h"

struct helper {
  struct sap_threads *threads;
  struct sap_thread thread;
  int32_t index;
};

/* The state of the open loop is a generation and the number of tasks that are not yet claimed. A
 * thread that replaces it by one task less has read the other members of the same generation, for
 * they change only while nothing is left to claim. */
struct sap_threads {
  _Atomic uint64_t state; /* generation << 32 | unclaimed */
  _Atomic(void (*)(void *, int32_t, int32_t)) run;
  _Atomic(void *) context;
  _Atomic int32_t n_tasks;
  _Alignas(SAP_ALIGNMENT) _Atomic int32_t done; /* number of tasks that helpers have finished */
  _Alignas(SAP_ALIGNMENT) _Atomic int keep_awake;
  _Atomic int quit;
  _Atomic int32_t asleep;
  struct sap_monitor work;
  uint64_t calls; /* number of calls to sleeping helpers, guarded by `work` */
  struct sap_block block;
  int32_t n, n_helpers;
  int32_t own; /* number of tasks of the open loop that the caller has finished */
  int creation_failed;
  int64_t process; /* process in which the helpers run */
  struct helper helper[];
};

/* ---- claiming ------------------------------------------------------------------------------- */

struct claim {
  void (*run)(void *, int32_t, int32_t);
  void *context;
  int32_t task;
};

static int claim_next(struct sap_threads *threads, struct claim *claim) {
  uint64_t state = atomic_load_explicit(&threads->state, memory_order_acquire);
  while ((uint32_t)state > 0) {
    claim->run = atomic_load_explicit(&threads->run, memory_order_relaxed);
    claim->context = atomic_load_explicit(&threads->context, memory_order_relaxed);
    claim->task = atomic_load_explicit(&threads->n_tasks, memory_order_relaxed) - (int32_t)state;
    if (atomic_compare_exchange_weak_explicit(&threads->state, &state, state - 1,
                                              memory_order_acq_rel, memory_order_acquire)) {
      return 1;
    }
  }
  return 0;
}

/* ---- waiting -------------------------------------------------------------------------------- */

void sap_wait_a_little(struct sap_wait *wait) {
#if defined(__GNUC__) && defined(__x86_64__)
  __builtin_ia32_pause();
#endif
  if (wait->polls++ % SAP_CLOCK_EVERY == 0) {
    const double now = sap_seconds();
    wait->since = wait->polls == 1 ? now : wait->since;
    wait->lasted = now - wait->since;
    if (wait->lasted > sap_patience) {
      sap_thread_yield();
    }
  }
}

/* A helper announces its sleep before it looks for work once more, and the caller opens a loop
 * before it looks for sleepers: one of the two sees the other. */
static void sleep_until_called(struct sap_threads *threads) {
  sap_monitor_enter(&threads->work);
  const uint64_t calls = threads->calls;
  atomic_fetch_add(&threads->asleep, 1);
  while (calls == threads->calls && (uint32_t)atomic_load(&threads->state) == 0 &&
         !atomic_load(&threads->quit)) {
    sap_monitor_wait(&threads->work);
  }
  atomic_fetch_sub(&threads->asleep, 1);
  sap_monitor_leave(&threads->work);
}

static void wake(struct sap_threads *threads) {
  if (atomic_load(&threads->asleep) > 0) {
    sap_monitor_enter(&threads->work);
    ++threads->calls;
    sap_monitor_wake_all(&threads->work);
    sap_monitor_leave(&threads->work);
  }
}

static void help(void *argument) {
  const struct helper *self = argument;
  struct sap_threads *threads = self->threads;
  struct sap_wait wait = {0};
  struct claim claim;
  while (!atomic_load_explicit(&threads->quit, memory_order_relaxed)) {
    if (claim_next(threads, &claim)) {
      claim.run(claim.context, claim.task, self->index);
      atomic_fetch_add_explicit(&threads->done, 1, memory_order_release);
      wait = (struct sap_wait){0};
      continue;
    }
    sap_wait_a_little(&wait);
    const int keep_awake = atomic_load_explicit(&threads->keep_awake, memory_order_relaxed);
    if (wait.lasted > (keep_awake ? sap_awake_in_use : sap_awake_after_use)) {
      sleep_until_called(threads);
      wait = (struct sap_wait){0};
    }
  }
}

/* ---- life ----------------------------------------------------------------------------------- */

/* Sets the state without helpers. */
static void reset(struct sap_threads *threads) {
  atomic_init(&threads->state, 0);
  atomic_init(&threads->done, 0);
  atomic_init(&threads->keep_awake, 0);
  atomic_init(&threads->quit, 0);
  atomic_init(&threads->asleep, 0);
  sap_monitor_init(&threads->work);
  threads->calls = 0;
  threads->n_helpers = 0;
  threads->creation_failed = 0;
  threads->process = sap_process();
}

struct sap_threads *sap_threads_create(int32_t n, const sap_allocator *allocator) {
  struct sap_block block = {0};
  const size_t bytes = sizeof(struct sap_threads) + (size_t)n * sizeof(struct helper);
  if (!sap_block_reserve(&block, bytes, allocator)) {
    return NULL;
  }
  struct sap_threads *threads = (void *)block.base;
  threads->block = block;
  threads->n = n;
  reset(threads);
  return threads;
}

void sap_threads_destroy(struct sap_threads *threads, const sap_allocator *allocator) {
  if (!threads) {
    return;
  }
  if (threads->process == sap_process()) {
    atomic_store(&threads->quit, 1);
    wake(threads);
    for (int32_t k = 0; k < threads->n_helpers; ++k) {
      sap_thread_join(&threads->helper[k].thread);
    }
    sap_monitor_destroy(&threads->work);
  }
  struct sap_block block = threads->block;
  sap_block_release(&block, allocator);
}

static void start_helpers(struct sap_threads *threads) {
  while (threads->n_helpers < threads->n - 1 && !threads->creation_failed) {
    struct helper *helper = &threads->helper[threads->n_helpers];
    helper->threads = threads;
    helper->index = threads->n_helpers + 1;
    threads->creation_failed = !sap_thread_start(&helper->thread, help, helper);
    threads->n_helpers += !threads->creation_failed;
  }
}

void sap_threads_wake(struct sap_threads *threads) {
  if (threads->process != sap_process()) {
    reset(threads);
  }
  /* helpers poll this flag: a write takes as long as a message to all of them */
  if (!atomic_load_explicit(&threads->keep_awake, memory_order_relaxed)) {
    atomic_store(&threads->keep_awake, 1);
  }
  if (threads->n_helpers < threads->n - 1 && !threads->creation_failed) {
    start_helpers(threads);
  }
  wake(threads);
}

void sap_threads_sleep(struct sap_threads *threads) {
  atomic_store_explicit(&threads->keep_awake, 0, memory_order_relaxed);
}

int32_t sap_threads_helpers(const struct sap_threads *threads) { return threads->n_helpers; }

/* ---- loops ---------------------------------------------------------------------------------- */

void sap_threads_open(struct sap_threads *threads, const struct sap_loop *loop) {
  if (!threads || loop->n_tasks == 0) {
    return;
  }
  atomic_store_explicit(&threads->run, loop->run, memory_order_relaxed);
  atomic_store_explicit(&threads->context, loop->context, memory_order_relaxed);
  atomic_store_explicit(&threads->n_tasks, loop->n_tasks, memory_order_relaxed);
  atomic_store_explicit(&threads->done, 0, memory_order_relaxed);
  threads->own = 0;
  const uint64_t before = atomic_load_explicit(&threads->state, memory_order_relaxed) >> 32;
  atomic_store(&threads->state, (before + 1) << 32 | (uint32_t)loop->n_tasks);
  wake(threads);
}

int sap_threads_help(struct sap_threads *threads) {
  struct claim claim;
  if (!claim_next(threads, &claim)) {
    return 0;
  }
  claim.run(claim.context, claim.task, 0);
  ++threads->own;
  return 1;
}

void sap_threads_finish(struct sap_threads *threads, const struct sap_loop *loop) {
  if (!threads) {
    for (int32_t k = 0; k < loop->n_tasks; ++k) {
      loop->run(loop->context, k, 0);
    }
    return;
  }
  while (sap_threads_help(threads)) {
  }
  struct sap_wait wait = {0};
  while (loop->n_tasks > 0 &&
         threads->own + atomic_load_explicit(&threads->done, memory_order_acquire) <
             loop->n_tasks) {
    sap_wait_a_little(&wait);
  }
}

void sap_threads_run(struct sap_threads *threads, const struct sap_loop *loop) {
  sap_threads_open(threads, loop);
  sap_threads_finish(threads, loop);
}
