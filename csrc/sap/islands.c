#include "sap/islands.h"

#include <math.h>
#include <string.h>

#include "sap/certificate.h"
#include "sap/results.h"

void sap_islands_carve(struct sap_workspace *w, struct sap_arena *arena) {
  struct sap_sharing *sharing = &w->sharing;
  const size_t islands = (size_t)w->graph.n_islands;
  sharing->result = sap_arena_take(arena, islands, sizeof *sharing->result);
  const size_t runs = sharing->n_threads > 1 ? islands : 0;
  sharing->run = sap_arena_take(arena, runs, sizeof *sharing->run);
  sharing->neighbour = sap_arena_take(arena, runs, sizeof *sharing->neighbour);
  for (int32_t k = 1; k < sharing->n_threads; ++k) {
    sap_scratch_carve(&sharing->view[k].scratch, arena, &w->graph);
  }
}

/* ---- who does what ---- */

/* what an iteration costs, in multiply-adds: those of the factorization, and what a triple's law, products and
 * blocks take the time of */
static double estimate(const struct sap_graph *graph, int32_t i) {
  static const double per_triple = 3000;
  const struct sap_component *component = &graph->tree.component[i];
  const struct sap_island *island = &graph->island[i];
  double work = per_triple * (island->triple_end - island->triple_begin);
  for (int32_t s = component->supernode_begin; s < component->supernode_end; ++s) {
    const struct sap_supernode *supernode = &graph->tree.supernode[s];
    work += (double)supernode->n_cols * supernode->ld * supernode->ld;
  }
  return work;
}

/* the run of small islands that begins with `first` */
static struct sap_run find_run(const struct sap_island_result *result, int32_t n_islands,
                               double small, int32_t first) {
  struct sap_run run = {.begin = first, .end = first + 1, .work = result[first].work};
  while (run.end < n_islands && run.work + result[run.end].work < small) {
    run.work += result[run.end++].work;
  }
  return run;
}

void sap_islands_plan(struct sap_workspace *w) {
  enum { CLASSES = 64, RUNS = 16 };
  struct sap_sharing *sharing = &w->sharing;
  const struct sap_graph *graph = &w->graph;
  sharing->work = sharing->longest = 0;
  sharing->n_runs = 0;
  if (sharing->n_threads == 1) {
    return;
  }
  for (int32_t i = 0; i < graph->n_islands; ++i) {
    sharing->result[i].work = estimate(graph, i);
    sharing->work += sharing->result[i].work;
  }
  /* counting sort by powers of 2, the largest first: counts and their sums, then places */
  const double small = sharing->work / (RUNS * sharing->n_threads);
  int32_t begin[CLASSES + 1] = {0};
  for (int pass = 0; pass < 2; ++pass) {
    struct sap_run run = {.end = 0};
    int32_t n = 0;
    while (run.end < graph->n_islands) {
      run = find_run(sharing->result, graph->n_islands, small, run.end);
      const int class = CLASSES - 1 - (int)fmin(log2(run.work), CLASSES - 1);
      if (pass == 0) {
        ++begin[class + 1];
        ++sharing->n_runs;
        sharing->longest = fmax(sharing->longest, run.work);
      } else {
        sharing->neighbour[n++] = begin[class];
        sharing->run[begin[class]++] = run;
      }
    }
    for (int class = 0; class < CLASSES && pass == 0; ++class) {
      begin[class + 1] += begin[class];
    }
  }
}

int sap_islands_shareable(const struct sap_workspace *w) {
  static const double least = 6e5; /* some 20 us for each iteration */
  const struct sap_sharing *sharing = &w->sharing;
  const double time = fmax(sharing->longest, sharing->work / sharing->n_threads);
  return sharing->work - time > fmax(least, 0.05 * sharing->work);
}

/* Gives each thread neighbours, for where the data of two threads meet, both write to the same cache lines, and as
 * much as the others. */
static void find_homes(struct sap_sharing *sharing) {
  double work = 0, before = 0;
  for (int32_t r = 0; r < sharing->n_runs; ++r) {
    work += sharing->run[r].work;
  }
  for (int32_t k = 0; k < sharing->n_runs; ++k) {
    struct sap_run *run = &sharing->run[sharing->neighbour[k]];
    const double share = (before + run->work / 2) / work;
    run->home = (int32_t)fmin(sharing->n_threads * share, sharing->n_threads - 1);
    run->taken = run->written = 0;
    before += run->work;
  }
}

/* ---- solving ---- */

/* what each thread works with */
static void make_views(struct sap_workspace *w, int32_t n_threads) {
  struct sap_workspace *view = w->sharing.view;
  for (int32_t k = 0; k < n_threads; ++k) {
    const struct sap_scratch scratch = k == 0 ? w->scratch : view[k].scratch;
    view[k] = *w;
    view[k].scratch = scratch;
  }
}

/* the share of one island */
static struct sap_records records_of(const struct sap_workspace *w, int32_t i) {
  const int32_t capacity = w->graph.n_islands > 0 ? w->records.capacity / w->graph.n_islands : 0;
  return (struct sap_records){w->records.first + (int64_t)capacity * i, 0, capacity};
}

static void solve_island(struct sap_workspace *view, int32_t i, const struct sap_job *job) {
  const struct sap_island *island = &view->graph.island[i];
  struct sap_island_result *result = &view->sharing.result[i];
  result->valid = sap_workspace_bind(view, island, job->problem);
  if (!result->valid) {
    return;
  }
  sap_workspace_gather(view, island, job->v_guess ? job->v_guess : job->problem->v_star, view->v);
  result->newton = sap_newton(view, island, job->settings);
  result->bound = sap_certificate(view, island);
  result->complementarity = sap_complementarity(view, island);
  result->n_records = view->records.n;
}

/* ---- the loop over all islands ---- */

struct share {
  struct sap_workspace *w;
  const struct sap_job *job;
  const sap_solution *solution; /* whose arrays are written */
  _Atomic int32_t n_solved, n_wrong, n_deep;
  _Atomic int32_t n_absent; /* tasks that left before all islands were solved */
};

/* returns how many of them break a rule */
static int32_t solve_islands(const struct share *share, int32_t thread, int32_t begin,
                             int32_t end) {
  const struct sap_workspace *w = share->w;
  struct sap_workspace *view = &w->sharing.view[thread];
  int32_t n_wrong = 0;
  for (int32_t i = begin; i < end; ++i) {
    view->records = records_of(w, i);
    solve_island(view, i, share->job);
    n_wrong += !w->sharing.result[i].valid;
  }
  return n_wrong;
}

/* returns how many contacts began too deep */
static int32_t write_islands(const struct share *share, int32_t begin, int32_t end) {
  int32_t deep = 0;
  for (int32_t i = begin; i < end; ++i) {
    deep += sap_results_write(share->w, &share->w->graph.island[i], share->solution);
  }
  return deep;
}

static double spent_on(const struct sap_island_result *result, const struct sap_run *run) {
  static const double beside = 2; /* iterations that all else takes as long as */
  double work = 0;
  for (int32_t i = run->begin; i < run->end; ++i) {
    work += result[i].work * (beside + result[i].newton.iterations);
  }
  return work;
}

/* Are all islands solved, so that results may be written? The caller waits for it, helpers not for long; what is not
 * solved yet is with other threads at work. */
static int all_solved(const struct share *share, int32_t thread) {
  static const double patience = 1e-3; /* s */
  struct sap_wait wait = {0};
  while (share->n_solved < share->w->graph.n_islands && (thread == 0 || wait.lasted < patience)) {
    sap_wait_a_little(&wait);
  }
  return share->n_solved == share->w->graph.n_islands;
}

static int32_t write_run(const struct share *share, struct sap_run *run) {
  run->written = 1;
  return write_islands(share, run->begin, run->end);
}

/* What a task does: the runs of its thread, then those that others have not come to. Once all islands keep the rules it
 * writes what it has found. */
static void solve_runs(void *context, int32_t task, int32_t thread) {
  struct share *share = context;
  const struct sap_sharing *sharing = &share->w->sharing;
  int32_t n_solved = 0, n_wrong = 0, n_deep = 0;
  for (int others = 0; others < 2; ++others) {
    for (int32_t r = 0; r < sharing->n_runs; ++r) {
      struct sap_run *run = &sharing->run[r];
      if ((run->home != thread) == others && atomic_exchange(&run->taken, 1) == 0) {
        run->by = task;
        const int32_t wrong = solve_islands(share, thread, run->begin, run->end);
        run->work = wrong == 0 ? spent_on(sharing->result, run) : run->work;
        n_wrong += wrong;
        n_solved += run->end - run->begin;
      }
    }
  }
  share->n_wrong += n_wrong;
  share->n_solved += n_solved;
  if (!all_solved(share, thread)) {
    ++share->n_absent;
    return;
  }
  for (int32_t r = 0; r < sharing->n_runs && share->n_wrong == 0; ++r) {
    if (sharing->run[r].by == task) {
      n_deep += write_run(share, &sharing->run[r]);
    }
  }
  share->n_deep += n_deep;
}

/* what the absent ones have found */
static void write_rest(struct share *share) {
  const struct sap_sharing *sharing = &share->w->sharing;
  for (int32_t r = 0; r < sharing->n_runs && share->n_absent > 0; ++r) {
    if (!sharing->run[r].written) {
      share->n_deep += write_run(share, &sharing->run[r]);
    }
  }
}

/* ---- sums ---- */

/* worse outcomes have larger numbers; the problem's is the worst of its islands */
static void add_island(sap_solution *solution, const struct sap_newton_result *result) {
  if (result->outcome > solution->outcome) {
    solution->outcome = result->outcome;
    solution->tree = result->tree;
  }
  if (result->iterations > solution->iterations) {
    solution->iterations = result->iterations;
  }
  solution->total_iterations += result->iterations;
  solution->line_search_trials += result->trials;
  solution->cost += result->last.cost;
  solution->assembly_seconds += result->assembly_seconds;
  solution->factor_seconds += result->factor_seconds;
  solution->line_search_seconds += result->line_search_seconds;
}

static void add_islands(const struct sap_workspace *w, sap_solution *solution) {
  double gradient = 0, momentum = 0, impulse = 0, bound = 0, complementarity = 0;
  for (int32_t i = 0; i < w->graph.n_islands; ++i) {
    const struct sap_island_result *result = &w->sharing.result[i];
    const struct sap_evaluation *last = &result->newton.last;
    add_island(solution, &result->newton);
    gradient += last->gradient * last->gradient;
    momentum += last->momentum * last->momentum;
    impulse += last->impulse * last->impulse;
    bound += result->bound;
    complementarity += result->complementarity;
  }
  const double scale = sqrt(fmax(momentum, impulse));
  solution->momentum_error = sap_momentum_error(sqrt(gradient), scale); /* (24) */
  solution->complementarity_error =                                     /* (25) */
      complementarity == 0
          ? 0
          : complementarity / (double)(w->triples.n_contacts + w->graph.sizes.n_rows) /
                fabs(solution->cost);
  /* a bound that overflowed bounds nothing */
  solution->velocity_error_bound = isnan(bound) ? INFINITY : sqrt(bound);
  solution->cost_gap_bound = isnan(bound) ? INFINITY : 0.5 * bound;
}

/* closes the gaps between the records of the islands */
static void gather_records(struct sap_workspace *w) {
  w->records.n = 0;
  for (int32_t i = 0; i < w->graph.n_islands; ++i) {
    const int32_t n = w->sharing.result[i].n_records;
    memmove(w->records.first + w->records.n, records_of(w, i).first,
            (size_t)n * sizeof *w->records.first);
    w->records.n += n;
  }
}

/* the same as solving, summing up and writing on one thread */
static void solve_on_threads(struct share *share, struct sap_threads *threads,
                             sap_solution *solution) {
  struct sap_workspace *w = share->w;
  const struct sap_loop loop = {solve_runs, share, w->sharing.n_threads};
  find_homes(&w->sharing);
  sap_threads_open(threads, &loop);
  sap_threads_help(threads);
  if (all_solved(share, 0) && share->n_wrong == 0) {
    add_islands(w, solution);
  }
  sap_threads_finish(threads, &loop);
  if (share->n_wrong == 0) {
    write_rest(share);
  }
}

int sap_islands_solve(struct sap_workspace *w, struct sap_threads *threads,
                      const struct sap_job *job, sap_solution *solution) {
  struct share share = {.w = w, .job = job, .solution = solution};
  make_views(w, threads ? w->sharing.n_threads : 1);
  if (threads) {
    solve_on_threads(&share, threads, solution);
  } else {
    share.n_wrong = solve_islands(&share, 0, 0, w->graph.n_islands);
    if (share.n_wrong == 0) {
      add_islands(w, solution);
      share.n_deep = write_islands(&share, 0, w->graph.n_islands);
    }
  }
  if (share.n_wrong > 0) {
    return 0;
  }
  if (w->records.capacity > 0) {
    gather_records(w);
  }
  solution->n_deep = share.n_deep;
  return 1;
}
