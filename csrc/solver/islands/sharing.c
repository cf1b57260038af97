#include "solver/islands/sharing.h"

#include <math.h>

#include "solver/solver_tuning.h"

void sap_sharing_carve(struct sap_sharing *sharing, struct sap_arena *arena, int32_t n_islands) {
  const int shared = sharing->n_threads > 1;
  const size_t n = shared ? (size_t)n_islands : 0;
  const size_t n_threads = shared ? (size_t)sharing->n_threads : 0;
  sharing->work = sap_arena_take(arena, n, sizeof *sharing->work);
  sharing->run = sap_arena_take(arena, n, sizeof *sharing->run);
  sharing->home = sap_arena_take(arena, n, sizeof *sharing->home);
  sharing->queue = sap_arena_take(arena, n_threads, sizeof *sharing->queue);
  sharing->order = sap_arena_take(arena, n, sizeof *sharing->order);
}

/* ---- runs ---- */

/* Estimates the cost of an iteration, in multiply-adds: the factorization, and an equivalent for
 * the law, products and blocks of each triple. */
static double estimate(const struct sap_graph *graph, int32_t i) {
  const struct sap_component *component = &graph->tree.component[i];
  const struct sap_island *island = &graph->island[i];
  double work = sap_work_per_triple * (island->triple_end - island->triple_begin);
  for (int32_t s = component->supernode_begin; s < component->supernode_end; ++s) {
    const struct sap_supernode *supernode = &graph->tree.supernode[s];
    work += (double)supernode->n_cols * supernode->ld * supernode->ld;
  }
  return work;
}

/* Returns the run that begins with `first`: neighbours that cost less than `most` together, or
 * one. */
static struct sap_run find_run(const double *work, int32_t n_islands, double most, int32_t first) {
  struct sap_run run = {.begin = first, .end = first + 1, .work = work[first]};
  while (run.end < n_islands && run.work + work[run.end] < most) {
    run.work += work[run.end++];
  }
  return run;
}

void sap_sharing_plan(struct sap_sharing *sharing, const struct sap_graph *graph) {
  enum { CLASSES = 64 };
  sharing->total = sharing->longest = 0;
  sharing->n_runs = sharing->n_expensive = 0;
  if (sharing->n_threads == 1) {
    return;
  }
  for (int32_t i = 0; i < graph->n_islands; ++i) {
    sharing->work[i] = estimate(graph, i);
    sharing->total += sharing->work[i];
  }
  const double share = sharing->total / sharing->n_threads;
  const double cheap = share / SAP_RUNS, expensive = share / SAP_EXPENSIVE;
  /* counting sort, the most expensive first: counts and their sums, then places */
  int32_t begin[CLASSES + 1] = {0};
  for (int pass = 0; pass < 2; ++pass) {
    struct sap_run run = {.end = 0};
    while (run.end < graph->n_islands) {
      run = find_run(sharing->work, graph->n_islands, cheap, run.end);
      const int is_expensive = run.work >= expensive;
      const double octaves = is_expensive ? 1 + log2(run.work / expensive) : 0;
      const int class = CLASSES - 1 - (int)fmin(octaves, CLASSES - 1);
      if (pass == 0) {
        ++begin[class + 1];
        ++sharing->n_runs;
        sharing->n_expensive += is_expensive;
        sharing->longest = fmax(sharing->longest, run.work);
      } else {
        sharing->run[begin[class]++] = run;
      }
    }
    for (int class = 0; class < CLASSES && pass == 0; ++class) {
      begin[class + 1] += begin[class];
    }
  }
}

int sap_sharing_pays(const struct sap_sharing *sharing) {
  const double time = fmax(sharing->longest, sharing->total / sharing->n_threads);
  return sharing->total - time > fmax(sap_least_gain, sap_least_gain_share * sharing->total);
}

/* ---- queues ---- */

/* Gives each expensive run to the thread with the least work so far. */
static void divide_expensive(struct sap_sharing *sharing) {
  struct sap_queue *queue = sharing->queue;
  for (int32_t k = 0; k < sharing->n_threads; ++k) {
    queue[k].work = 0;
    queue[k].solved = NULL;
    queue[k].n_expensive = 0;
  }
  for (int32_t r = 0; r < sharing->n_expensive; ++r) {
    int32_t least = 0;
    for (int32_t k = 1; k < sharing->n_threads; ++k) {
      least = queue[k].work < queue[least].work ? k : least;
    }
    sharing->home[r] = least;
    queue[least].work += sharing->run[r].work;
    ++queue[least].n_expensive;
  }
}

/* Finds the level to which cheap runs fill the queues; some queues may be above it already. */
static double find_level(const struct sap_sharing *sharing) {
  double cheap = 0;
  for (int32_t r = sharing->n_expensive; r < sharing->n_runs; ++r) {
    cheap += sharing->run[r].work;
  }
  double level = INFINITY;
  int32_t n = sharing->n_threads + 1, before;
  do {
    before = n;
    n = 0;
    double below = 0;
    for (int32_t k = 0; k < sharing->n_threads; ++k) {
      n += sharing->queue[k].work < level;
      below += sharing->queue[k].work < level ? sharing->queue[k].work : 0;
    }
    level = n > 0 ? (cheap + below) / n : level;
  } while (n < before);
  return level;
}

void sap_sharing_divide(struct sap_sharing *sharing) {
  divide_expensive(sharing);
  const double level = find_level(sharing);
  double due = 0, given = 0; /* work of cheap runs for the queues so far */
  int32_t place = 0, next = sharing->n_expensive;
  for (int32_t k = 0; k < sharing->n_threads; ++k) {
    struct sap_queue *queue = &sharing->queue[k];
    const int last = k == sharing->n_threads - 1;
    const int32_t begin = queue->next = place;
    place += queue->n_expensive;
    due += fmax(level - queue->work, 0);
    while (next < sharing->n_runs && (last || given + sharing->run[next].work / 2 < due)) {
      given += sharing->run[next].work;
      queue->work += sharing->run[next].work;
      sharing->order[place++] = next++;
    }
    atomic_store_explicit(&queue->left, (uint64_t)begin << 32 | (uint32_t)place,
                          memory_order_relaxed);
  }
  for (int32_t r = 0; r < sharing->n_expensive; ++r) {
    sharing->order[sharing->queue[sharing->home[r]].next++] = r;
  }
}

/* Takes the first or the last run of a queue. */
static struct sap_run *take(const struct sap_sharing *sharing, struct sap_queue *queue, int last) {
  uint64_t left = atomic_load_explicit(&queue->left, memory_order_relaxed);
  for (;;) {
    const uint32_t begin = (uint32_t)(left >> 32), end = (uint32_t)left;
    if (begin == end) {
      return NULL;
    }
    const uint64_t rest = last ? left - 1 : left + ((uint64_t)1 << 32);
    if (atomic_compare_exchange_weak_explicit(&queue->left, &left, rest, memory_order_relaxed,
                                              memory_order_relaxed)) {
      return &sharing->run[sharing->order[last ? end - 1 : begin]];
    }
  }
}

struct sap_run *sap_sharing_take(struct sap_sharing *sharing, int32_t thread) {
  struct sap_run *run = take(sharing, &sharing->queue[thread], 0);
  for (int32_t k = 1; !run && k < sharing->n_threads; ++k) {
    run = take(sharing, &sharing->queue[(thread + k) % sharing->n_threads], 1);
  }
  return run;
}
