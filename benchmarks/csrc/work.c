#include "work.h"

#include <math.h>
#include <string.h>

#include "problem/graph/graph.h"

/* Per contact. The law reads v_c, v_hat, R^-1 and four constants (12 doubles) and writes y, gamma,
 * t and G (14). A trial reads y, dy, dv_c and five constants (14). */
static const struct operations law = {34, 2, 8 * (12 + 14)};
static const struct operations trial = {31, 2, 8 * 14};

/* bytes per contact: G, gamma; dv_c written and read, v_c moved; all of the above together */
enum { G_BYTES = 8 * 6, GAMMA_BYTES = 8 * 3, STEP_BYTES = 8 * (6 + 6), CONTACT_BYTES = 8 * 40 };

/* Per scalar. Norms of (20) and the cost: momentum, A v*, impulse, D and v - v* read, the gradient
 * written. Dots and the step: dv, dp, gradient and v - v* read, v and momentum moved. */
enum { NORM_FLOPS = 13, NORM_BYTES = 8 * 6, STEP_FLOPS = 10, MOVE_BYTES = 8 * 8 };
enum { SCALAR_BYTES = 8 * 9 }; /* of the vectors named here */

/* the graph, and the columns of its Cholesky factor */
struct symbolic {
  struct sap_graph graph;
  struct sap_block block;
  int32_t *start, *neighbour; /* (n_nodes + 1), (n_edges): lower neighbours of each position */
  int32_t *parent, *mark;     /* (n_nodes): elimination tree */
  int64_t *rows;              /* (n_nodes): scalars below the diagonal block */
};

static void carve(struct symbolic *s, struct sap_arena *arena, const sap_problem *problem) {
  /* more nodes and edges than these no graph has */
  const size_t nodes = (size_t)problem->n_trees, edges = (size_t)problem->n_contacts;
  sap_graph_carve(&s->graph, arena, problem->n_trees, problem->n_contacts);
  s->start = sap_arena_take(arena, nodes + 1, sizeof(int32_t));
  s->neighbour = sap_arena_take(arena, edges, sizeof(int32_t));
  s->parent = sap_arena_take(arena, nodes, sizeof(int32_t));
  s->mark = sap_arena_take(arena, nodes, sizeof(int32_t));
  s->rows = sap_arena_take(arena, nodes, sizeof(int64_t));
}

/* patches come by their lower position: sorted by the higher one they are the rows of H */
static void list_neighbours(struct symbolic *s) {
  const struct sap_graph *graph = &s->graph;
  memset(s->start, 0, ((size_t)graph->n_nodes + 1) * sizeof *s->start);
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    if (graph->patch[p].high >= 0) {
      s->start[graph->patch[p].high + 1]++;
    }
  }
  for (int32_t i = 0; i < graph->n_nodes; ++i) {
    s->start[i + 1] += s->start[i];
    s->mark[i] = s->start[i]; /* where the next one goes */
  }
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    if (graph->patch[p].high >= 0) {
      s->neighbour[s->mark[graph->patch[p].high]++] = graph->patch[p].low;
    }
  }
}

/* row by row, walking up the elimination tree as it grows */
static void count_rows(struct symbolic *s) {
  for (int32_t i = 0; i < s->graph.n_nodes; ++i) {
    s->parent[i] = -1;
    s->mark[i] = i;
    s->rows[i] = 0;
    for (int32_t p = s->start[i]; p < s->start[i + 1]; ++p) {
      for (int32_t j = s->neighbour[p]; s->mark[j] != i; j = s->parent[j]) {
        s->mark[j] = i;
        s->rows[j] += sap_node_size(&s->graph.tree, i);
        if (s->parent[j] < 0) {
          s->parent[j] = i;
        }
      }
    }
  }
}

/* ---- operations of one island ---- */

/* what happens once per evaluation, per direction and per trial */
struct island_parts {
  struct operations law, gradient;
  struct operations assembly, factorization, solves, direction;
  struct operations trial;
  double resident;
};

static void add(struct operations *sum, double times, struct operations x) {
  sum->flops += times * x.flops;
  sum->roots += times * x.roots;
  sum->bytes += times * x.bytes;
}

/* a block of A and its columns of L, `rows` scalars below the block */
static void add_node(struct island_parts *parts, int32_t size, int64_t rows) {
  const double n = size, half = n * (n + 1) / 2;
  double entries = 0;
  for (int32_t k = 0; k < size; ++k) {
    const double c = (double)(rows + k); /* below the diagonal, last column first */
    entries += c + 1;
    add(&parts->factorization, 1, (struct operations){c * (c + 2), 2, 8 * (c + 1)});
    add(&parts->solves, 1, (struct operations){4 * c + 2, 0, 2 * 8 * (c + 1) + 8 * 4});
  }
  /* H is read where it is no fill: the diagonal block here, the others in add_patch() */
  add(&parts->factorization, 1, (struct operations){0, 0, 8 * half});
  add(&parts->assembly, 1, (struct operations){0, 0, 2 * 8 * half});
  add(&parts->gradient, n, (struct operations){NORM_FLOPS, 0, NORM_BYTES});
  add(&parts->direction, n, (struct operations){STEP_FLOPS, 0, MOVE_BYTES});
  add(&parts->direction, 1, (struct operations){2 * n * n, 0, 8 * half});
  parts->resident += 8 * (half + entries) + n * SCALAR_BYTES;
}

/* contacts of one patch between trees with n_low and n_high velocities, 0 for the world */
static void add_patch(struct island_parts *parts, const struct sap_graph *graph,
                      const struct sap_patch *patch, const int8_t *regions) {
  const double n_low = sap_node_size(&graph->tree, patch->low);
  const double n_high = patch->high < 0 ? 0 : sap_node_size(&graph->tree, patch->high);
  const double n = n_low + n_high, J_bytes = 8 * 3 * n;
  for (int32_t place = patch->begin; place < patch->end; ++place) {
    const int8_t region = regions[graph->triple[place]];
    const double rank = region == SAP_STICTION ? 3 : region == SAP_SLIDING ? 2 : 0;
    add(&parts->law, 1, law);
    add(&parts->trial, 1, trial);
    add(&parts->direction, 1, (struct operations){6 * n + 6, 0, J_bytes + STEP_BYTES});
    parts->resident += J_bytes + CONTACT_BYTES;
    if (rank == 0) {
      continue;
    }
    add(&parts->gradient, 1, (struct operations){6 * n, 0, J_bytes + GAMMA_BYTES});
    const double root = rank == 3 ? 3 * n : 8 * n;
    const double squares = n_low * (n_low + 1) + n_high * (n_high + 1) + 2 * n_low * n_high;
    add(&parts->assembly, 1, (struct operations){root + rank * squares, 0, J_bytes + G_BYTES});
  }
  add(&parts->assembly, 1, (struct operations){0, 0, 8 * n_low * n_high});
  add(&parts->factorization, 1, (struct operations){0, 0, 8 * n_low * n_high});
}

static void count_island(const struct symbolic *s, const struct sap_island *island,
                         const int8_t *regions, struct island_work *work) {
  struct island_parts parts = {0};
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    add_node(&parts, sap_node_size(&s->graph.tree, i), s->rows[i]);
  }
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    add_patch(&parts, &s->graph, &s->graph.patch[p], regions);
  }
  add(&work->phase[WORK_LAW], work->evaluations, parts.law);
  add(&work->phase[WORK_PRODUCTS], work->evaluations, parts.gradient);
  add(&work->phase[WORK_PRODUCTS], work->directions, parts.direction);
  add(&work->phase[WORK_ASSEMBLY], work->directions, parts.assembly);
  add(&work->phase[WORK_FACTORIZATION], work->directions, parts.factorization);
  add(&work->phase[WORK_SOLVES], work->directions, parts.solves);
  add(&work->phase[WORK_LINE_SEARCH], work->trials, parts.trial);
  work->resident = parts.resident;
}

/* ---- events ---- */

/* The first record of an island is the guess, and each further one came from a direction. */
static void count_events(int32_t n, const int32_t *island, const int32_t *trials, int32_t n_islands,
                         struct island_work *islands) {
  memset(islands, 0, (size_t)n_islands * sizeof *islands);
  for (int32_t k = 0; k < n; ++k) {
    struct island_work *work = &islands[island[k]];
    work->directions += work->evaluations > 0;
    work->evaluations++;
    work->trials += trials[k];
  }
}

int benchmark_work(const sap_problem *problem, const int8_t *regions, int32_t n,
                   const int32_t *island, const int32_t *trials, int32_t n_islands,
                   struct island_work *islands) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  struct symbolic s = {.block = {NULL, NULL, 0}};
  sap_sizes sizes;
  const sap_status status = sap_problem_sizes(problem, &sizes, NULL);
  if (status != SAP_OK) {
    return (int)status;
  }
  struct sap_arena arena = {NULL, 0};
  carve(&s, &arena, problem);
  if (!sap_block_reserve(&s.block, arena.used, &memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  arena = (struct sap_arena){s.block.base, 0};
  carve(&s, &arena, problem);
  const struct sap_triples contacts = {.n = problem->n_contacts,
                                       .n_contacts = problem->n_contacts,
                                       .tree_a = problem->tree_a,
                                       .tree_b = problem->tree_b};
  sap_graph_build(&s.graph, problem, &contacts, &sizes, problem->tree_nv, NULL, n_islands == 1,
                  NULL);
  const int fits = s.graph.n_islands == n_islands;
  if (fits) {
    count_events(n, island, trials, n_islands, islands);
    list_neighbours(&s);
    count_rows(&s);
    for (int32_t i = 0; i < n_islands; ++i) {
      count_island(&s, &s.graph.island[i], regions, &islands[i]);
    }
  }
  sap_block_release(&s.block, &memory);
  return fits ? SAP_OK : SAP_INVALID_ARGUMENT;
}
