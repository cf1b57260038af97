#include "solver/islands/islands.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "solver/certificate/certificate.h"
#include "solver/newton/feasible.h"
#include "solver/coulomb/friction.h"
#include "solver/write_results.h"
#include "solver/solver_tuning.h"

/* ---- memory ---- */

static void carve(void *context, struct sap_arena *arena) {
  struct sap_islands *islands = context;
  const int32_t n_islands = islands->work->plan->graph.n_islands;
  const size_t n = (size_t)n_islands;
  const int32_t n_threads = n_islands > 1 ? islands->sharing.n_threads : 1;
  islands->result = sap_arena_take(arena, n, sizeof *islands->result);
  islands->sums = sap_arena_take(arena, n / SAP_SUMMED_ISLANDS + 1, sizeof *islands->sums);
  const size_t n_records = (size_t)islands->records.capacity + (size_t)islands->n_more;
  islands->records.first = sap_arena_take(arena, n_records, sizeof(sap_iteration));
  sap_sharing_carve(&islands->sharing, arena, n_islands);
  for (int32_t k = 0; k < n_threads; ++k) {
    sap_workspace_carve(&islands->work[k], arena);
  }
}

/* Returns the largest number of records of a history. */
static int64_t count_records(const struct sap_plan *plan, const sap_settings *settings) {
  const int64_t n = settings->max_iterations;
  /* each direction of coulomb.c may precede a convex solve with a record before and after it;
   * lagged friction ends with one */
  const int64_t guesses = plan->friction != SAP_FRICTION_CONVEX ? 2 * n + 2
                          : plan->triples.has_walls             ? SAP_MOST_STARTS
                                                                : 1;
  const int64_t most = n + guesses < 1000 ? n + guesses : 1000;
  return settings->record_history ? plan->graph.n_islands * most : 0;
}

sap_status sap_islands_fit(struct sap_islands *islands, const sap_settings *settings) {
  const struct sap_plan *plan = islands->work->plan;
  const int64_t records = count_records(plan, settings);
  if (records > INT32_MAX) {
    return SAP_OUT_OF_MEMORY;
  }
  islands->records.capacity = (int32_t)records;
  islands->n_more = settings->record_history ? SAP_DENSE_RECORDS * plan->graph.n_trees : 0;
  if (!sap_block_carve(&islands->block, carve, islands, &plan->memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  for (int32_t k = 0; k < islands->sharing.n_threads; ++k) {
    islands->work[k].pool.soft = settings->soft_norm * settings->soft_norm;
  }
  sap_sharing_plan(&islands->sharing, &plan->graph);
  return SAP_OK;
}

/* ---- solving ---- */

/* Returns the part of the history of island i of n. */
static struct sap_records records_of(const struct sap_islands *islands, int32_t i, int32_t n) {
  const int32_t capacity = islands->records.capacity / n;
  sap_iteration *first = islands->records.first + (int64_t)capacity * i;
  return (struct sap_records){.first = first, .capacity = capacity};
}

/* Were v* and the guess finite? Otherwise the cost is not, so that checking the outcome is enough,
 * unless the iteration began elsewhere because of a barrier. */
static int began_finite(struct sap_workspace *w, const struct sap_island *island,
                        const double *v_guess, sap_outcome outcome) {
  if (outcome != SAP_NON_FINITE && !sap_has_rigid_core(island)) {
    return 1;
  }
  const int64_t begin = island->scalar_begin, n = island->scalar_end - begin;
  sap_workspace_gather(w, island, v_guess, w->best);
  return sap_first_non_finite(n, w->v_star + begin) < 0 &&
         sap_first_non_finite(n, w->best + begin) < 0;
}

static void solve_island(struct sap_workspace *w, const struct sap_island *island,
                         const struct sap_job *job, struct sap_island_result *result) {
  const double *v_guess = job->v_guess ? job->v_guess : job->problem->v_star;
  result->valid = sap_workspace_bind(w, island, job->problem);
  if (!result->valid) {
    return;
  }
  sap_workspace_gather(w, island, v_guess, w->v);
  result->newton = sap_solve_friction(w, island, job->settings);
  result->valid = began_finite(w, island, v_guess, result->newton.outcome) &&
                  !sap_interrupted(&w->interrupt_check, 0);
  result->bound = sap_certificate(w, island);
  result->complementarity = sap_complementarity(w, island);
  result->n_records = w->records.n;
}

/* ---- sums ---- */

/* Finds the sums that begin with an island in [begin, end). */
static void sum_islands(const struct sap_islands *islands, int32_t begin, int32_t end,
                        int32_t n_islands) {
  for (int32_t k = (begin + SAP_SUMMED_ISLANDS - 1) / SAP_SUMMED_ISLANDS;
       k * SAP_SUMMED_ISLANDS < end; ++k) {
    struct sap_sums sums = sap_sums_none();
    for (int32_t i = k * SAP_SUMMED_ISLANDS; i < (k + 1) * SAP_SUMMED_ISLANDS && i < n_islands;
         ++i) {
      sap_sums_add_island(&sums, &islands->result[i]);
    }
    islands->sums[k] = sums;
  }
}

static void sum_up(const struct sap_islands *islands, const struct sap_plan *plan,
                   struct sap_sums *all) {
  for (int32_t k = 0; k * SAP_SUMMED_ISLANDS < plan->graph.n_islands; ++k) {
    sap_sums_add(all, &islands->sums[k]);
  }
  all->n_scalars += plan->graph.tree.n_scalars;
}

/* ---- the loop over all islands ---- */

struct share {
  struct sap_islands *islands;
  const struct sap_graph *graph;
  const struct sap_job *job;
  const sap_solution *solution; /* the output arrays */
  _Atomic int32_t n_solved, n_wrong, n_deep;
};

/* Solves islands [begin, end). Returns the number that break a rule. */
static int32_t solve_islands(const struct share *share, struct sap_workspace *w, int32_t begin,
                             int32_t end) {
  struct sap_islands *islands = share->islands;
  int32_t n_wrong = 0;
  for (int32_t i = begin; i < end; ++i) {
    w->records = records_of(islands, i, share->graph->n_islands);
    solve_island(w, &share->graph->island[i], share->job, &islands->result[i]);
    n_wrong += !islands->result[i].valid;
  }
  return n_wrong;
}

/* Returns the index in the problem of island i of the graph. */
static int32_t number_of(const struct sap_graph *graph, const struct sap_job *job, int32_t i) {
  return job->dense ? job->dense->island[graph->node_tree[graph->island[i].node_begin]] : i;
}

/* Writes the report of island i. */
static void report(const struct share *share, int32_t i) {
  const struct sap_job *job = share->job;
  const int32_t tree = share->graph->node_tree[share->graph->island[i].node_begin];
  const int was_dense = job->dense && job->dense->is_dense[tree];
  if (share->solution->islands) {
    share->solution->islands[number_of(share->graph, job, i)] =
        (sap_island_report){.algorithm = (uint8_t)(job->settings->friction == SAP_FRICTION_COULOMB
                                                       ? SAP_ALGORITHM_COULOMB
                                                       : SAP_ALGORITHM_NEWTON),
                            .storage = SAP_STORAGE_SUPERNODAL,
                            .fallbacks = (uint8_t)(share->islands->result[i].newton.fallbacks |
                                                   (was_dense ? SAP_FALLBACK_SUPERNODAL : 0)),
                            .outcome = (uint8_t)share->islands->result[i].newton.outcome,
                            .tree = tree};
  }
}

/* Writes islands [begin, end). Returns the number of contacts that began too deep. */
static int32_t write_islands(const struct share *share, const struct sap_workspace *w,
                             int32_t begin, int32_t end) {
  int32_t deep = 0;
  for (int32_t i = begin; i < end; ++i) {
    deep += sap_results_write(w, &share->graph->island[i], share->solution);
    report(share, i);
  }
  sum_islands(share->islands, begin, end, share->graph->n_islands);
  return deep;
}

static double spent_on(const struct sap_islands *islands, const struct sap_run *run) {
  double work = 0;
  for (int32_t i = run->begin; i < run->end; ++i) {
    work += islands->sharing.work[i] * (sap_work_beside + islands->result[i].newton.iterations);
  }
  return work;
}

/* Are all islands solved, so that results may be written? The calling thread waits for that,
 * helpers only a short time; other threads are solving the remaining islands. */
static int all_solved(struct share *share, int32_t thread) {
  struct sap_interrupt_check *interrupt_check = &share->islands->work[thread].interrupt_check;
  struct sap_wait wait = {0};
  while (share->n_solved < share->graph->n_islands &&
         (thread == 0 || wait.lasted < sap_helper_patience)) {
    sap_wait_a_little(&wait);
    if (sap_interrupted_waiting(interrupt_check)) {
      ++share->n_wrong;
      return 0;
    }
  }
  return share->n_solved == share->graph->n_islands;
}

/* Writes the islands that a thread has solved, if all islands keep the rules. */
static void write_solved(struct share *share, int32_t thread) {
  struct sap_queue *queue = &share->islands->sharing.queue[thread];
  int32_t n_deep = 0;
  for (struct sap_run *run = queue->solved; run && share->n_wrong == 0; run = run->next) {
    n_deep += write_islands(share, &share->islands->work[thread], run->begin, run->end);
  }
  queue->solved = NULL;
  share->n_deep += n_deep;
}

/* The task of a thread: it solves runs until none is left. Once all islands are solved, it writes
 * the results of its runs. */
static void solve_runs(void *context, int32_t task, int32_t thread) {
  struct share *share = context;
  struct sap_islands *islands = share->islands;
  int32_t n_solved = 0, n_wrong = 0;
  (void)task;
  struct sap_run **end = &islands->sharing.queue[thread].solved;
  while (*end) {
    end = &(*end)->next;
  }
  for (struct sap_run *run; (run = sap_sharing_take(&islands->sharing, thread));) {
    const int32_t wrong = solve_islands(share, &islands->work[thread], run->begin, run->end);
    run->work = wrong == 0 ? spent_on(islands, run) : run->work;
    run->next = NULL;
    *end = run;
    end = &run->next;
    n_wrong += wrong;
    n_solved += run->end - run->begin;
  }
  share->n_wrong += n_wrong;
  share->n_solved += n_solved;
  if (all_solved(share, thread)) {
    write_solved(share, thread);
  }
}

/* Solves and writes all islands on several threads, with the results of one thread. */
static void solve_on_threads(struct share *share, struct sap_threads *threads) {
  struct sap_sharing *sharing = &share->islands->sharing;
  const struct sap_loop loop = {solve_runs, share, sharing->n_threads};
  sap_sharing_divide(sharing);
  sap_threads_run(threads, &loop);
  for (int32_t k = 0; k < sharing->n_threads; ++k) {
    write_solved(share, k); /* results of threads that left before all were solved */
  }
}

/* Closes the gaps between the records of the islands. */
static void gather_records(struct sap_islands *islands, const struct sap_job *job,
                           const struct sap_graph *graph) {
  struct sap_records *records = &islands->records;
  records->n = 0;
  for (int32_t i = 0; i < graph->n_islands; ++i) {
    const int32_t n = islands->result[i].n_records;
    sap_iteration *first = records->first + records->n;
    memmove(first, records_of(islands, i, graph->n_islands).first, (size_t)n * sizeof *first);
    for (int32_t k = 0; k < n; ++k) {
      first[k].island = number_of(graph, job, i);
    }
    records->n += n;
  }
}

/* Merges the records of dense components into them, in the order of the islands. */
static void merge_records(struct sap_records *records, const struct sap_records *dense) {
  int32_t i = records->n, k = dense->n;
  records->n += dense->n;
  while (k > 0) {
    const int is_dense = i == 0 || records->first[i - 1].island < dense->first[k - 1].island;
    records->first[i + k - 1] = is_dense ? dense->first[k - 1] : records->first[i - 1];
    k -= is_dense;
    i -= !is_dense;
  }
}

int sap_islands_solve(struct sap_islands *islands, struct sap_threads *threads,
                      const struct sap_job *job, struct sap_sums *sums, sap_solution *solution) {
  const struct sap_plan *plan = islands->work->plan;
  const int32_t n_islands = plan->graph.n_islands;
  struct share share = {
      .islands = islands, .graph = &plan->graph, .job = job, .solution = solution};
  if (threads) {
    solve_on_threads(&share, threads);
  } else {
    share.n_wrong = solve_islands(&share, islands->work, 0, n_islands);
    if (share.n_wrong == 0) {
      share.n_deep = write_islands(&share, islands->work, 0, n_islands);
    }
  }
  if (share.n_wrong > 0) {
    return 0;
  }
  sum_up(islands, plan, sums);
  if (islands->records.capacity > 0) {
    gather_records(islands, job, &plan->graph);
    merge_records(&islands->records, job->records);
  }
  solution->n_deep = share.n_deep;
  return 1;
}
