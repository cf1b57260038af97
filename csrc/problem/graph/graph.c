#include "problem/graph/graph.h"

#include <string.h>

/* Are the entries first <= i < n of a and b the same? */
static int same(const int32_t *a, const int32_t *b, int32_t first, int32_t n) {
  return n <= first || (b && memcmp(a + first, b + first, (size_t)(n - first) * sizeof *a) == 0);
}

int sap_graph_has_contacts(const struct sap_graph *graph, const sap_problem *problem) {
  const int32_t n = problem->n_contacts;
  return graph->n_trees == problem->n_trees && 0 <= n && n <= graph->n_triples &&
         same(graph->tree_nv, problem->tree_nv, 0, graph->n_trees) &&
         same(graph->tree_a, problem->tree_a, 0, n) && same(graph->tree_b, problem->tree_b, 0, n);
}

/* Are the same trees left out? */
static int leaves_out(const struct sap_graph *graph, const int8_t *left_out) {
  int same = 1;
  for (int32_t t = 0; t < graph->n_trees; ++t) {
    same &= graph->left_out[t] == (left_out && left_out[t]);
  }
  return same;
}

int sap_graph_has_triples(const struct sap_graph *graph, const struct sap_triples *triples,
                          const int32_t *tree_size, const int8_t *left_out, int whole) {
  const int32_t first = triples->n_contacts, n = triples->n;
  return graph->n_triples == triples->n && graph->whole == whole &&
         graph->has_laws == triples->has_laws && leaves_out(graph, left_out) &&
         same(graph->tree_size, tree_size, 0, graph->n_trees) &&
         (graph->version == triples->version ||
          (same(graph->tree_a, triples->tree_a, first, n) &&
           same(graph->tree_b, triples->tree_b, first, n) &&
           (!triples->law || same(graph->law, triples->law, 0, n))));
}

void sap_graph_carve(struct sap_graph *graph, struct sap_arena *arena, int32_t n_trees,
                     int32_t n_triples) {
  const size_t trees = (size_t)n_trees, triples = (size_t)n_triples;
  const int32_t n_nodes_most = n_triples < n_trees / 2 ? 2 * n_triples : n_trees;
  const size_t nodes = (size_t)n_nodes_most;
  graph->tree_nv = sap_arena_take(arena, trees, sizeof(int32_t));
  graph->tree_size = sap_arena_take(arena, trees, sizeof(int32_t));
  graph->left_out = sap_arena_take(arena, trees, sizeof(int8_t));
  graph->tree_a = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->tree_b = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->law = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->tree_v = sap_arena_take(arena, trees, sizeof(int64_t));
  graph->tree_A = sap_arena_take(arena, trees, sizeof(int64_t));
  graph->tree_position = sap_arena_take(arena, trees, sizeof(int32_t));
  graph->patch = sap_arena_take(arena, triples, sizeof(struct sap_patch));
  graph->incidence = sap_arena_take(arena, 2 * triples, sizeof(struct sap_incidence));
  graph->incidence_start = sap_arena_take(arena, nodes + 2, sizeof(int32_t));
  graph->node_J = sap_arena_take(arena, nodes + 1, sizeof(int64_t));
  graph->island = sap_arena_take(arena, nodes, sizeof(struct sap_island));
  graph->triple = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->contact_J = sap_arena_take(arena, triples, sizeof(int64_t));
  graph->offset = sap_arena_take(arena, triples, sizeof(int64_t));
  graph->edge_low = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->edge_high = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->node_tree = sap_arena_take(arena, nodes, sizeof(int32_t));
  graph->node_of_tree = sap_arena_take(arena, trees, sizeof(int32_t));
  graph->tree_of_node = sap_arena_take(arena, nodes, sizeof(int32_t));
  graph->node_size = sap_arena_take(arena, nodes, sizeof(int32_t));
  graph->first_node = sap_arena_take(arena, nodes, sizeof(int32_t));
  graph->low_node = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->high_node = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->sorted = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->run = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->run_begin = sap_arena_take(arena, triples + 1, sizeof(int32_t));
  graph->bucket = sap_arena_take(arena, nodes + SAP_N_LAWS + 2, sizeof(int32_t));
  graph->edge_a = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->edge_b = sap_arena_take(arena, triples, sizeof(int32_t));
  graph->unsorted = sap_arena_take(arena, triples, sizeof(struct sap_patch));
  sap_junction_tree_carve(&graph->tree, arena, n_nodes_most, n_triples);
}

/* Numbers the trees that a triple touches and that are not left out, in the order of the trees. */
static void find_nodes(struct sap_graph *graph) {
  memset(graph->node_of_tree, 0xff, (size_t)graph->n_trees * sizeof(int32_t));
  for (int32_t i = 0; i < graph->n_triples; ++i) {
    if (graph->left_out[graph->tree_a[i]]) {
      continue;
    }
    graph->node_of_tree[graph->tree_a[i]] = 0;
    if (graph->tree_b[i] >= 0) {
      graph->node_of_tree[graph->tree_b[i]] = 0;
    }
  }
  graph->n_nodes = 0;
  int64_t v = 0, A = 0;
  for (int32_t t = 0; t < graph->n_trees; ++t) {
    graph->tree_v[t] = v;
    graph->tree_A[t] = A;
    v += graph->tree_nv[t];
    A += (int64_t)graph->tree_nv[t] * graph->tree_nv[t];
    if (graph->node_of_tree[t] == 0) {
      graph->node_of_tree[t] = graph->n_nodes;
      graph->tree_of_node[graph->n_nodes] = t;
      graph->node_size[graph->n_nodes++] = graph->tree_size[t];
    }
  }
}

/* Sorts `count` items stably by counting: to[] = from[] by key[item], from -1 to n_keys - 2. */
static void counting_sort(int32_t count, const int32_t *from, int32_t *to, const int32_t *key,
                          int32_t n_keys, int32_t *bucket) {
  memset(bucket, 0, ((size_t)n_keys + 1) * sizeof *bucket);
  for (int32_t i = 0; i < count; ++i) {
    bucket[key[from[i]] + 2]++;
  }
  for (int32_t k = 0; k < n_keys; ++k) {
    bucket[k + 1] += bucket[k];
  }
  for (int32_t i = 0; i < count; ++i) {
    to[bucket[key[from[i]] + 1]++] = from[i];
  }
}

static int32_t law_of(const struct sap_graph *graph, int32_t triple) {
  return graph->has_laws ? graph->law[triple] : 0;
}

/* Sorts so many runs in graph->run by lower node, higher node and law. */
static void sort_runs(struct sap_graph *graph, int32_t n_runs) {
  int32_t *law = graph->edge_a;
  for (int32_t k = 0; k < n_runs && graph->has_laws; ++k) {
    law[graph->run[k]] = law_of(graph, graph->run_begin[graph->run[k]]);
  }
  const int32_t n_nodes = graph->n_nodes;
  if (graph->has_laws) {
    counting_sort(n_runs, graph->run, graph->sorted, law, SAP_N_LAWS + 1, graph->bucket);
    memcpy(graph->run, graph->sorted, (size_t)n_runs * sizeof *graph->run);
  }
  counting_sort(n_runs, graph->run, graph->sorted, graph->high_node, n_nodes + 1, graph->bucket);
  counting_sort(n_runs, graph->sorted, graph->run, graph->low_node, n_nodes + 1, graph->bucket);
}

/* Finds patches and edges. Triples come in runs between the same two trees, as collision detection
 * lists them. Runs are sorted by pair of nodes; runs of one pair and law become a patch, and
 * patches between two trees an edge. */
static void find_patches(struct sap_graph *graph) {
  int32_t n_runs = 0, n_kept = 0;
  for (int32_t i = 0; i < graph->n_triples; ++i) {
    if (i > 0 && graph->tree_a[i] == graph->tree_a[i - 1] &&
        graph->tree_b[i] == graph->tree_b[i - 1] && law_of(graph, i) == law_of(graph, i - 1)) {
      continue;
    }
    const int32_t a = graph->node_of_tree[graph->tree_a[i]];
    const int32_t b = graph->tree_b[i] < 0 ? -1 : graph->node_of_tree[graph->tree_b[i]];
    graph->low_node[n_runs] = b < 0 || a < b ? a : b;
    graph->high_node[n_runs] = b < 0 || a < b ? b : a;
    if (a >= 0) {
      graph->run[n_kept++] = n_runs;
    }
    graph->run_begin[n_runs++] = i;
  }
  graph->run_begin[n_runs] = graph->n_triples;
  sort_runs(graph, n_kept);
  graph->n_patches = 0;
  graph->n_edges = 0;
  for (int32_t k = 0; k < n_kept; ++k) {
    const int32_t run = graph->run[k];
    const int32_t low = graph->low_node[run], high = graph->high_node[run];
    const int32_t law = law_of(graph, graph->run_begin[run]);
    struct sap_patch *last = graph->n_patches > 0 ? &graph->unsorted[graph->n_patches - 1] : NULL;
    const int shares = last && last->low == low && last->high == high;
    if (shares && last->law == law) {
      last->end = k + 1;
      continue;
    }
    struct sap_patch *patch = &graph->unsorted[graph->n_patches++];
    *patch = (struct sap_patch){.low = low,
                                .high = high,
                                .begin = k,
                                .end = k + 1,
                                .edge = -1,
                                .law = law,
                                .pairs = sap_laws[law]->takes_pairs,
                                .is_diagonal = sap_laws[law]->is_diagonal};
    if (high >= 0 && shares) {
      patch->edge = last->edge;
      patch->shares = 1;
    } else if (high >= 0) {
      patch->edge = graph->n_edges;
      graph->edge_a[graph->n_edges] = low;
      graph->edge_b[graph->n_edges++] = high;
    }
  }
}

static int32_t component_of(const struct sap_junction_tree *tree, int32_t node) {
  int32_t begin = 0, end = tree->n_components;
  while (end - begin > 1) {
    const int32_t middle = begin + (end - begin) / 2;
    *(tree->component[middle].node_begin <= node ? &begin : &end) = middle;
  }
  return begin;
}

/* Sorts patches by lower position, and with several laws by island and law first; returns the array
 * that holds them. */
static const int32_t *sort_patches(struct sap_graph *graph) {
  int32_t *from = graph->edge_a, *to = graph->edge_b, *key = graph->low_node;
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    from[p] = p;
    key[p] = graph->unsorted[p].low;
  }
  counting_sort(graph->n_patches, from, to, key, graph->n_nodes + 1, graph->bucket);
  if (!graph->has_laws) {
    return to;
  }
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    key[p] = graph->unsorted[p].law;
  }
  counting_sort(graph->n_patches, to, from, key, SAP_N_LAWS + 1, graph->bucket);
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    key[p] = component_of(&graph->tree, graph->unsorted[p].low);
  }
  counting_sort(graph->n_patches, from, to, key, graph->tree.n_components + 1, graph->bucket);
  return to;
}

/* Reorders triples of pairs from all first ones, then all second ones, to pair after pair. */
static void pair_up(int32_t n, int32_t *triple, int32_t *scratch) {
  memcpy(scratch, triple, (size_t)n * sizeof *triple);
  for (int32_t k = 0; k < n; ++k) {
    triple[k] = scratch[k / 2 + (k % 2) * (n / 2)];
  }
}

/* Replaces nodes by positions, and runs by triples, which follow their patches. */
static void order_patches(struct sap_graph *graph) {
  const int32_t *position = graph->tree.position;
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    struct sap_patch *patch = &graph->unsorted[p];
    const int32_t a = position[patch->low], b = patch->high < 0 ? -1 : position[patch->high];
    patch->low = b < 0 || a < b ? a : b;
    patch->high = b < 0 || a < b ? b : a;
    if (patch->edge >= 0) {
      graph->edge_low[patch->edge] = patch->low;
      graph->edge_high[patch->edge] = patch->high;
    }
  }
  const int32_t *sorted = sort_patches(graph);
  int32_t place = 0;
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    struct sap_patch *patch = &graph->patch[p];
    *patch = graph->unsorted[sorted[p]];
    const int32_t first = place;
    for (int32_t k = patch->begin; k < patch->end; ++k) {
      const int32_t run = graph->run[k];
      for (int32_t i = graph->run_begin[run]; i < graph->run_begin[run + 1]; ++i) {
        graph->triple[place++] = i;
      }
    }
    patch->begin = first;
    patch->end = place;
    if (patch->pairs) {
      pair_up(place - first, graph->triple + first, graph->sorted);
    }
  }
  graph->n_places = place;
}

/* Finds the rows of J of each contact in the problem. */
static void find_rows(struct sap_graph *graph, int32_t n_contacts) {
  int64_t J = 0;
  for (int32_t i = 0; i < n_contacts; ++i) {
    graph->offset[i] = J;
    J += 3 * (int64_t)graph->tree_nv[graph->tree_a[i]];
    J += graph->tree_b[i] < 0 ? 0 : 3 * (int64_t)graph->tree_nv[graph->tree_b[i]];
  }
  for (int32_t place = 0; place < graph->n_places; ++place) {
    const int32_t i = graph->triple[place];
    graph->contact_J[place] = i < n_contacts ? graph->offset[i] : -1;
  }
}

/* Lists the patches of each node and the places of their rows of J. */
static void list_incidences(struct sap_graph *graph) {
  /* counts are stored one place late, then summed, then entries placed: start[] ends correct */
  int32_t *start = graph->incidence_start;
  memset(start, 0, ((size_t)graph->n_nodes + 2) * sizeof *start);
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    start[patch->is_diagonal ? 0 : patch->low + 2]++;
    start[patch->high < 0 ? 0 : patch->high + 2]++;
  }
  start[0] = 0;
  for (int32_t i = 0; i < graph->n_nodes; ++i) {
    start[i + 2] += start[i + 1];
  }
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    const struct sap_incidence incidence = {p, patch->begin, patch->end};
    if (!patch->is_diagonal) {
      graph->incidence[start[patch->low + 1]++] = incidence;
    }
    if (patch->high >= 0) {
      graph->incidence[start[patch->high + 1]++] = incidence;
    }
  }
  graph->max_node_width = 0;
  graph->max_node_triples = 0;
  int64_t J = 0;
  for (int32_t i = 0; i < graph->n_nodes; ++i) {
    const int64_t row = sap_stride(sap_node_size(&graph->tree, i));
    graph->node_J[i] = J;
    for (int32_t k = start[i]; k < start[i + 1]; ++k) {
      struct sap_patch *patch = &graph->patch[graph->incidence[k].patch];
      *(patch->low == i ? &patch->J_low : &patch->J_high) = J;
      J += 3 * row * (patch->end - patch->begin);
    }
    const int64_t width = J - graph->node_J[i];
    const int32_t triples = (int32_t)(width / (3 * row));
    graph->max_node_triples = triples > graph->max_node_triples ? triples : graph->max_node_triples;
    graph->max_node_width = width > graph->max_node_width ? width : graph->max_node_width;
  }
  graph->node_J[graph->n_nodes] = J;
}

/* Finds law_begin of an island, whose patches are sorted by law. The first of the laws that share
 * their loops has the triples of all. */
static void find_laws(const struct sap_graph *graph, struct sap_island *island) {
  int32_t p = island->patch_begin;
  for (int32_t law = 0; law < SAP_N_LAWS; ++law) {
    island->law_begin[law] = p < island->patch_end ? graph->patch[p].begin : island->triple_end;
    while (p < island->patch_end &&
           sap_laws[graph->patch[p].law]->loops[0] == sap_laws[law]->loops[0]) {
      ++p;
    }
  }
  island->law_begin[SAP_N_LAWS] = island->triple_end;
}

static void find_islands(struct sap_graph *graph) {
  graph->n_islands = graph->tree.n_components;
  int32_t patch = 0;
  for (int32_t c = 0; c < graph->n_islands; ++c) {
    const struct sap_component *component = &graph->tree.component[c];
    const int32_t patch_begin = patch;
    while (patch < graph->n_patches && component->node_begin <= graph->patch[patch].low &&
           graph->patch[patch].low < component->node_end) {
      ++patch;
    }
    graph->island[c] = (struct sap_island){
        .index = c,
        .node_begin = component->node_begin,
        .node_end = component->node_end,
        .scalar_begin = component->scalar_begin,
        .scalar_end = component->scalar_end,
        .patch_begin = patch_begin,
        .patch_end = patch,
        .triple_begin = graph->patch[patch_begin].begin,
        .triple_end = graph->patch[patch - 1].end,
    };
    find_laws(graph, &graph->island[c]);
  }
}

static void copy(void *to, const void *from, int32_t n, size_t size) {
  if (n > 0) {
    memcpy(to, from, (size_t)n * size);
  }
}

/* Groups the nodes by component instead of ordering them. */
static void group_nodes(struct sap_graph *graph, const int32_t *first) {
  for (int32_t k = 0; k < graph->n_nodes; ++k) {
    graph->first_node[k] = graph->node_of_tree[first[graph->tree_of_node[k]]];
  }
  sap_junction_tree_group(&graph->tree, graph->node_size, graph->first_node);
}

void sap_graph_build(struct sap_graph *graph, const sap_problem *problem,
                     const struct sap_triples *triples, const sap_sizes *sizes,
                     const int32_t *tree_size, const int8_t *left_out, int whole,
                     const int32_t *first) {
  graph->n_trees = problem->n_trees;
  graph->n_triples = triples->n;
  graph->version = triples->version;
  graph->whole = whole;
  graph->has_laws = triples->has_laws;
  graph->sizes = *sizes;
  copy(graph->tree_nv, problem->tree_nv, graph->n_trees, sizeof(int32_t));
  copy(graph->tree_size, tree_size, graph->n_trees, sizeof(int32_t));
  copy(graph->tree_a, triples->tree_a, graph->n_triples, sizeof(int32_t));
  copy(graph->tree_b, triples->tree_b, graph->n_triples, sizeof(int32_t));
  copy(graph->law, triples->law, graph->has_laws ? graph->n_triples : 0, sizeof(int32_t));
  for (int32_t t = 0; t < graph->n_trees; ++t) {
    graph->left_out[t] = left_out && left_out[t];
  }
  find_nodes(graph);
  find_patches(graph);
  graph->tree.n_nodes = graph->n_nodes;
  graph->tree.n_edges = graph->n_edges;
  if (first) {
    group_nodes(graph, first);
  } else {
    sap_junction_tree_order(&graph->tree, graph->node_size, graph->edge_a, graph->edge_b, whole);
  }
  for (int32_t k = 0; k < graph->n_nodes; ++k) {
    graph->node_tree[k] = graph->tree_of_node[graph->tree.order[k]];
  }
  for (int32_t t = 0; t < graph->n_trees; ++t) {
    const int32_t node = graph->node_of_tree[t];
    graph->tree_position[t] = node < 0 ? -1 : graph->tree.position[node];
  }
  order_patches(graph);
  find_rows(graph, triples->n_contacts);
  list_incidences(graph);
  find_islands(graph);
}
