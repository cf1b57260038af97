#include "sap/islands.h"

#include <math.h>
#include <string.h>

#include "sap/certificate.h"
#include "sap/results.h"

void sap_islands_carve(struct sap_workspace *w, struct sap_arena *arena) {
  struct sap_sharing *sharing = &w->sharing;
  const size_t islands = (size_t)w->graph.n_islands;
  sharing->result = sap_arena_take(arena, islands, sizeof *sharing->result);
  sharing->run = sap_arena_take(arena, sharing->n_threads > 1 ? islands : 0, sizeof *sharing->run);
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

/* the thread of a run that begins behind so much work: each has neighbours, for where the data of two meet, both
 * write to the same cache lines */
static int32_t find_home(const struct sap_sharing *sharing, double before, double work) {
  const double share = (before + work / 2) / sharing->work;
  return (int32_t)fmin(sharing->n_threads * share, sharing->n_threads - 1);
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
    double before = 0;
    while (run.end < graph->n_islands) {
      run = find_run(sharing->result, graph->n_islands, small, run.end);
      const int class = CLASSES - 1 - (int)fmin(log2(run.work), CLASSES - 1);
      if (pass == 0) {
        ++begin[class + 1];
        ++sharing->n_runs;
        sharing->longest = fmax(sharing->longest, run.work);
      } else {
        run.home = find_home(sharing, before, run.work);
        sharing->run[begin[class]++] = run;
      }
      before += run.work;
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
};

static void solve_islands(const struct share *share, int32_t thread, int32_t begin, int32_t end) {
  const struct sap_workspace *w = share->w;
  struct sap_workspace *view = &w->sharing.view[thread];
  for (int32_t i = begin; i < end; ++i) {
    view->records = records_of(w, i);
    solve_island(view, i, share->job);
  }
}

/* what one thread does: its own runs, then those that others have not come to */
static void solve_runs(void *context, int32_t task, int32_t thread) {
  const struct share *share = context;
  const struct sap_sharing *sharing = &share->w->sharing;
  (void)task;
  for (int others = 0; others < 2; ++others) {
    for (int32_t r = 0; r < sharing->n_runs; ++r) {
      struct sap_run *run = &sharing->run[r];
      if ((run->home != thread) == others && atomic_exchange(&run->taken, 1) == 0) {
        run->by = thread;
        solve_islands(share, thread, run->begin, run->end);
      }
    }
  }
}

static void solve_all(struct sap_threads *threads, struct share *share) {
  const struct sap_sharing *sharing = &share->w->sharing;
  make_views(share->w, threads ? sharing->n_threads : 1);
  if (!threads) {
    solve_islands(share, 0, 0, share->w->graph.n_islands);
    return;
  }
  for (int32_t r = 0; r < sharing->n_runs; ++r) {
    atomic_store_explicit(&sharing->run[r].taken, 0, memory_order_relaxed);
  }
  const struct sap_loop loop = {solve_runs, share, sharing->n_threads, 0};
  sap_threads_run(threads, &loop);
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

int sap_islands_solve(struct sap_workspace *w, struct sap_threads *threads,
                      const struct sap_job *job, sap_solution *solution) {
  struct share share = {w, job};
  solve_all(threads, &share);
  for (int32_t i = 0; i < w->graph.n_islands; ++i) {
    if (!w->sharing.result[i].valid) {
      return 0;
    }
  }
  add_islands(w, solution);
  if (w->records.capacity > 0) {
    gather_records(w);
  }
  return 1;
}

/* ---- results ---- */

struct output {
  const struct sap_workspace *w;
  const sap_solution *solution;
  _Atomic int32_t n_deep;
};

static int32_t write_islands(const struct output *output, int32_t begin, int32_t end) {
  const struct sap_workspace *w = output->w;
  int32_t deep = 0;
  for (int32_t i = begin; i < end; ++i) {
    deep += sap_results_write(w, &w->graph.island[i], output->solution);
  }
  return deep;
}

/* what one thread has solved, which only it has in its cache */
static void write_runs(void *context, int32_t task, int32_t thread) {
  struct output *output = context;
  const struct sap_sharing *sharing = &output->w->sharing;
  int32_t deep = 0;
  (void)thread;
  for (int32_t r = 0; r < sharing->n_runs; ++r) {
    if (sharing->run[r].by == task) {
      deep += write_islands(output, sharing->run[r].begin, sharing->run[r].end);
    }
  }
  output->n_deep += deep;
}

void sap_islands_write(const struct sap_workspace *w, struct sap_threads *threads,
                       sap_solution *solution) {
  struct output output = {w, solution, 0};
  if (threads) {
    const struct sap_loop loop = {write_runs, &output, w->sharing.n_threads, 1};
    sap_threads_run(threads, &loop);
  } else {
    output.n_deep = write_islands(&output, 0, w->graph.n_islands);
  }
  solution->n_deep = output.n_deep;
}
