/* Tests junction tree and supernodal factorization on random block-sparse matrices against a dense
 * Cholesky factorization. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "linalg/factorization.h"

enum { NODES = 40, EDGES = 200, SCALARS = 400 };

/* A random graph, its junction tree and its factor. */
struct fixture {
  int32_t n, n_edges;
  int32_t size[NODES], edge_a[EDGES], edge_b[EDGES];
  int32_t edge_low[EDGES], edge_high[EDGES];
  struct sap_block blocks[3];
  struct sap_allocator memory;
  struct sap_junction_tree tree;
  struct sap_factor factor;
};

static double dense[SCALARS * SCALARS];

/* Makes n nodes with about `degree` edges each and sizes from 1 to 9. */
static void make_graph(struct fixture *f, int32_t n, double degree, uint64_t *seed) {
  *f = (struct fixture){.n = n, .memory = sap_allocator_or_default(NULL)};
  for (int32_t i = 0; i < n; ++i) {
    f->size[i] = 1 + (int32_t)(check_random_bits(seed) % 9);
    for (int32_t j = 0; j < i; ++j) {
      if (check_random(seed, 0, 1) < degree / n && f->n_edges < EDGES) {
        const int flip = check_random_bits(seed) % 2 == 0;
        f->edge_a[f->n_edges] = flip ? i : j;
        f->edge_b[f->n_edges++] = flip ? j : i;
      }
    }
  }
}

static void build(struct fixture *f, int whole) {
  struct sap_arena arena = {NULL, 0};
  sap_junction_tree_carve(&f->tree, &arena, f->n, f->n_edges);
  REQUIRE(sap_block_reserve(&f->blocks[0], arena.used, &f->memory));
  arena = (struct sap_arena){f->blocks[0].base, 0};
  sap_junction_tree_carve(&f->tree, &arena, f->n, f->n_edges);
  sap_junction_tree_order(&f->tree, f->size, f->edge_a, f->edge_b, whole);
  f->factor = (struct sap_factor){.kernels = sap_kernels_best(), .tree = &f->tree};
  for (int32_t e = 0; e < f->n_edges; ++e) {
    const int32_t a = f->tree.position[f->edge_a[e]], b = f->tree.position[f->edge_b[e]];
    f->edge_low[e] = a < b ? a : b;
    f->edge_high[e] = a < b ? b : a;
  }
  arena = (struct sap_arena){NULL, 0};
  sap_junction_tree_carve_rows(&f->tree, &arena);
  sap_factor_carve_places(&f->factor, &arena);
  REQUIRE(sap_block_reserve(&f->blocks[1], arena.used, &f->memory));
  arena = (struct sap_arena){f->blocks[1].base, 0};
  sap_junction_tree_carve_rows(&f->tree, &arena);
  sap_factor_carve_places(&f->factor, &arena);
  sap_junction_tree_list_rows(&f->tree);
  sap_factor_place(&f->factor, f->edge_low, f->edge_high);
  arena = (struct sap_arena){NULL, 0};
  sap_junction_tree_carve_updates(&f->tree, &arena);
  sap_factor_carve_values(&f->factor, &arena);
  REQUIRE(sap_block_reserve(&f->blocks[2], arena.used, &f->memory));
  arena = (struct sap_arena){f->blocks[2].base, 0};
  sap_junction_tree_carve_updates(&f->tree, &arena);
  sap_factor_carve_values(&f->factor, &arena);
  sap_junction_tree_list_updates(&f->tree);
}

static void release(struct fixture *f) {
  for (int b = 0; b < 3; ++b) {
    sap_block_release(&f->blocks[b], &f->memory);
  }
}

static int32_t component_of(const struct fixture *f, int32_t node) {
  int32_t c = 0;
  while (f->tree.component[c].node_end <= node) {
    ++c;
  }
  return c;
}

static void set_block(struct fixture *f, struct sap_place place, int32_t row, int32_t column,
                      uint64_t *seed) {
  const int32_t *scalar = f->tree.node_scalar;
  const int32_t n = f->tree.n_scalars;
  for (int32_t j = scalar[column]; j < scalar[column + 1]; ++j) {
    for (int32_t i = scalar[row]; i < scalar[row + 1]; ++i) {
      if (row == column && i < j) {
        continue;
      }
      const double h = i == j ? check_random(seed, 60, 90) : check_random(seed, -1, 1);
      const int32_t local_i = i - scalar[row], local_j = j - scalar[column];
      const size_t at = place.offset + (size_t)local_j * (size_t)place.ld + (size_t)local_i;
      const int32_t c = component_of(f, column);
      if (f->factor.precision[c] == SAP_SINGLE) {
        ((float *)sap_factor_panels(&f->factor, c))[at] = (float)h;
      } else {
        f->factor.values[at] = h;
      }
      dense[i * n + j] = dense[j * n + i] = h;
    }
  }
}

/* Sets random diagonally dominant values, in the factor's places and in `dense`. */
static void set_values(struct fixture *f, uint64_t *seed) {
  memset(dense, 0, sizeof dense);
  memset(f->factor.values, 0xff, f->factor.n_values * sizeof(double)); /* NaN */
  for (int32_t c = 0; c < f->tree.n_components; ++c) {
    const struct sap_component *component = &f->tree.component[c];
    for (int32_t s = component->supernode_begin; s < component->supernode_end; ++s) {
      sap_factor_clear(&f->factor, c, &f->tree.supernode[s]);
    }
  }
  for (int32_t i = 0; i < f->n; ++i) {
    set_block(f, f->factor.diagonal[i], i, i, seed);
  }
  for (int32_t e = 0; e < f->n_edges; ++e) {
    set_block(f, f->factor.edge[e], f->edge_high[e], f->edge_low[e], seed);
  }
}

/* The residual b - H x is zero for the solution of the factorization and for one by what that has
 * left. */
static void check_solution(struct fixture *f, double tolerance, uint64_t *seed) {
  double x[SCALARS], again[SCALARS], b[SCALARS];
  const int32_t n = f->tree.n_scalars;
  for (int32_t i = 0; i < n; ++i) {
    b[i] = x[i] = again[i] = check_random(seed, -1, 1);
  }
  for (int32_t c = 0; c < f->tree.n_components; ++c) {
    CHECK_EQUAL(sap_factor_run(&f->factor, c, x), -1);
    sap_factor_solve(&f->factor, c, again);
  }
  double worst = 0;
  for (int32_t i = 0; i < n; ++i) {
    double sum = -b[i];
    for (int32_t j = 0; j < n; ++j) {
      sum += dense[i * n + j] * x[j];
    }
    worst = fmax(worst, fabs(sum));
  }
  CHECK(worst < tolerance);
  CHECK(memcmp(x, again, (size_t)n * sizeof *x) == 0);
}

static void solves_what_a_dense_matrix_solves(void) {
  uint64_t seed = 11;
  for (int trial = 0; trial < 120; ++trial) {
    struct fixture f;
    make_graph(&f, 1 + trial % NODES, 0.5 + 0.1 * (trial % 50), &seed);
    build(&f, trial % 2);
    set_values(&f, &seed);
    check_solution(&f, 1e-12, &seed);
    release(&f);
  }
}

/* Numbers below those of normal size count again once single precision is done with. */
static double tiny(void) {
  volatile double x = DBL_MIN;
  return x / 4;
}

/* Every other component is in single precision, all of them the second time; the others keep their
 * values. */
static void components_have_a_precision_each(void) {
  uint64_t seed = 21;
  for (int trial = 0; trial < 120; ++trial) {
    struct fixture f;
    make_graph(&f, 1 + trial % NODES, 0.5 + 0.1 * (trial % 30), &seed);
    build(&f, 0);
    for (int32_t all = 0; all < 2; ++all) {
      for (int32_t c = 0; c < f.tree.n_components; ++c) {
        CHECK(all == 1 || f.factor.precision[c] == SAP_DOUBLE);
        f.factor.precision[c] = all || c % 2 == 0 ? SAP_SINGLE : SAP_DOUBLE;
      }
      set_values(&f, &seed);
      check_solution(&f, 1e-4, &seed);
      CHECK(tiny() > 0);
    }
    /* and where it breaks down */
    float *values = sap_factor_panels(&f.factor, 0);
    values[f.factor.diagonal[0].offset] = -1e3F;
    CHECK_EQUAL(sap_factor_run(&f.factor, 0, NULL), 0);
    CHECK(tiny() > 0);
    release(&f);
  }
}

static void order_is_a_permutation_and_supernodes_cover_it(void) {
  uint64_t seed = 12;
  for (int trial = 0; trial < 60; ++trial) {
    struct fixture f;
    make_graph(&f, 1 + trial % NODES, 0.2 * (trial % 20), &seed);
    build(&f, 0);
    int32_t seen[NODES] = {0};
    for (int32_t k = 0; k < f.n; ++k) {
      seen[f.tree.order[k]]++;
      CHECK_EQUAL(f.tree.position[f.tree.order[k]], k);
    }
    int32_t node = 0;
    for (int32_t s = 0; s < f.tree.n_supernodes; ++s) {
      const struct sap_supernode *supernode = &f.tree.supernode[s];
      CHECK_EQUAL(supernode->node_begin, node);
      CHECK(supernode->parent == -1 || supernode->parent > s);
      /* rows ascend, lie above, and the first one belongs to the parent */
      int32_t before = supernode->node_end - 1;
      for (int32_t r = supernode->row_begin; r < supernode->row_end; ++r) {
        CHECK(f.tree.row_node[r] > before);
        before = f.tree.row_node[r];
      }
      if (supernode->row_begin < supernode->row_end) {
        const int32_t first = f.tree.row_node[supernode->row_begin];
        CHECK_EQUAL(f.tree.node_supernode[first], supernode->parent);
      }
      node = supernode->node_end;
    }
    CHECK_EQUAL(node, f.n);
    for (int32_t k = 0; k < f.n; ++k) {
      CHECK_EQUAL(seen[k], 1);
    }
    release(&f);
  }
}

/* The components of the junction tree equal the connected components found by flooding. */
static void components_are_the_connected_ones(void) {
  uint64_t seed = 13;
  for (int trial = 0; trial < 60; ++trial) {
    struct fixture f;
    make_graph(&f, 1 + trial % NODES, 0.1 * (trial % 20), &seed);
    build(&f, 0);
    int32_t label[NODES];
    for (int32_t i = 0; i < f.n; ++i) {
      label[i] = i;
    }
    for (int32_t sweep = 0; sweep < f.n; ++sweep) {
      for (int32_t e = 0; e < f.n_edges; ++e) {
        const int32_t a = f.edge_a[e], b = f.edge_b[e];
        label[a] = label[b] = label[a] < label[b] ? label[a] : label[b];
      }
    }
    int32_t n_labels = 0;
    for (int32_t i = 0; i < f.n; ++i) {
      n_labels += label[i] == i;
    }
    CHECK_EQUAL(f.tree.n_components, n_labels);
    for (int32_t c = 0; c < f.tree.n_components; ++c) {
      const struct sap_component *component = &f.tree.component[c];
      for (int32_t k = component->node_begin; k < component->node_end; ++k) {
        CHECK_EQUAL(label[f.tree.order[k]], label[f.tree.order[component->node_begin]]);
      }
    }
    release(&f);
  }
}

static void a_chain_stays_sparse(void) {
  struct fixture f = {.n = NODES, .memory = sap_allocator_or_default(NULL)};
  for (int32_t i = 0; i < f.n; ++i) {
    f.size[i] = 6;
    if (i > 0) {
      f.edge_a[f.n_edges] = i - 1;
      f.edge_b[f.n_edges++] = i;
    }
  }
  build(&f, 0);
  /* 40 squares and 39 blocks below, and the zeros of relaxed merging: far from a dense 240 x 240 */
  CHECK(f.tree.n_values >= 79 * 36 && f.tree.n_values <= 3 * 79 * 36);
  CHECK_EQUAL(f.tree.n_components, 1);
  uint64_t seed = 14;
  set_values(&f, &seed);
  check_solution(&f, 1e-12, &seed);
  release(&f);
}

static void a_bad_pivot_names_its_node(void) {
  uint64_t seed = 15;
  struct fixture f;
  make_graph(&f, 20, 2.5, &seed);
  build(&f, 1);
  for (int32_t node = 0; node < f.n; ++node) {
    set_values(&f, &seed);
    f.factor.values[f.factor.diagonal[node].offset] = -1e3;
    CHECK_EQUAL(sap_factor_run(&f.factor, 0, NULL), node);
  }
  release(&f);
}

static void no_nodes_at_all(void) {
  struct fixture f = {.memory = sap_allocator_or_default(NULL)};
  build(&f, 0);
  CHECK_EQUAL(f.tree.n_supernodes, 0);
  CHECK_EQUAL(f.tree.n_components, 0);
  CHECK_EQUAL(f.tree.n_scalars, 0);
  release(&f);
}

static const check_test tests[] = {
    CHECK_TEST(solves_what_a_dense_matrix_solves),
    CHECK_TEST(components_have_a_precision_each),
    CHECK_TEST(order_is_a_permutation_and_supernodes_cover_it),
    CHECK_TEST(components_are_the_connected_ones),
    CHECK_TEST(a_chain_stays_sparse),
    CHECK_TEST(a_bad_pivot_names_its_node),
    CHECK_TEST(no_nodes_at_all),
};
CHECK_FILE(test_junction_tree, tests);
