/* Tests the minimum degree order against its definition and against AMD's fill. */
#include <amd.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "linalg/ordering.h"

enum { NODES = 700, EDGES = 8 * NODES };

struct graph {
  int32_t n, n_edges, edge_a[EDGES], edge_b[EDGES];
  int32_t order[NODES];
};

static unsigned char linked[NODES][NODES];

static void link_nodes(struct graph *g, int32_t a, int32_t b) {
  g->edge_a[g->n_edges] = a;
  g->edge_b[g->n_edges++] = b;
}

/* Adds about `degree` edges for each of the nodes [begin, n), which form the last component or
 * components. */
static void add_random(struct graph *g, int32_t begin, double degree, uint64_t *seed) {
  for (int32_t i = begin; i < g->n; ++i) {
    for (int32_t j = begin; j < i; ++j) {
      if (check_random(seed, 0, 1) < degree / (g->n - begin) && g->n_edges < EDGES) {
        const int flip = check_random_bits(seed) % 2 == 0;
        link_nodes(g, flip ? i : j, flip ? j : i);
      }
    }
  }
}

static void find_order(struct graph *g) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  struct sap_block block = {0};
  struct sap_ordering ordering;
  struct sap_arena arena = {NULL, 0};
  sap_ordering_carve(&ordering, &arena, g->n, g->n_edges);
  REQUIRE(sap_block_reserve(&block, arena.used, &memory));
  memset(block.base, 0xa5, arena.used);
  arena = (struct sap_arena){block.base, 0};
  sap_ordering_carve(&ordering, &arena, g->n, g->n_edges);
  sap_ordering_minimum_degree(&ordering, g->n, g->n_edges, g->edge_a, g->edge_b, g->order);
  sap_block_release(&block, &memory);
}

static void set_links(const struct graph *g) {
  memset(linked, 0, sizeof linked);
  for (int32_t e = 0; e < g->n_edges; ++e) {
    linked[g->edge_a[e]][g->edge_b[e]] = linked[g->edge_b[e]][g->edge_a[e]] = 1;
  }
}

static int32_t degree_of(int32_t n, int32_t i) {
  int32_t degree = 0;
  for (int32_t j = 0; j < n; ++j) {
    degree += linked[i][j];
  }
  return degree;
}

/* Takes node i out of `linked`. Returns its degree, the entries of its column of L. */
static int32_t eliminate(int32_t n, int32_t i) {
  const int32_t degree = degree_of(n, i);
  for (int32_t a = 0; a < n; ++a) {
    for (int32_t b = 0; linked[i][a] && b < n; ++b) {
      linked[a][b] |= linked[i][b] && a != b;
    }
  }
  for (int32_t a = 0; a < n; ++a) {
    linked[a][i] = linked[i][a] = 0;
  }
  return degree;
}

/* Returns the entries of L. A node that is listed twice or left out fails. */
static int64_t entries_of(const struct graph *g, const int32_t *order) {
  int32_t seen[NODES] = {0};
  int64_t entries = 0;
  set_links(g);
  for (int32_t k = 0; k < g->n; ++k) {
    CHECK_EQUAL(seen[order[k]]++, 0);
    entries += eliminate(g->n, order[k]);
  }
  return entries;
}

/* Lets the label of the first node of a component spread over it. */
static void label_components(const struct graph *g, int32_t *label) {
  for (int32_t i = 0; i < g->n; ++i) {
    label[i] = i;
  }
  for (int changed = 1; changed;) {
    changed = 0;
    for (int32_t e = 0; e < g->n_edges; ++e) {
      int32_t *a = &label[g->edge_a[e]], *b = &label[g->edge_b[e]];
      changed |= *a != *b;
      *a = *b = *a < *b ? *a : *b;
    }
  }
}

/* Each node is the first of least degree in what is left of its component. */
static void check_definition(const struct graph *g) {
  int32_t label[NODES], gone[NODES] = {0};
  label_components(g, label);
  set_links(g);
  for (int32_t k = 0; k < g->n; ++k) {
    int32_t first = -1;
    for (int32_t i = 0; i < g->n; ++i) {
      if (!gone[i] && label[i] == label[g->order[k]] &&
          (first < 0 || degree_of(g->n, i) < degree_of(g->n, first))) {
        first = i;
      }
    }
    CHECK_EQUAL(g->order[k], first);
    gone[g->order[k]] = 1;
    eliminate(g->n, g->order[k]);
  }
}

static void small_components_follow_the_definition(void) {
  static struct graph g;
  uint64_t seed = 21;
  for (int trial = 0; trial < 60; ++trial) {
    g.n = 1 + (7 * trial) % 150;
    g.n_edges = 0;
    add_random(&g, 0, 0.1 * (trial % 40), &seed);
    find_order(&g);
    check_definition(&g);
  }
}

/* The sizes are about a whole number of words; one is the largest that is small. */
static void sets_of_any_number_of_words(void) {
  static struct graph g;
  uint64_t seed = 22;
  const int32_t sizes[] = {1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256};
  for (size_t k = 0; k < CHECK_COUNT(sizes); ++k) {
    g.n = sizes[k];
    g.n_edges = 0;
    for (int32_t i = 1; i < g.n; ++i) {
      link_nodes(&g, (int32_t)(check_random_bits(&seed) % (uint64_t)i), i);
    }
    find_order(&g);
    check_definition(&g);
    CHECK_EQUAL(entries_of(&g, g.order), g.n - 1); /* a tree has no fill */
  }
}

static int64_t entries_by_amd(const struct graph *g) {
  static int start[NODES + 1], list[2 * EDGES], order[NODES];
  int n = 0;
  for (int32_t i = 0; i < g->n; ++i) {
    start[i] = n;
    for (int32_t e = 0; e < g->n_edges; ++e) {
      if (g->edge_a[e] == i || g->edge_b[e] == i) {
        list[n++] = g->edge_a[e] + g->edge_b[e] - i;
      }
    }
  }
  start[g->n] = n;
  CHECK(amd_order(g->n, start, list, order, NULL, NULL) >= AMD_OK);
  return entries_of(g, order);
}

static void fill_is_about_that_of_amd(void) {
  static struct graph g;
  uint64_t seed = 23;
  int64_t ours = 0, amd = 0;
  for (int trial = 0; trial < 30; ++trial) {
    g.n = 10 + 8 * trial;
    g.n_edges = 0;
    add_random(&g, 0, 2 + 0.1 * trial, &seed);
    find_order(&g);
    ours += entries_of(&g, g.order);
    amd += entries_by_amd(&g);
  }
  CHECK((double)ours <= 1.02 * (double)amd);
}

/* They lie beside small ones, in the numbers of the nodes and in those of the edges. */
static void large_components_are_left_to_amd(void) {
  static struct graph g;
  uint64_t seed = 24;
  for (int trial = 0; trial < 3; ++trial) {
    g.n_edges = 0;
    g.n = 100;
    add_random(&g, 0, 1, &seed);
    g.n = 400 + 100 * trial;
    add_random(&g, 100, 4, &seed);
    find_order(&g);
    CHECK((double)entries_of(&g, g.order) <= 1.05 * (double)entries_by_amd(&g));
  }
}

static void no_nodes_and_no_edges(void) {
  static struct graph g;
  for (g.n = 0; g.n < 5; ++g.n) {
    find_order(&g);
    CHECK_EQUAL(entries_of(&g, g.order), 0);
  }
}

static const check_test tests[] = {
    CHECK_TEST(small_components_follow_the_definition),
    CHECK_TEST(sets_of_any_number_of_words),
    CHECK_TEST(fill_is_about_that_of_amd),
    CHECK_TEST(large_components_are_left_to_amd),
    CHECK_TEST(no_nodes_and_no_edges),
};
CHECK_FILE(test_ordering, tests);
