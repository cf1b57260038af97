#include "sap/islands.h"

#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "sap/certificate.h"
#include "sap/feasible.h"
#include "sap/results.h"

/* Statistics are summed over so many neighbours, whoever solved them, then over all of these. */
enum { SUMMED = 16 };

/* what the statistics of a solution are made of; no two share a cache line */
struct sap_sums {
  _Alignas(SAP_ALIGNMENT) sap_outcome outcome;
  int32_t tree;
  int32_t iterations; /* of the island that took most */
  int32_t total_iterations, trials;
  double cost;
  double gradient, momentum, impulse; /* squares */
  double bound, complementarity;
  double assembly_seconds, factor_seconds, line_search_seconds;
};

void sap_islands_carve(struct sap_workspace *w, struct sap_arena *arena) {
  const size_t islands = (size_t)w->graph.n_islands;
  w->result = sap_arena_take(arena, islands, sizeof *w->result);
  w->sums = sap_arena_take(arena, islands / SUMMED + 1, sizeof *w->sums);
  sap_sharing_carve(&w->sharing, arena, w->graph.n_islands);
}

/* ---- solving ---- */

/* the share of one island */
static struct sap_records records_of(const struct sap_workspace *w, int32_t i) {
  const int32_t capacity = w->graph.n_islands > 0 ? w->records.capacity / w->graph.n_islands : 0;
  return (struct sap_records){w->records.first + (int64_t)capacity * i, 0, capacity};
}

/* Were v* and the guess finite? The cost would not have been, so that a look at the outcome is
 * enough, unless the iteration began elsewhere because of a barrier. */
static int began_finite(struct sap_workspace *view, const struct sap_island *island,
                        const double *v_guess, sap_outcome outcome) {
  if (outcome != SAP_NON_FINITE && !sap_has_barrier(island)) {
    return 1;
  }
  const int64_t begin = island->scalar_begin, n = island->scalar_end - begin;
  sap_workspace_gather(view, island, v_guess, view->best);
  return sap_first_non_finite(n, view->v_star + begin) < 0 &&
         sap_first_non_finite(n, view->best + begin) < 0;
}

static void solve_island(struct sap_workspace *view, int32_t i, const struct sap_job *job) {
  const struct sap_island *island = &view->graph.island[i];
  const double *v_guess = job->v_guess ? job->v_guess : job->problem->v_star;
  struct sap_island_result *result = &view->result[i];
  result->valid = sap_workspace_bind(view, island, job->problem);
  if (!result->valid) {
    return;
  }
  sap_workspace_gather(view, island, v_guess, view->v);
  result->newton = sap_newton(view, island, job->settings);
  result->valid = began_finite(view, island, v_guess, result->newton.outcome);
  result->bound = sap_certificate(view, island);
  result->complementarity = sap_complementarity(view, island);
  result->n_records = view->records.n;
}

/* ---- sums ---- */

static struct sap_sums sums_of(const struct sap_island_result *result) {
  const struct sap_newton_result *newton = &result->newton;
  const struct sap_evaluation *last = &newton->last;
  return (struct sap_sums){.outcome = newton->outcome,
                           .tree = newton->tree,
                           .iterations = newton->iterations,
                           .total_iterations = newton->iterations,
                           .trials = newton->trials,
                           .cost = last->cost,
                           .gradient = last->gradient * last->gradient,
                           .momentum = last->momentum * last->momentum,
                           .impulse = last->impulse * last->impulse,
                           .bound = result->bound,
                           .complementarity = result->complementarity,
                           .assembly_seconds = newton->assembly_seconds,
                           .factor_seconds = newton->factor_seconds,
                           .line_search_seconds = newton->line_search_seconds};
}

static void add(struct sap_sums *sums, const struct sap_sums *part) {
  /* worse outcomes have larger numbers; the problem's is the worst of its islands */
  if (part->outcome > sums->outcome) {
    sums->outcome = part->outcome;
    sums->tree = part->tree;
  }
  if (part->iterations > sums->iterations) {
    sums->iterations = part->iterations;
  }
  sums->total_iterations += part->total_iterations;
  sums->trials += part->trials;
  sums->cost += part->cost;
  sums->gradient += part->gradient;
  sums->momentum += part->momentum;
  sums->impulse += part->impulse;
  sums->bound += part->bound;
  sums->complementarity += part->complementarity;
  sums->assembly_seconds += part->assembly_seconds;
  sums->factor_seconds += part->factor_seconds;
  sums->line_search_seconds += part->line_search_seconds;
}

/* the sums whose first island is one of [begin, end) */
static void sum_islands(const struct sap_workspace *w, int32_t begin, int32_t end) {
  for (int32_t k = (begin + SUMMED - 1) / SUMMED; k * SUMMED < end; ++k) {
    struct sap_sums sums = {.outcome = SAP_CONVERGED, .tree = -1};
    for (int32_t i = k * SUMMED; i < (k + 1) * SUMMED && i < w->graph.n_islands; ++i) {
      const struct sap_sums part = sums_of(&w->result[i]);
      add(&sums, &part);
    }
    w->sums[k] = sums;
  }
}

static void sum_up(const struct sap_workspace *w, sap_solution *solution) {
  struct sap_sums all = {.outcome = SAP_CONVERGED, .tree = -1};
  for (int32_t k = 0; k * SUMMED < w->graph.n_islands; ++k) {
    add(&all, &w->sums[k]);
  }
  solution->outcome = all.outcome;
  solution->tree = all.tree;
  solution->iterations = all.iterations;
  solution->total_iterations = all.total_iterations;
  solution->line_search_trials = all.trials;
  solution->cost = all.cost;
  solution->assembly_seconds = all.assembly_seconds;
  solution->factor_seconds = all.factor_seconds;
  solution->line_search_seconds = all.line_search_seconds;
  const double scale = sqrt(fmax(all.momentum, all.impulse));
  solution->momentum_error = sap_momentum_error(sqrt(all.gradient), scale); /* (24) */
  solution->complementarity_error =                                         /* (25) */
      all.complementarity == 0
          ? 0
          : all.complementarity / (double)(w->triples.n_contacts + w->graph.sizes.n_rows) /
                fabs(all.cost);
  /* a bound that overflowed bounds nothing */
  solution->velocity_error_bound = isnan(all.bound) ? INFINITY : sqrt(all.bound);
  solution->cost_gap_bound = isnan(all.bound) ? INFINITY : 0.5 * all.bound;
}

/* ---- the loop over all islands ---- */

struct share {
  struct sap_workspace *w;
  const struct sap_job *job;
  const sap_solution *solution; /* whose arrays are written */
  _Atomic int32_t n_solved, n_wrong, n_deep;
};

/* returns how many of them break a rule */
static int32_t solve_islands(const struct share *share, struct sap_workspace *view, int32_t begin,
                             int32_t end) {
  int32_t n_wrong = 0;
  for (int32_t i = begin; i < end; ++i) {
    view->records = records_of(share->w, i);
    solve_island(view, i, share->job);
    n_wrong += !view->result[i].valid;
  }
  return n_wrong;
}

/* returns how many contacts began too deep */
static int32_t write_islands(const struct share *share, const struct sap_workspace *view,
                             int32_t begin, int32_t end) {
  int32_t deep = 0;
  for (int32_t i = begin; i < end; ++i) {
    deep += sap_results_write(view, &view->graph.island[i], share->solution);
  }
  sum_islands(view, begin, end);
  return deep;
}

static double spent_on(const struct sap_workspace *w, const struct sap_run *run) {
  static const double beside = 2; /* iterations that all else takes as long as */
  double work = 0;
  for (int32_t i = run->begin; i < run->end; ++i) {
    work += w->sharing.work[i] * (beside + w->result[i].newton.iterations);
  }
  return work;
}

/* Are all islands solved, so that results may be written? The caller waits for it, helpers not for
 * long; what is not solved yet is with other threads at work. */
static int all_solved(const struct share *share, int32_t thread) {
  static const double patience = 1e-3; /* s */
  struct sap_wait wait = {0};
  while (share->n_solved < share->w->graph.n_islands && (thread == 0 || wait.lasted < patience)) {
    sap_wait_a_little(&wait);
  }
  return share->n_solved == share->w->graph.n_islands;
}

/* What a thread has solved, where all islands keep the rules. */
static void write_solved(struct share *share, struct sap_workspace *view) {
  int32_t n_deep = 0;
  for (struct sap_run *run = view->solved; run && share->n_wrong == 0; run = run->next) {
    n_deep += write_islands(share, view, run->begin, run->end);
  }
  view->solved = NULL;
  share->n_deep += n_deep;
}

/* What a task does: as many runs as it comes to. Once all islands are solved it writes what its
 * thread has found. */
static void solve_runs(void *context, int32_t task, int32_t thread) {
  struct share *share = context;
  struct sap_workspace *w = share->w, *view = &w->view[thread];
  int32_t n_solved = 0, n_wrong = 0;
  (void)task;
  if (view->n_solves != w->n_solves) {
    sap_workspace_view(view, w, thread);
  }
  struct sap_run **end = &view->solved;
  while (*end) {
    end = &(*end)->next;
  }
  for (struct sap_run *run; (run = sap_sharing_take(&w->sharing, thread));) {
    const int32_t wrong = solve_islands(share, view, run->begin, run->end);
    run->work = wrong == 0 ? spent_on(w, run) : run->work;
    run->next = NULL;
    *end = run;
    end = &run->next;
    n_wrong += wrong;
    n_solved += run->end - run->begin;
  }
  share->n_wrong += n_wrong;
  share->n_solved += n_solved;
  if (all_solved(share, thread)) {
    write_solved(share, view);
  }
}

/* the same as solving and writing on one thread */
static void solve_on_threads(struct share *share, struct sap_threads *threads) {
  struct sap_workspace *w = share->w;
  const struct sap_loop loop = {solve_runs, share, w->sharing.n_threads};
  sap_sharing_divide(&w->sharing);
  sap_threads_run(threads, &loop);
  for (int32_t k = 0; k < w->sharing.n_threads; ++k) {
    write_solved(share, &w->view[k]); /* of those that left before all were solved */
  }
}

/* closes the gaps between the records of the islands */
static void gather_records(struct sap_workspace *w) {
  w->records.n = 0;
  for (int32_t i = 0; i < w->graph.n_islands; ++i) {
    const int32_t n = w->result[i].n_records;
    memmove(w->records.first + w->records.n, records_of(w, i).first,
            (size_t)n * sizeof *w->records.first);
    w->records.n += n;
  }
}

int sap_islands_solve(struct sap_workspace *w, struct sap_threads *threads,
                      const struct sap_job *job, sap_solution *solution) {
  struct share share = {.w = w, .job = job, .solution = solution};
  ++w->n_solves;
  if (threads) {
    solve_on_threads(&share, threads);
  } else {
    sap_workspace_view(w->view, w, 0);
    share.n_wrong = solve_islands(&share, w->view, 0, w->graph.n_islands);
    if (share.n_wrong == 0) {
      share.n_deep = write_islands(&share, w->view, 0, w->graph.n_islands);
    }
  }
  if (share.n_wrong > 0) {
    return 0;
  }
  sum_up(w, solution);
  if (w->records.capacity > 0) {
    gather_records(w);
  }
  solution->n_deep = share.n_deep;
  return 1;
}
