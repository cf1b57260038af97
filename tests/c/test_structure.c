/* Tests the blocks of H and its factor: a star of trees, and the state after a failed
 * allocation. */
#include "problem/graph/structure.h"

#include "check.h"
#include "counter.h"
#include "groups.h"

/* Trees 1 to 4 touch tree 0 in the middle, and tree 5 touches the world alone. */
static void a_star_has_no_fill(void) {
  uint64_t seed = 1;
  scene_make(&scene, 7, 5, &seed);
  for (int32_t i = 0; i < 5; ++i) {
    scene.tree_a[i] = i + 1;
    scene.tree_b[i] = i < 4 ? 0 : -1;
  }
  struct sap_structure found = {0};
  REQUIRE(sap_structure_find(&found, &scene.problem, NULL, NULL) == SAP_OK);
  const struct sap_junction_tree *tree = &found.graph.tree;
  CHECK_EQUAL(found.graph.n_nodes, 6);
  CHECK_EQUAL(found.graph.n_edges, 4);
  CHECK_EQUAL(tree->n_components, 2);
  for (int32_t s = 0; s < tree->n_supernodes; ++s) {
    for (int32_t r = tree->supernode[s].row_begin; r < tree->supernode[s].row_end; ++r) {
      CHECK_EQUAL(found.graph.node_tree[tree->row_node[r]], 0);
    }
  }
  sap_structure_release(&found, NULL);
}

static void sizes_that_do_not_fit_are_refused(void) {
  uint64_t seed = 2;
  scene_make(&scene, 2, 1, &seed);
  scene.tree_nv[1] = 0;
  struct sap_structure found = {0};
  sap_error error = {0};
  CHECK_EQUAL(sap_structure_find(&found, &scene.problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "tree_nv");
  sap_structure_release(&found, NULL);
}

static void a_failed_allocation_is_a_clean_error(void) {
  uint64_t seed = 3;
  make_groups(6, 8, 4, &seed);
  sap_status status = SAP_OUT_OF_MEMORY;
  for (long fail_at = 0; fail_at < 4; ++fail_at) {
    struct counter counter = {0, 0, fail_at};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    struct sap_structure found = {0};
    CHECK_EQUAL(status, SAP_OUT_OF_MEMORY);
    status = sap_structure_find(&found, &scene.problem, &allocator, NULL);
    sap_structure_release(&found, &allocator);
    CHECK_EQUAL(counter.live, 0);
  }
  CHECK_EQUAL(status, SAP_OK);
}

static const check_test tests[] = {
    CHECK_TEST(a_star_has_no_fill),
    CHECK_TEST(sizes_that_do_not_fit_are_refused),
    CHECK_TEST(a_failed_allocation_is_a_clean_error),
};
CHECK_FILE(test_structure, tests);
