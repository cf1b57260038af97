/* A system is a supernodal factorization of the blocks of a graph. Vertices that come last are
 * chained by edges, empty where the mesh has none: then they are the last positions of the
 * elimination, in the given order, whatever the graph is. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "fem/dissection.h"
#include "fem/fem_tuning.h"
#include "linalg/factorization.h"
#include "sapwood/fem.h"

struct fem_system {
  sap_allocator allocator;
  fem_graph graph;
  struct sap_block graph_block, tree_block, rows_block, updates_block, places_block, values_block;
  int is_ordered, is_factored;

  /* graph_block */
  int32_t *start, *neighbour; /* neighbours of each vertex in the graph */
  int32_t *size;              /* (n) 3 */
  int32_t *edge_a, *edge_b;   /* (n_edges) pairs of the graph, then the chain */
  int32_t *low, *high;        /* (n_edges) positions */
  int32_t *side, *scratch;    /* (n) */
  int8_t *is_last, *is_fixed; /* (n) */
  double *x;                  /* (3 n) by position */

  int32_t n_last;
  struct sap_junction_tree tree;
  struct sap_factor factor;
  double *last_factor; /* (3 n_last, 3 n_last) L_pp, column-major */
};

/* ---- memory ---- */

static void carve_graph(void *context, struct sap_arena *arena) {
  fem_system *s = context;
  const size_t n = (size_t)s->graph.n_vertices, pairs = (size_t)s->graph.n_pairs;
  s->start = sap_arena_take(arena, n + 1, sizeof(int32_t));
  s->neighbour = sap_arena_take(arena, 2 * pairs, sizeof(int32_t));
  s->size = sap_arena_take(arena, n, sizeof(int32_t));
  s->edge_a = sap_arena_take(arena, pairs + n, sizeof(int32_t));
  s->edge_b = sap_arena_take(arena, pairs + n, sizeof(int32_t));
  s->low = sap_arena_take(arena, pairs + n, sizeof(int32_t));
  s->high = sap_arena_take(arena, pairs + n, sizeof(int32_t));
  s->side = sap_arena_take(arena, n, sizeof(int32_t));
  s->scratch = sap_arena_take(arena, n, sizeof(int32_t));
  s->is_last = sap_arena_take(arena, n, sizeof(int8_t));
  s->is_fixed = sap_arena_take(arena, n, sizeof(int8_t));
  s->x = sap_arena_take(arena, 3 * n, sizeof(double));
}

static void carve_tree(void *context, struct sap_arena *arena) {
  fem_system *s = context;
  const int32_t n = s->graph.n_vertices;
  /* there is room for any chain */
  sap_junction_tree_carve(&s->tree, arena, n, s->graph.n_pairs + n);
}

static void carve_rows(void *context, struct sap_arena *arena) {
  sap_junction_tree_carve_rows(&((fem_system *)context)->tree, arena);
}

static void carve_updates(void *context, struct sap_arena *arena) {
  sap_junction_tree_carve_updates(&((fem_system *)context)->tree, arena);
}

static void carve_places(void *context, struct sap_arena *arena) {
  sap_factor_carve_places(&((fem_system *)context)->factor, arena);
}

static void carve_values(void *context, struct sap_arena *arena) {
  fem_system *s = context;
  const size_t p = 3 * (size_t)s->n_last;
  sap_factor_carve_values(&s->factor, arena);
  s->last_factor = sap_arena_take(arena, p * p, sizeof(double));
}

/* ---- graph ---- */

static void list_neighbours(fem_system *s) {
  const fem_graph *a = &s->graph;
  memset(s->start, 0, ((size_t)a->n_vertices + 1) * sizeof *s->start);
  for (int64_t k = 0; k < 2 * (int64_t)a->n_pairs; ++k) {
    s->start[a->pairs[k] + 1]++;
  }
  for (int32_t i = 0; i < a->n_vertices; ++i) {
    s->start[i + 1] += s->start[i];
    s->scratch[i] = s->start[i];
    s->size[i] = 3;
  }
  for (int32_t e = 0; e < a->n_pairs; ++e) {
    const int32_t i = a->pairs[2 * (int64_t)e], j = a->pairs[2 * (int64_t)e + 1];
    s->neighbour[s->scratch[i]++] = j;
    s->neighbour[s->scratch[j]++] = i;
    s->edge_a[e] = i;
    s->edge_b[e] = j;
  }
}

sap_status fem_system_create(fem_system **system, const fem_graph *graph,
                             const sap_allocator *allocator) {
  *system = NULL;
  if (graph->n_pairs > INT32_MAX - graph->n_vertices) {
    return SAP_OUT_OF_MEMORY;
  }
  const sap_allocator memory = sap_allocator_or_default(allocator);
  fem_system *s = memory.allocate(sizeof *s, memory.context);
  if (!s) {
    return SAP_OUT_OF_MEMORY;
  }
  *s = (fem_system){.allocator = memory, .graph = *graph};
  if (!sap_block_carve(&s->graph_block, carve_graph, s, &memory)) {
    fem_system_destroy(s);
    return SAP_OUT_OF_MEMORY;
  }
  list_neighbours(s);
  *system = s;
  return SAP_OK;
}

void fem_system_destroy(fem_system *system) {
  if (system) {
    const sap_allocator memory = system->allocator;
    sap_block_release(&system->graph_block, &memory);
    sap_block_release(&system->tree_block, &memory);
    sap_block_release(&system->rows_block, &memory);
    sap_block_release(&system->updates_block, &memory);
    sap_block_release(&system->places_block, &memory);
    sap_block_release(&system->values_block, &memory);
    memory.release(system, memory.context);
  }
}

/* ---- order ---- */

static sap_status check_last(const fem_system *s, int32_t n_last, const int32_t *last,
                             sap_error *error) {
  const int32_t n = s->graph.n_vertices;
  if (n_last < 0 || n_last > n) {
    return sap_invalid(error, "last", -1, n_last, "must be 0 to all of the vertices");
  }
  for (int32_t k = 0; k < n_last; ++k) {
    if (last[k] < 0 || last[k] >= n) {
      return sap_invalid(error, "last", k, last[k], "names a vertex that is not there");
    }
    if (k > 0 && last[k] <= last[k - 1]) {
      return sap_invalid(error, "last", k, last[k], "must be ascending");
    }
  }
  return SAP_OK;
}

static int are_neighbours(const fem_system *s, int32_t i, int32_t j) {
  for (int32_t k = s->start[i]; k < s->start[i + 1]; ++k) {
    if (s->neighbour[k] == j) {
      return 1;
    }
  }
  return 0;
}

/* Appends the chain of the last vertices to the edges, and returns their number. */
static int32_t append_chain(fem_system *s, const int32_t *last) {
  int32_t n_edges = s->graph.n_pairs;
  for (int32_t k = 1; k < s->n_last; ++k) {
    if (!are_neighbours(s, last[k - 1], last[k])) {
      s->edge_a[n_edges] = last[k - 1];
      s->edge_b[n_edges++] = last[k];
    }
  }
  return n_edges;
}

static void choose_order(fem_system *s, const int32_t *last) {
  const fem_graph *a = &s->graph;
  int32_t *order = s->tree.order, n = 0;
  memset(s->is_last, 0, (size_t)a->n_vertices);
  for (int32_t k = 0; k < s->n_last; ++k) {
    s->is_last[last[k]] = 1;
  }
  for (int32_t i = 0; i < a->n_vertices; ++i) {
    if (!s->is_last[i]) {
      order[n++] = i;
    }
  }
  if (s->n_last > 0) {
    memcpy(order + n, last, (size_t)s->n_last * sizeof *last);
  }
  fem_dissect(&(struct fem_dissection){.n = a->n_vertices,
                                       .position = a->vertices,
                                       .start = s->start,
                                       .neighbour = s->neighbour,
                                       .side = s->side,
                                       .scratch = s->scratch},
              n, order);
}

/* Finds the structure of the factor in memory of exact size; 0 if memory runs out. */
static int find_structure(fem_system *s, int32_t n_edges) {
  const sap_allocator *memory = &s->allocator;
  s->tree.n_edges = n_edges;
  sap_junction_tree_keep_order(&s->tree, s->size, s->edge_a, s->edge_b, 1);
  if (!sap_block_carve(&s->rows_block, carve_rows, s, memory)) {
    return 0;
  }
  sap_junction_tree_list_rows(&s->tree);
  if (!sap_block_carve(&s->updates_block, carve_updates, s, memory)) {
    return 0;
  }
  sap_junction_tree_list_updates(&s->tree);
  s->factor.tree = &s->tree;
  s->factor.kernels = sap_kernels_best();
  if (!sap_block_carve(&s->places_block, carve_places, s, memory)) {
    return 0;
  }
  for (int32_t e = 0; e < n_edges; ++e) {
    const int32_t a = s->tree.position[s->edge_a[e]], b = s->tree.position[s->edge_b[e]];
    s->low[e] = a < b ? a : b;
    s->high[e] = a < b ? b : a;
  }
  sap_factor_place(&s->factor, s->low, s->high);
  return sap_block_carve(&s->values_block, carve_values, s, memory);
}

sap_status fem_system_order(fem_system *system, int32_t n_last, const int32_t *last,
                            sap_error *error) {
  const sap_status status = check_last(system, n_last, last, error);
  if (status != SAP_OK) {
    return status;
  }
  system->is_ordered = system->is_factored = 0;
  system->n_last = n_last;
  if (!sap_block_carve(&system->tree_block, carve_tree, system, &system->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  choose_order(system, last);
  if (!find_structure(system, append_chain(system, last))) {
    return SAP_OUT_OF_MEMORY;
  }
  system->is_ordered = 1;
  return SAP_OK;
}

/* ---- values ---- */

/* Writes c_K K + c_M m I, or its transpose, to a place of the factor. */
static void load_block(const fem_system *s, const struct sap_place *place, double c_K,
                       const double *K, double mass, int transposed) {
  double *to = s->factor.values + place->offset;
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      to[j * (int64_t)place->ld + i] =
          c_K * K[transposed ? 3 * j + i : 3 * i + j] + (i == j ? mass : 0);
    }
  }
}

static void load(const fem_system *s, const fem_blocks *blocks) {
  static const double zero[9] = {0};
  const fem_graph *a = &s->graph;
  for (int32_t i = 0; i < s->tree.n_supernodes; ++i) {
    sap_factor_clear(&s->factor, 0, &s->tree.supernode[i]);
  }
  for (int32_t i = 0; i < a->n_vertices; ++i) {
    const int fixed = s->is_fixed[i] != 0;
    load_block(s, &s->factor.diagonal[s->tree.position[i]], blocks->c_K,
               fixed ? zero : blocks->K + 9 * (int64_t)i, fixed ? 1 : blocks->c_M * blocks->mass[i],
               0);
  }
  for (int32_t e = 0; e < a->n_pairs; ++e) {
    const int32_t i = a->pairs[2 * (int64_t)e], j = a->pairs[2 * (int64_t)e + 1];
    if (!s->is_fixed[i] && !s->is_fixed[j]) {
      load_block(s, &s->factor.edge[e], blocks->c_K, blocks->K_pairs + 9 * (int64_t)e,
                 blocks->c_M * blocks->mass_pairs[e], s->tree.position[i] < s->tree.position[j]);
    }
  }
}

/* Copies the columns of the last vertices, L_pp, out of the panels. */
static void copy_last(const fem_system *s) {
  const struct sap_junction_tree *tree = &s->tree;
  const int32_t p = 3 * s->n_last, first = tree->n_scalars - p;
  double *L = s->last_factor;
  memset(L, 0, (size_t)p * (size_t)p * sizeof *L);
  for (int32_t i = 0; i < tree->n_supernodes; ++i) {
    const struct sap_supernode *node = &tree->supernode[i];
    for (int32_t c = 0; c < node->n_cols; ++c) {
      if (node->scalar + c < first) {
        continue;
      }
      const double *column = s->factor.values + node->values + (size_t)c * (size_t)node->ld;
      double *to = L + (size_t)(node->scalar + c - first) * (size_t)p;
      memcpy(to + node->scalar + c - first, column + c, (size_t)(node->n_cols - c) * sizeof *to);
      to[node->scalar + c - first] = 1 / column[c]; /* panels keep the inverse */
      const double *row = column + node->n_cols;
      for (int32_t k = node->segment_begin; k < node->segment_end; ++k) {
        const struct sap_segment *segment = &tree->segment[k];
        memcpy(to + segment->scalar - first, row, (size_t)segment->length * sizeof *to);
        row += segment->length;
      }
    }
  }
}

/* Copies x into the order of elimination, with zeros for fixed vertices. */
static void gather(const fem_system *s, const double *x) {
  for (int32_t k = 0; k < s->graph.n_vertices; ++k) {
    const int32_t i = s->tree.order[k];
    for (int j = 0; j < 3; ++j) {
      s->x[3 * (int64_t)k + j] = s->is_fixed[i] ? 0 : x[3 * (int64_t)i + j];
    }
  }
}

static void scatter(const fem_system *s, double *x) {
  for (int32_t k = 0; k < s->graph.n_vertices; ++k) {
    memcpy(x + 3 * (int64_t)s->tree.order[k], s->x + 3 * (int64_t)k, 3 * sizeof *x);
  }
}

sap_status fem_system_factor(fem_system *system, const fem_blocks *blocks, const int8_t *fixed,
                             double *x, sap_error *error) {
  if (!system->is_ordered) {
    return sap_invalid(error, "system", -1, NAN, "must be ordered first");
  }
  const size_t n = (size_t)system->graph.n_vertices;
  if (fixed) {
    memcpy(system->is_fixed, fixed, n);
  } else {
    memset(system->is_fixed, 0, n);
  }
  system->is_factored = 0;
  load(system, blocks);
  if (x) {
    gather(system, x);
  }
  const int32_t failed = sap_factor_run(&system->factor, 0, x ? system->x : NULL);
  if (failed >= 0) {
    sap_fail(error, SAP_NOT_POSITIVE_DEFINITE, "vertices", system->tree.order[failed], NAN,
             "its block of mass and stiffness must be positive definite");
    return SAP_NOT_POSITIVE_DEFINITE;
  }
  if (x) {
    scatter(system, x);
  }
  copy_last(system);
  system->is_factored = 1;
  return SAP_OK;
}

int fem_system_is_factored(const fem_system *system) { return system->is_factored; }

int32_t fem_system_n_last(const fem_system *system) { return system->n_last; }

void fem_system_solve(const fem_system *system, double *x) {
  gather(system, x);
  sap_factor_solve(&system->factor, 0, system->x);
  scatter(system, x);
}

void fem_system_extend(const fem_system *system, const double *x_last, double *x) {
  /* A x = 0 above p: L^T x = y with y_u = 0, y_p = L_pp^T x_p */
  const int32_t p = 3 * system->n_last, first = system->tree.n_scalars - p;
  memset(system->x, 0, (size_t)first * sizeof *system->x);
  for (int32_t j = 0; j < p; ++j) {
    const double *column = system->last_factor + (int64_t)j * p;
    double sum = 0;
    for (int32_t i = j; i < p; ++i) {
      sum += column[i] * x_last[i];
    }
    system->x[first + j] = sum;
  }
  sap_factor_solve_transposed(&system->factor, 0, system->x);
  scatter(system, x);
}

void fem_system_schur(const fem_system *system, double *S) {
  const int32_t p = 3 * system->n_last;
  memset(S, 0, (size_t)p * (size_t)p * sizeof *S);
  for (int32_t begin = 0; begin < p; begin += FEM_STRIP) {
    const int32_t width = p - begin < FEM_STRIP ? p - begin : FEM_STRIP;
    const double *L = system->last_factor + (size_t)begin * (size_t)p + begin;
    double *to = S + (size_t)begin * (size_t)p + begin;
    system->factor.kernels->multiply(p - begin, p - begin, width, 1, L, p, L, p, to, p, 1);
  }
  for (int32_t i = 0; i < p; ++i) {
    for (int32_t j = 0; j < i; ++j) {
      /* the lower triangle by columns is the upper one by rows */
      S[(size_t)i * (size_t)p + (size_t)j] = S[(size_t)j * (size_t)p + (size_t)i];
    }
  }
}

/* y += block x, or its transpose times x */
static void add_product(double c_K, const double *K, double mass, int transposed, const double *x,
                        double *y) {
  for (int i = 0; i < 3; ++i) {
    double sum = mass * x[i];
    for (int j = 0; j < 3; ++j) {
      sum += c_K * K[transposed ? 3 * j + i : 3 * i + j] * x[j];
    }
    y[i] += sum;
  }
}

void fem_multiply_blocks(const fem_graph *a, const fem_blocks *blocks, const double *x, double *y) {
  memset(y, 0, 3 * (size_t)a->n_vertices * sizeof *y);
  for (int32_t i = 0; i < a->n_vertices; ++i) {
    add_product(blocks->c_K, blocks->K + 9 * (int64_t)i, blocks->c_M * blocks->mass[i], 0,
                x + 3 * (int64_t)i, y + 3 * (int64_t)i);
  }
  for (int32_t e = 0; e < a->n_pairs; ++e) {
    const double mass = blocks->c_M * blocks->mass_pairs[e];
    const double *K = blocks->K_pairs + 9 * (int64_t)e;
    const int64_t i = 3 * (int64_t)a->pairs[2 * (int64_t)e];
    const int64_t j = 3 * (int64_t)a->pairs[2 * (int64_t)e + 1];
    add_product(blocks->c_K, K, mass, 0, x + j, y + i);
    add_product(blocks->c_K, K, mass, 1, x + i, y + j);
  }
}
