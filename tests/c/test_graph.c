/* Tests the contact graph of random problems: the properties of its lists, and when it also fits
 * another problem. */
#include <string.h>

#include "solver/solver_object.h"
#include "scene.h"

enum { ROWS = 40, TRIPLES = SCENE_CONTACTS + ROWS };

static struct scene scene;
static struct scene_outputs outputs;
static int8_t barrier[SCENE_CONTACTS];
static double kappa[SCENE_CONTACTS], lambda[SCENE_CONTACTS];
static sap_constraints group;
static int32_t group_a[ROWS], group_b[ROWS];
static double group_J[ROWS * 2 * SCENE_MOST_NV], R[ROWS], v_hat[ROWS], lower[ROWS], upper[ROWS];

/* Runs of contacts between the same two trees, and where there are several laws contacts with cores
 * and a group of single rows. The contacts leave some trees free, and several islands. */
static void make_problem(int several_laws, uint64_t *seed) {
  const int32_t n_trees = 3 + (int32_t)(check_random_bits(seed) % (SCENE_TREES - 2));
  const int32_t n_contacts = (int32_t)(check_random_bits(seed) % SCENE_CONTACTS);
  const int32_t n_rows = several_laws ? (int32_t)(check_random_bits(seed) % ROWS) : 0;
  scene_make(&scene, n_trees, n_contacts, seed);
  for (int32_t i = 1; i < n_contacts; ++i) {
    const int32_t a = scene.tree_a[i], b = scene.tree_b[i];
    const int again = check_random(seed, 0, 1) < 0.4, near = check_random(seed, 0, 1) < 0.8;
    scene.tree_a[i] = again ? scene.tree_a[i - 1] : a;
    scene.tree_b[i] = again ? scene.tree_b[i - 1] : near && a > 0 && a % 4 ? a - 1 : b % 7;
    scene.tree_b[i] = scene.tree_b[i] == scene.tree_a[i] ? -1 : scene.tree_b[i];
  }
  for (int32_t i = 0; i < n_contacts; ++i) {
    barrier[i] = (int8_t)(check_random_bits(seed) % 3);
    kappa[i] = lambda[i] = 1;
  }
  for (int32_t i = 0; i < n_rows; ++i) {
    group_a[i] = (int32_t)(check_random_bits(seed) % (uint64_t)n_trees);
    group_b[i] = i % 2 || group_a[i] == 0 ? -1 : group_a[i] - 1;
    R[i] = upper[i] = 1;
  }
  for (size_t i = 0; i < CHECK_COUNT(scene.J); ++i) {
    scene.J[i] = check_random(seed, -1, 1);
  }
  for (size_t i = 0; i < CHECK_COUNT(group_J); ++i) {
    group_J[i] = check_random(seed, -1, 1);
  }
  group = (sap_constraints){.kind = SAP_LIMIT,
                            .n = n_rows,
                            .tree_a = group_a,
                            .tree_b = group_b,
                            .J = group_J,
                            .R = R,
                            .v_hat = v_hat,
                            .lower = lower,
                            .upper = upper};
  scene.problem.barrier = several_laws ? barrier : NULL;
  scene.problem.kappa = kappa;
  scene.problem.barrier_lambda = lambda;
  scene.problem.n_groups = several_laws;
  scene.problem.groups = &group;
  REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
}

static sap_solver *make_solver(int islands) {
  sap_settings settings = sap_settings_default();
  sap_solver *solver = NULL;
  settings.islands = islands;
  CHECK_EQUAL(sap_solver_create(&solver, &settings, NULL, NULL), SAP_OK);
  return solver;
}

/* ---- lists of one graph ---- */

static int32_t law_of(const struct sap_triples *triples, int32_t i) {
  const int clamped = i >= triples->n_contacts;
  const int core = !clamped && scene.problem.barrier && barrier[i] != SAP_BARRIER_NONE;
  return clamped ? SAP_LAW_CLAMP : core ? SAP_LAW_RIGID_CORE : SAP_LAW_CONTACT;
}

/* Checks that each triple has one place, in a patch of its trees and law, in the problem's
 * order. */
static void check_patches(const struct sap_graph *graph, const struct sap_triples *triples) {
  int32_t seen[TRIPLES] = {0}, place = 0;
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    CHECK_EQUAL(patch->begin, place);
    CHECK(patch->begin < patch->end);
    CHECK(patch->low >= 0 && (patch->high < 0 || patch->low < patch->high));
    for (; place < patch->end; ++place) {
      const int32_t i = graph->triple[place];
      const int32_t a = graph->tree_position[triples->tree_a[i]];
      const int32_t b = triples->tree_b[i] < 0 ? -1 : graph->tree_position[triples->tree_b[i]];
      CHECK((a == patch->low && b == patch->high) || (b == patch->low && a == patch->high));
      CHECK_EQUAL(patch->law, law_of(triples, i));
      CHECK(place == patch->begin || graph->triple[place - 1] < i);
      ++seen[i];
    }
    for (int32_t q = 0; q < p; ++q) { /* one patch for each pair and law, one edge for each pair */
      const struct sap_patch *other = &graph->patch[q];
      const int same = other->low == patch->low && other->high == patch->high;
      CHECK(!same || other->law != patch->law);
      CHECK(patch->high < 0 || (other->edge == patch->edge) == same);
    }
  }
  CHECK_EQUAL(place, triples->n);
  for (int32_t i = 0; i < triples->n; ++i) {
    CHECK_EQUAL(seen[i], 1);
  }
}

/* All but one patch of an edge share it, and it belongs to their trees. */
static void check_edges(const struct sap_graph *graph) {
  int32_t owners[TRIPLES] = {0};
  for (int32_t p = 0; p < graph->n_patches; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    CHECK_EQUAL(patch->edge >= 0, patch->high >= 0);
    if (patch->edge >= 0) {
      CHECK(patch->edge < graph->n_edges);
      CHECK_EQUAL(graph->edge_low[patch->edge], patch->low);
      CHECK_EQUAL(graph->edge_high[patch->edge], patch->high);
      CHECK(patch->shares || owners[patch->edge] == 0); /* the owner comes first */
      owners[patch->edge] += !patch->shares;
    }
  }
  for (int32_t e = 0; e < graph->n_edges; ++e) {
    CHECK_EQUAL(owners[e], 1);
  }
}

/* Checks velocities, blocks and positions of trees, and rows of contacts in the problem's J. */
static void check_trees(const struct sap_graph *graph, const struct sap_triples *triples) {
  int64_t v = 0, A = 0, J = 0, J_of[TRIPLES];
  int32_t n_nodes = 0, touched[SCENE_TREES] = {0};
  for (int32_t i = 0; i < triples->n; ++i) {
    const int32_t a = triples->tree_a[i], b = triples->tree_b[i];
    touched[a] = touched[b < 0 ? a : b] = 1;
    J_of[i] = i < triples->n_contacts ? J : -1;
    J += 3 * (scene.tree_nv[a] + (b < 0 ? 0 : scene.tree_nv[b]));
  }
  for (int32_t t = 0; t < graph->n_trees; ++t) {
    const int32_t node = graph->tree_position[t], n = scene.tree_nv[t];
    CHECK_EQUAL(graph->tree_v[t], v);
    CHECK_EQUAL(graph->tree_A[t], A);
    CHECK_EQUAL(node >= 0, touched[t]);
    if (node >= 0) {
      CHECK_EQUAL(graph->node_tree[node], t);
      CHECK_EQUAL(sap_node_size(&graph->tree, node), n);
    }
    n_nodes += touched[t];
    v += n;
    A += n * n;
  }
  CHECK_EQUAL(graph->n_nodes, n_nodes);
  for (int32_t place = 0; place < triples->n; ++place) {
    CHECK_EQUAL(graph->contact_J[place], J_of[graph->triple[place]]);
  }
}

/* Each position sees its patches in order, and its packed rows follow each other. */
static void check_incidences(const struct sap_graph *graph) {
  int64_t J = 0, widest = 0;
  int32_t most = 0;
  for (int32_t node = 0; node < graph->n_nodes; ++node) {
    const int64_t row = sap_stride(sap_node_size(&graph->tree, node)), first = J;
    int32_t k = graph->incidence_start[node], n_triples = 0;
    CHECK_EQUAL(graph->node_J[node], J);
    for (int32_t p = 0; p < graph->n_patches; ++p) {
      const struct sap_patch *patch = &graph->patch[p];
      if (patch->low == node || patch->high == node) {
        const struct sap_incidence *incidence = &graph->incidence[k++];
        CHECK(incidence->patch == p && incidence->begin == patch->begin &&
              incidence->end == patch->end);
        CHECK_EQUAL(patch->low == node ? patch->J_low : patch->J_high, J);
        J += 3 * row * (patch->end - patch->begin);
        n_triples += patch->end - patch->begin;
      }
    }
    CHECK_EQUAL(graph->incidence_start[node + 1], k);
    most = n_triples > most ? n_triples : most;
    widest = J - first > widest ? J - first : widest;
  }
  CHECK_EQUAL(graph->node_J[graph->n_nodes], J);
  CHECK_EQUAL(graph->max_node_width, widest);
  CHECK_EQUAL(graph->max_node_triples, most);
}

/* Finds the smallest tree that is connected to each tree. */
static void find_components(const struct sap_triples *triples, int32_t *root) {
  for (int32_t t = 0; t < scene.problem.n_trees; ++t) {
    root[t] = t;
  }
  for (int changed = 1; changed;) {
    changed = 0;
    for (int32_t i = 0; i < triples->n; ++i) {
      const int32_t a = triples->tree_a[i], b = triples->tree_b[i] < 0 ? a : triples->tree_b[i];
      const int32_t least = root[a] < root[b] ? root[a] : root[b];
      changed |= root[a] != least || root[b] != least;
      root[a] = root[b] = least;
    }
  }
}

/* Ranges of islands follow each other, an island is a connected component, and its patches are
 * sorted by law and lower position. */
static void check_islands(const struct sap_graph *graph, const struct sap_triples *triples,
                          int whole) {
  int32_t root[SCENE_TREES], node = 0, scalar = 0, p = 0, place = 0;
  find_components(triples, root);
  for (int32_t c = 0; c < graph->n_islands; ++c) {
    const struct sap_island *island = &graph->island[c];
    CHECK(island->index == c && island->node_begin == node && island->scalar_begin == scalar &&
          island->patch_begin == p && island->triple_begin == place);
    const int32_t its_root = root[graph->node_tree[node]];
    for (; node < island->node_end; ++node) {
      CHECK(whole || root[graph->node_tree[node]] == its_root);
      scalar += sap_node_size(&graph->tree, node);
    }
    for (; p < island->patch_end; ++p) {
      const struct sap_patch *patch = &graph->patch[p];
      CHECK(island->node_begin <= patch->low && patch->low < island->node_end);
      if (p > island->patch_begin) {
        CHECK(patch[-1].law < patch->law ||
              (patch[-1].law == patch->law && patch[-1].low <= patch->low));
      }
      CHECK(island->law_begin[patch->law] <= patch->begin &&
            patch->end <= island->law_begin[patch->law + 1]);
    }
    place = graph->patch[p - 1].end;
    CHECK(island->scalar_end == scalar && island->triple_end == place);
    CHECK(island->law_begin[0] == island->triple_begin && island->law_begin[SAP_N_LAWS] == place);
    for (int32_t other = node; !whole && other < graph->n_nodes; ++other) {
      CHECK(root[graph->node_tree[other]] != its_root);
    }
  }
  CHECK(node == graph->n_nodes && p == graph->n_patches && place == triples->n);
  CHECK(!whole || graph->n_islands <= 1);
}

static void lists_keep_what_they_promise(void) {
  uint64_t seed = 1;
  int32_t most_islands = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const int islands = trial % 4 > 0;
    make_problem(trial % 3 > 0, &seed);
    sap_solver *solver = make_solver(islands);
    REQUIRE(solver && sap_solver_load(solver, &scene.problem, NULL) == SAP_OK);
    const struct sap_graph *graph = &solver->plan.graph;
    const struct sap_triples *triples = &solver->plan.triples;
    check_patches(graph, triples);
    check_edges(graph);
    check_trees(graph, triples);
    check_incidences(graph);
    check_islands(graph, triples, !islands);
    most_islands = graph->n_islands > most_islands ? graph->n_islands : most_islands;
    sap_solver_destroy(solver);
  }
  CHECK(most_islands > 3);
}

/* ---- is it still the same? ---- */

static int32_t reused(sap_solver *solver) {
  sap_solution solution = scene_solution(&outputs);
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL), SAP_OK);
  return solution.symbolic_reused;
}

/* Any tree, constraint or law that changes asks for another graph; numbers do not. */
static void any_change_of_the_graph_is_noticed(void) {
  uint64_t seed = 5;
  do {
    make_problem(1, &seed);
  } while (group.n < 10 || scene.problem.n_contacts < 10 ||
           scene.tree_nv[scene.problem.n_trees - 1] == 1);
  sap_solver *solver = make_solver(1);
  REQUIRE(solver && reused(solver) == 0);
  const int32_t n = scene.problem.n_contacts, last = n - 1, last_row = group.n - 1;
#define CHECK_CHANGE(entry, value)  \
  do {                              \
    const int32_t before = (entry); \
    CHECK((value) != before);       \
    CHECK_EQUAL(reused(solver), 1); \
    (entry) = (value);              \
    CHECK_EQUAL(reused(solver), 0); \
    (entry) = before;               \
    CHECK_EQUAL(reused(solver), 0); \
  } while (0)
  const int32_t b_last = scene.tree_b[last], other = scene.tree_a[last] == 1 ? 0 : 1;
  CHECK_CHANGE(scene.tree_b[last], b_last < 0 ? other : -1);
  CHECK_CHANGE(scene.tree_b[0], scene.tree_b[0] < 0 ? !scene.tree_a[0] : -1);
  CHECK_CHANGE(group_b[last_row], group_b[last_row] < 0 ? !group_a[last_row] : -1);
  CHECK_CHANGE(group_b[0], group_b[0] < 0 ? !group_a[0] : -1);
  CHECK_CHANGE(scene.tree_nv[scene.problem.n_trees - 1], 1); /* its block is one number then */
  CHECK_CHANGE(group.n, last_row);
  CHECK_CHANGE(scene.problem.n_contacts, last);
#undef CHECK_CHANGE
  scene.mu[0] += 0.1;
  scene.J[0] += 0.1;
  barrier[last] = SAP_BARRIER_LOG;
  reused(solver);
  barrier[last] = SAP_BARRIER_EXP; /* under the same law */
  CHECK_EQUAL(reused(solver), 1);
  barrier[last] = SAP_BARRIER_NONE;
  CHECK_EQUAL(reused(solver), 0);
  sap_solver_destroy(solver);
}

/* Trees of components that dense storage takes are left out of the graph of the others. */
static void trees_left_out_belong_to_the_graph(void) {
  uint64_t seed = 5;
  const sap_settings settings = sap_settings_default();
  int8_t left_out[SCENE_TREES] = {0};
  make_problem(1, &seed);
  sap_solver *solver = make_solver(1);
  REQUIRE(solver && sap_solver_load(solver, &scene.problem, NULL) == SAP_OK);
  CHECK(sap_plan_has_graph_of(&solver->plan, NULL, &settings));
  CHECK(sap_plan_has_graph_of(&solver->plan, left_out, &settings));
  left_out[scene.problem.n_trees - 1] = 1;
  CHECK(!sap_plan_has_graph_of(&solver->plan, left_out, &settings));
  sap_solver_destroy(solver);
}

static const check_test tests[] = {
    CHECK_TEST(lists_keep_what_they_promise),
    CHECK_TEST(any_change_of_the_graph_is_noticed),
    CHECK_TEST(trees_left_out_belong_to_the_graph),
};
CHECK_FILE(test_graph, tests);
