#include "linalg/parallel_factor.h"

#include <stdatomic.h>

#include "linalg/linalg_tuning.h"

/* ---- schedule -------------------------------------------------------------------------------- */

void sap_schedule_carve(struct sap_schedule *schedule, struct sap_arena *arena) {
  const struct sap_junction_tree *tree = schedule->tree;
  const size_t n = (size_t)tree->n_supernodes;
  schedule->trunk = sap_arena_take(arena, n, sizeof(int32_t));
  schedule->pull_start = sap_arena_take(arena, n + 1, sizeof(int32_t));
  schedule->pull = sap_arena_take(arena, (size_t)tree->n_updates, sizeof(struct sap_pull));
  schedule->own_end = sap_arena_take(arena, n, sizeof(int32_t));
  schedule->work = sap_arena_take(arena, n, sizeof(double));
  schedule->first = sap_arena_take(arena, n, sizeof(int32_t));
  schedule->place = sap_arena_take(arena, n, sizeof(int32_t));
}

/* Finds work and first supernode of each subtree; children come before their parents. */
static void measure_subtrees(struct sap_schedule *schedule) {
  const struct sap_junction_tree *tree = schedule->tree;
  for (int32_t i = 0; i < tree->n_supernodes; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    const double c = s->n_cols, r = s->n_rows;
    schedule->work[i] = c * (c * c / 6 + c * r / 2 + r * r / 2);
    schedule->first[i] = i;
  }
  for (int32_t i = 0; i < tree->n_supernodes; ++i) {
    const int32_t parent = tree->supernode[i].parent;
    if (parent >= 0) {
      schedule->work[parent] += schedule->work[i];
      if (schedule->first[i] < schedule->first[parent]) {
        schedule->first[parent] = schedule->first[i];
      }
    }
  }
}

/* Inserts the subtree of a root among the branches, by falling work. */
static void add_branch(struct sap_schedule *schedule, int32_t root) {
  const struct sap_branch added = {schedule->first[root], root + 1, schedule->work[root]};
  int32_t k = schedule->n_branches++;
  for (; k > 0 && schedule->branch[k - 1].work < added.work; --k) {
    schedule->branch[k] = schedule->branch[k - 1];
  }
  schedule->branch[k] = added;
}

/* Adds the children of a supernode, or all roots for -1. Returns 0 if there is no room. */
static int add_children(struct sap_schedule *schedule, int32_t parent, int32_t begin, int32_t end) {
  const struct sap_supernode *supernode = schedule->tree->supernode;
  int32_t n = 0;
  for (int32_t i = begin; i < end; ++i) {
    n += supernode[i].parent == parent;
  }
  if (schedule->n_branches + n > SAP_MOST_BRANCHES) {
    return 0;
  }
  for (int32_t i = begin; i < end; ++i) {
    if (supernode[i].parent == parent) {
      add_branch(schedule, i);
    }
  }
  return 1;
}

/* Do threads that claim one branch after the other end at about the same time? */
static int is_balanced(const struct sap_schedule *schedule, int32_t n_threads) {
  double load[SAP_MOST_THREADS] = {0}, sum = 0, longest = 0;
  for (int32_t k = 0; k < schedule->n_branches; ++k) {
    int32_t least = 0;
    for (int32_t i = 1; i < n_threads; ++i) {
      least = load[i] < load[least] ? i : least;
    }
    load[least] += schedule->branch[k].work;
    sum += schedule->branch[k].work;
    longest = load[least] > longest ? load[least] : longest;
  }
  return longest <= sap_most_imbalance * sum / n_threads;
}

/* Splits the largest branch, whose root goes to the trunk, until all threads have as much to do. */
static void choose_branches(struct sap_schedule *schedule, int32_t n_threads) {
  schedule->n_branches = 0;
  if (!add_children(schedule, -1, 0, schedule->tree->n_supernodes)) {
    return;
  }
  while (schedule->n_branches > 0 && !is_balanced(schedule, n_threads)) {
    const struct sap_branch largest = schedule->branch[0];
    --schedule->n_branches;
    for (int32_t k = 0; k < schedule->n_branches; ++k) {
      schedule->branch[k] = schedule->branch[k + 1];
    }
    if (!add_children(schedule, largest.end - 1, largest.begin, largest.end - 1)) {
      add_branch(schedule, largest.end - 1);
      return;
    }
  }
}

/* Returns the supernode whose panel holds a value. */
static int32_t target_of(const struct sap_junction_tree *tree, const struct sap_update *update) {
  int32_t low = 0, high = tree->n_supernodes - 1;
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (tree->supernode[middle].values <= update->target) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

static void list_trunk(struct sap_schedule *schedule) {
  const struct sap_junction_tree *tree = schedule->tree;
  for (int32_t i = 0; i < tree->n_supernodes; ++i) {
    schedule->place[i] = 0;
  }
  for (int32_t k = 0; k < schedule->n_branches; ++k) {
    for (int32_t i = schedule->branch[k].begin; i < schedule->branch[k].end; ++i) {
      schedule->place[i] = -1;
    }
  }
  schedule->n_trunk = 0;
  for (int32_t i = 0; i < tree->n_supernodes; ++i) {
    if (schedule->place[i] == 0) {
      schedule->place[i] = schedule->n_trunk;
      schedule->trunk[schedule->n_trunk++] = i;
    }
  }
}

/* Lists the updates of the trunk by target: counted first, then filled. */
static void list_pulls(struct sap_schedule *schedule) {
  const struct sap_junction_tree *tree = schedule->tree;
  int32_t *start = schedule->pull_start;
  for (int32_t k = 0; k <= schedule->n_trunk; ++k) {
    start[k] = 0;
  }
  for (int fill = 0; fill < 2; ++fill) {
    for (int32_t i = 0; i < tree->n_supernodes; ++i) {
      const struct sap_supernode *s = &tree->supernode[i];
      schedule->own_end[i] = s->update_begin;
      for (int32_t u = s->update_begin; u < s->update_end; ++u) {
        const int32_t place = schedule->place[target_of(tree, &tree->update[u])];
        if (place < 0) {
          schedule->own_end[i] = u + 1;
        } else if (fill) {
          schedule->pull[start[place]++] = (struct sap_pull){i, u};
        } else {
          start[place + 1]++;
        }
      }
    }
    for (int32_t k = 0; k < schedule->n_trunk && !fill; ++k) {
      start[k + 1] += start[k];
    }
  }
  for (int32_t k = schedule->n_trunk; k > 0; --k) {
    start[k] = start[k - 1];
  }
  start[0] = 0;
}

void sap_schedule_find(struct sap_schedule *schedule, int32_t n_threads) {
  measure_subtrees(schedule);
  choose_branches(schedule, n_threads);
  list_trunk(schedule);
  list_pulls(schedule);
}

/* ---- factorization --------------------------------------------------------------------------- */

/* The state that the threads share: slice begin to end of the panel of supernode `node`. */
struct shared_factor {
  const struct sap_factor *factor;
  const struct sap_schedule *schedule;
  int32_t node, begin, end;
  _Atomic int32_t failed; /* first scalar without a positive pivot, or INT32_MAX */
};

static void note_failure(struct shared_factor *all, int32_t scalar) {
  int32_t before = all->failed;
  while (scalar < before && !atomic_compare_exchange_weak(&all->failed, &before, scalar)) {
  }
}

static void factor_branch(void *context, int32_t task, int32_t thread) {
  struct shared_factor *all = context;
  const struct sap_junction_tree *tree = all->factor->tree;
  const struct sap_panel_kernels *kernels = &all->factor->kernels->panels[SAP_DOUBLE];
  const struct sap_branch *branch = &all->schedule->branch[task];
  (void)thread;
  for (int32_t i = branch->begin; i < branch->end; ++i) {
    struct sap_supernode s = tree->supernode[i];
    const int32_t done = kernels->factor(&s, all->factor->values);
    if (done < s.n_cols) {
      note_failure(all, s.scalar + done);
      return;
    }
    s.update_end = all->schedule->own_end[i];
    kernels->push_updates(&s, tree->update, all->factor->values);
  }
}

/* Subtracts the products of an update from the columns `first` to `last` of its target. */
static void pull_update(const struct sap_factor *factor, const struct sap_supernode *source,
                        const struct sap_update *update, const struct sap_supernode *target,
                        int32_t first, int32_t last) {
  const int32_t column = (int32_t)((update->target - target->values) / (size_t)target->ld);
  const int32_t low = column > first ? column : first;
  const int32_t high = column + update->n_cols < last ? column + update->n_cols : last;
  if (low >= high) {
    return;
  }
  const int32_t skipped = low - column, lower = update->row == update->col;
  const int32_t above = lower ? skipped : 0;
  const double *P = factor->values + source->values;
  factor->kernels->multiply(
      update->n_rows - above, high - low, source->n_cols, -1, P + update->row + above, source->ld,
      P + update->col + skipped, source->ld,
      factor->values + update->target + (size_t)skipped * (size_t)target->ld + above,
      update->target_ld, lower);
}

static void pull_columns(void *context, int32_t task, int32_t thread) {
  const struct shared_factor *all = context;
  const struct sap_schedule *schedule = all->schedule;
  const struct sap_junction_tree *tree = all->factor->tree;
  const struct sap_supernode *target = &tree->supernode[all->node];
  const int32_t place = schedule->place[all->node], first = task * SAP_SHARED_COLUMNS;
  (void)thread;
  for (int32_t k = schedule->pull_start[place]; k < schedule->pull_start[place + 1]; ++k) {
    const struct sap_pull *pull = &schedule->pull[k];
    pull_update(all->factor, &tree->supernode[pull->source], &tree->update[pull->update], target,
                first, first + SAP_SHARED_COLUMNS);
  }
}

static void push_slice(void *context, int32_t task, int32_t thread) {
  const struct shared_factor *all = context;
  const struct sap_supernode *s = &all->factor->tree->supernode[all->node];
  const int32_t first = all->end + task * SAP_SHARED_COLUMNS;
  const int32_t last = first + SAP_SHARED_COLUMNS;
  (void)thread;
  all->factor->kernels->panels[SAP_DOUBLE].push_slice(
      s, all->begin, all->end, first, last < s->n_cols ? last : s->n_cols, all->factor->values);
}

static void run(struct sap_threads *threads, struct shared_factor *all,
                void (*task)(void *, int32_t, int32_t), int32_t n_columns) {
  const int32_t n = (n_columns + SAP_SHARED_COLUMNS - 1) / SAP_SHARED_COLUMNS;
  const struct sap_loop loop = {task, all, n};
  sap_threads_run(threads, &loop);
}

/* Factors a panel of the trunk. */
static void factor_trunk(struct shared_factor *all, struct sap_threads *threads) {
  const struct sap_supernode *s = &all->factor->tree->supernode[all->node];
  const struct sap_panel_kernels *kernels = &all->factor->kernels->panels[SAP_DOUBLE];
  run(threads, all, pull_columns, s->n_cols);
  for (all->begin = 0; all->begin < s->n_cols; all->begin = all->end) {
    all->end = sap_slice_end(all->begin, s->n_cols);
    const int32_t done = kernels->factor_slice(s, all->begin, all->end, all->factor->values);
    if (done < all->end) {
      note_failure(all, s->scalar + done);
      return;
    }
    run(threads, all, push_slice, s->n_cols - all->end);
  }
}

int32_t sap_factor_run_parallel(const struct sap_factor *factor,
                                const struct sap_schedule *schedule, struct sap_threads *threads) {
  struct shared_factor all = {.factor = factor, .schedule = schedule, .failed = INT32_MAX};
  const struct sap_loop branches = {factor_branch, &all, schedule->n_branches};
  sap_threads_run(threads, &branches);
  for (int32_t k = 0; k < schedule->n_trunk && all.failed == INT32_MAX; ++k) {
    all.node = schedule->trunk[k];
    factor_trunk(&all, threads);
  }
  return all.failed == INT32_MAX ? -1 : sap_node_of_scalar(factor->tree, 0, all.failed);
}
