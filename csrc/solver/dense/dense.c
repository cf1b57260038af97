#include "solver/dense/dense.h"

#include <math.h>
#include <string.h>

#include "constraints/kinds/kinds.h"
#include "solver/certificate/certificate.h"
#include "solver/write_results.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static void carve_graph(void *context, struct sap_arena *arena) {
  struct sap_dense *dense = context;
  sap_graph_carve(&dense->graph, arena, dense->graph.n_trees, dense->graph.n_triples);
}

static void carve(void *context, struct sap_arena *arena) {
  struct sap_dense *dense = context;
  const struct sap_components *c = &dense->components;
  int32_t widest = 0, n_contacts = 0;
  for (int32_t t = 0; t < c->n_trees; ++t) {
    if (c->is_dense[t]) {
      widest = c->size[t] > widest ? c->size[t] : widest;
      n_contacts += c->n_contacts[t];
    }
  }
  sap_workspace_carve(&dense->work, arena);
  sap_dense_unknowns_carve(&dense->unknowns, arena, widest, n_contacts > 0);
  sap_condensed_carve(&dense->condensed, arena, widest);
  /* the same triples may have other rows in the next problem, up to three each */
  dense->row = sap_arena_take(arena, 3 * (size_t)dense->graph.n_places, sizeof *dense->row);
  dense->records.first =
      sap_arena_take(arena, (size_t)dense->records.capacity, sizeof *dense->records.first);
}

/* Builds the graph of the dense components, and makes room for their islands. */
static int build(struct sap_dense *dense, const struct sap_plan *plan, const sap_problem *problem,
                 const sap_sizes *sizes, const sap_settings *settings) {
  const struct sap_components *c = &dense->components;
  struct sap_graph *graph = &dense->graph;
  dense->work.plan = plan;
  dense->work.graph = graph;
  dense->records.capacity = settings->record_history ? SAP_DENSE_RECORDS * c->n_dense : 0;
  graph->n_trees = problem->n_trees;
  graph->n_triples = plan->triples.n;
  if (!sap_block_carve(&dense->graph_block, carve_graph, dense, &plan->memory)) {
    return 0;
  }
  sap_graph_build(graph, problem, &plan->triples, sizes, problem->tree_nv, c->is_other, 0,
                  c->first);
  return sap_block_carve(&dense->block, carve, dense, &plan->memory);
}

int sap_dense_fit(struct sap_dense *dense, const struct sap_plan *plan, const sap_problem *problem,
                  const sap_sizes *sizes, const sap_settings *settings) {
  const struct sap_graph *graph = &dense->graph;
  const int is_of_list = dense->has_graph && graph->version == plan->triples.version;
  if (!is_of_list && !(dense->has_graph && sap_graph_has_contacts(graph, problem) &&
                       sap_graph_has_triples(graph, &plan->triples, problem->tree_nv,
                                             dense->components.is_other, 0))) {
    dense->has_graph = build(dense, plan, problem, sizes, settings);
  }
  dense->records.n = 0;
  return dense->has_graph;
}

/* ---- one component --------------------------------------------------------------------------- */

/* Finds the run of a row in one of its trees: from its first to its last chunk. */
static struct sap_dense_run find_run(const struct sap_jacobian *J, const struct sap_dense_row *row,
                                     int high, int32_t first_scalar) {
  const struct sap_patch *patch = row->patch;
  const struct sap_packed_row side = sap_packed_row(J, patch, high, row->place, row->r);
  const int32_t chunk = sap_chunk(side.n), node = high ? patch->high : patch->low;
  const int32_t begin = side.chunks ? chunk * __builtin_ctzll(side.chunks) : 0;
  const int32_t end = side.chunks ? chunk * (64 - __builtin_clzll(side.chunks)) : 1;
  return (struct sap_dense_run){side.J + begin,
                                J->graph->tree.node_scalar[node] - first_scalar + begin,
                                (end < side.n ? end : side.n) - begin};
}

static void set_row(struct sap_dense_row *row, const struct sap_jacobian *J,
                    const struct sap_patch *patch, int32_t place, int r, int32_t first_scalar) {
  row->patch = patch;
  row->place = place;
  row->r = (uint8_t)r;
  row->n_runs = 1;
  if (patch->is_diagonal) {
    row->run[0].J = &J->entry[r][place];
    row->run[0].scalar = J->scalar[r][place] - first_scalar;
    row->run[0].n = 1;
    return;
  }
  row->run[0] = find_run(J, row, 0, first_scalar);
  if (patch->high >= 0) {
    row->run[row->n_runs++] = find_run(J, row, 1, first_scalar);
  }
}

/* Lists the rows of the clamped triples of an island. */
static struct sap_dense_island bind_island(struct sap_dense *dense,
                                           const struct sap_island *island) {
  const struct sap_components *c = &dense->components;
  const struct sap_graph *graph = &dense->graph;
  const struct sap_origin origin = sap_graph_origin(graph, &dense->work.plan->triples);
  const int32_t t = c->first[graph->node_tree[island->node_begin]];
  struct sap_dense_row *row = dense->row;
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    for (int32_t i = patch->begin; sap_laws[patch->law]->takes_rows && i < patch->end; ++i) {
      const int n_rows = sap_rows_at(&origin, i)->n;
      for (int r = 0; r < n_rows; ++r) {
        set_row(row++, &dense->work.J, patch, i, r, island->scalar_begin);
      }
    }
  }
  return (struct sap_dense_island){.w = &dense->work,
                                   .island = island,
                                   .n = island->scalar_end - island->scalar_begin,
                                   .n_contacts = c->n_contacts[t],
                                   .n_impulses = c->impulses[t],
                                   .n_rows = (int32_t)(row - dense->row),
                                   .row = dense->row,
                                   .unknowns = &dense->unknowns,
                                   .condensed = &dense->condensed};
}

/* Is the island at rest: is |v| small compared with |v* - v|, the gain of the free motion? */
static int is_at_rest(const struct sap_workspace *w, const struct sap_island *island) {
  double before = 0, gained = 0;
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    const double mass = w->diagonal[i], gain = w->v_star[i] - w->v[i];
    before += mass * w->v[i] * w->v[i];
    gained += mass * gain * gain;
  }
  return before <= sap_rest_share * sap_rest_share * gained;
}

/* Sets v = v*, where the step to all impulses begins. Returns 0 if v was v* already. */
static int begin_at_star(struct sap_workspace *w, const struct sap_island *island) {
  const size_t bytes = (size_t)(island->scalar_end - island->scalar_begin) * sizeof *w->v;
  double *v = w->v + island->scalar_begin;
  const int is_new = memcmp(v, w->v_star + island->scalar_begin, bytes) != 0;
  memcpy(v, w->v_star + island->scalar_begin, bytes);
  return is_new;
}

static struct sap_evaluation evaluate(struct sap_workspace *w, const struct sap_island *island,
                                      const sap_settings *settings) {
  sap_refresh(w, island);
  return sap_evaluate(w, island, settings->friction);
}

/* Iterates from w->v. Returns 1 if (20) holds; 0 if a step reduces the gradient too little. */
static int iterate(const struct sap_dense_island *d, const sap_settings *settings,
                   struct sap_newton_result *result) {
  struct sap_workspace *w = d->w;
  const struct sap_island *island = d->island;
  const int condenses = sap_contact_step_condenses(d);
  const int32_t contact_steps = condenses ? SAP_DENSE_STEPS : 1;
  const int32_t most =
      settings->max_iterations < contact_steps ? settings->max_iterations : contact_steps;
  const int from_star = d->n_contacts > 0 && !condenses;
  double before = INFINITY, cost = 0;
  enum sap_contact_step step = SAP_CONTACT_STEP_LEAVES_ROWS;
  if (from_star && !is_at_rest(w, island)) {
    begin_at_star(w, island);
  }
  for (result->iterations = 0;; ++result->iterations) {
    const int is_first = result->iterations == 0;
    const struct sap_evaluation now = result->last = evaluate(w, island, settings);
    const struct sap_step taken = {.alpha = 1};
    /* Coulomb's friction has no cost that decreases */
    const int has_cost = d->n_contacts == 0 || settings->friction == SAP_FRICTION_CONVEX;
    sap_record(w, island, result->iterations, &taken, is_first || !has_cost ? 0 : cost - now.cost,
               &now);
    cost = now.cost;
    if (now.gradient <= sap_tolerance(w, settings, &now) && now.cost < INFINITY) {
      return 1;
    }
    const int falls = now.gradient < sap_useful_step * before;
    if (result->iterations == most || !(now.gradient < INFINITY) ||
        (!falls && step == SAP_CONTACT_STEP_SETTLES)) {
      return 0;
    }
    before = now.gradient;
    if (from_star && begin_at_star(w, island)) {
      before = evaluate(w, island, settings).gradient;
    }
    step = sap_contact_step_take(d, is_first);
    if (step == SAP_CONTACT_STEP_FAILS) {
      return 0;
    }
  }
}

/* Solves an island. Returns 0 if it is left to supernodal storage. */
static int solve_island(struct sap_dense *dense, const struct sap_island *island,
                        const sap_problem *problem, const double *guess,
                        const sap_settings *settings, struct sap_sums *sums) {
  struct sap_workspace *w = &dense->work;
  struct sap_island_result result = {.valid = sap_workspace_bind(w, island, problem),
                                     .newton = {.outcome = SAP_CONVERGED, .tree = -1}};
  if (!result.valid) {
    return 0;
  }
  const struct sap_dense_island d = bind_island(dense, island);
  sap_workspace_gather(w, island, guess, w->v);
  if (!iterate(&d, settings, &result.newton)) {
    return 0;
  }
  const struct sap_evaluation *last = &result.newton.last;
  result.newton.coulomb_gradient = last->gradient;
  if (!isfinite(last->scale + last->cost)) {
    return 0;
  }
  if (!w->plan->leaves_bounds_out) {
    sap_bound_error(w, island);
  }
  result.bound = sap_certificate(w, island);
  result.complementarity = sap_complementarity(w, island);
  sap_sums_add_island(sums, &result);
  sums->n_scalars += d.n;
  return 1;
}

/* ---- the components -------------------------------------------------------------------------- */

int32_t sap_dense_solve(struct sap_dense *dense, const sap_problem *problem, const double *v_guess,
                        const sap_settings *settings, struct sap_sums *sums) {
  struct sap_components *c = &dense->components;
  const struct sap_graph *graph = &dense->graph;
  struct sap_records *records = &dense->work.records;
  int32_t n_solved = 0;
  *records = dense->records;
  dense->unknowns.impulses.is_convex = settings->friction == SAP_FRICTION_CONVEX;
  for (int32_t k = 0; k < graph->n_islands; ++k) {
    const struct sap_island *island = &graph->island[k];
    const int32_t first = records->n, t = graph->node_tree[island->node_begin];
    const int is_solved =
        solve_island(dense, island, problem, v_guess ? v_guess : problem->v_star, settings, sums);
    records->n = is_solved ? records->n : first;
    for (int32_t i = first; i < records->n; ++i) {
      records->first[i].island = c->island[t];
    }
    for (int32_t i = island->node_begin; i < island->node_end; ++i) {
      c->is_solved[graph->node_tree[i]] = (int8_t)is_solved;
    }
    n_solved += is_solved;
  }
  dense->records = *records;
  return n_solved;
}

void sap_dense_write(const struct sap_dense *dense, const sap_solution *solution) {
  const struct sap_components *c = &dense->components;
  for (int32_t k = 0; k < dense->graph.n_islands; ++k) {
    const struct sap_island *island = &dense->graph.island[k];
    const int32_t t = dense->graph.node_tree[island->node_begin];
    if (c->is_solved[t]) {
      sap_results_write(&dense->work, island, solution);
      if (solution->islands) {
        solution->islands[c->island[t]] =
            (sap_island_report){SAP_ALGORITHM_DELASSUS, SAP_STORAGE_DENSE, 0, SAP_CONVERGED, t};
      }
    }
  }
}

size_t sap_dense_memory(const struct sap_dense *dense) {
  return dense->graph_block.capacity + dense->block.capacity + dense->components.block.capacity;
}

void sap_dense_release(struct sap_dense *dense, const sap_allocator *allocator) {
  sap_block_release(&dense->graph_block, allocator);
  sap_block_release(&dense->block, allocator);
  sap_block_release(&dense->components.block, allocator);
  dense->has_graph = 0;
  dense->components.room = 0;
}
