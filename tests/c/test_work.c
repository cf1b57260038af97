/* Work that is counted: closed forms on small graphs, and what is refused. */
#include "check.h"
#include "counter.h"
#include "sap/work.h"
#include "scene.h"

static struct scene scene;
static int8_t regions[SCENE_CONTACTS];

/* the guess, and two iterates with three and four trials */
static const int32_t island[3] = {0, 0, 0}, trials[3] = {0, 3, 4};
static const struct sap_work_records records = {3, island, trials};

static void one_tree_is_a_dense_matrix(void) {
  uint64_t seed = 1;
  scene_make(&scene, 1, 5, &seed);
  const double n = scene.tree_nv[0];
  for (int i = 0; i < 5; ++i) {
    regions[i] = (int8_t)(i < 2 ? SAP_STICTION : i < 4 ? SAP_SLIDING : SAP_NO_CONTACT);
  }
  struct sap_island_work work;
  REQUIRE(sap_work_count(&scene.problem, regions, &records, 1, &work, NULL, NULL) == SAP_OK);
  CHECK_EQUAL(work.evaluations, 3);
  CHECK_EQUAL(work.directions, 2);
  CHECK_EQUAL(work.trials, 7);
  const struct sap_operations *phase = work.phase;
  CHECK_CLOSE(phase[SAP_WORK_FACTORIZATION].flops, 2 * n * (n - 1) * (2 * n + 5) / 6, 0);
  CHECK_CLOSE(phase[SAP_WORK_FACTORIZATION].roots, 2 * 2 * n, 0);
  CHECK_CLOSE(phase[SAP_WORK_SOLVES].flops, 2 * 2 * n * n, 0);
  CHECK_CLOSE(phase[SAP_WORK_LAW].flops, 3 * 34 * 5, 0);
  CHECK_CLOSE(phase[SAP_WORK_LINE_SEARCH].flops, 7 * 31 * 5, 0);
  const double stuck = 3 * n + 3 * n * (n + 1), sliding = 8 * n + 2 * n * (n + 1);
  CHECK_CLOSE(phase[SAP_WORK_ASSEMBLY].flops, 2 * (2 * stuck + 2 * sliding), 0);
  CHECK_CLOSE(phase[SAP_WORK_PRODUCTS].flops,
              3 * (4 * 6 * n + 13 * n) + 2 * (5 * (6 * n + 6) + 10 * n + 2 * n * n), 0);
}

/* whatever is eliminated first, two trees side by side leave a block below, and three fill it */
static void a_triangle_fills_in(void) {
  uint64_t seed = 2;
  scene_make(&scene, 3, 3, &seed);
  for (int32_t t = 0; t < 3; ++t) {
    scene.tree_nv[t] = 2;
    scene.tree_a[t] = t;
    scene.tree_b[t] = (t + 1) % 3;
    regions[t] = SAP_NO_CONTACT;
  }
  struct sap_island_work work;
  REQUIRE(sap_work_count(&scene.problem, regions, &records, 1, &work, NULL, NULL) == SAP_OK);
  double flops = 0;
  for (int32_t below = 0; below < 6; ++below) {
    flops += below * (below + 2);
  }
  CHECK_CLOSE(work.phase[SAP_WORK_FACTORIZATION].flops, 2 * flops, 0);
  CHECK_CLOSE(work.phase[SAP_WORK_FACTORIZATION].roots, 2 * 2 * 6, 0);
}

static void expect(const struct sap_work_records *given, int32_t n_islands, const char *argument,
                   int64_t index) {
  sap_error error = {0};
  struct sap_island_work work[2];
  CHECK_EQUAL(sap_work_count(&scene.problem, regions, given, n_islands, work, NULL, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, argument);
  CHECK_EQUAL(error.index, index);
}

static void what_is_not_of_the_solve_is_refused(void) {
  uint64_t seed = 3;
  scene_make(&scene, 1, 2, &seed);
  regions[0] = regions[1] = SAP_STICTION;
  const int32_t beyond[3] = {0, 0, 1}, below[3] = {0, -1, 0}, fewer[3] = {0, 3, -4};
  expect(&(struct sap_work_records){3, beyond, trials}, 1, "island", 2);
  expect(&(struct sap_work_records){3, below, trials}, 1, "island", 1);
  expect(&(struct sap_work_records){3, island, fewer}, 1, "trials", 2);
  expect(&records, 2, "n_islands", -1);
  const int32_t first = 0;
  const double length = 0.1;
  const sap_spin spin = {1, &first, scene.J, &length};
  scene.problem.spin = &spin;
  expect(&records, 1, "spin_contact", -1);
  scene.problem.spin = NULL;
  const int8_t barrier[2] = {SAP_BARRIER_NONE, SAP_BARRIER_LOG};
  scene.problem.barrier = barrier;
  expect(&records, 1, "barrier", 1);
  scene.problem.barrier = NULL;
  scene.tree_nv[0] = 0;
  expect(&records, 1, "tree_nv", 0);
}

static void a_failed_allocation_is_a_clean_error(void) {
  uint64_t seed = 4;
  scene_make(&scene, 1, 2, &seed);
  struct sap_island_work work;
  for (long fail_at = 0; fail_at < 2; ++fail_at) {
    struct counter counter = {0, 0, fail_at};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    CHECK_EQUAL(sap_work_count(&scene.problem, regions, &records, 1, &work, &allocator, NULL),
                fail_at == 0 ? SAP_OUT_OF_MEMORY : SAP_OK);
    CHECK_EQUAL(counter.live, 0);
  }
}

static const check_test tests[] = {
    CHECK_TEST(one_tree_is_a_dense_matrix),
    CHECK_TEST(a_triangle_fills_in),
    CHECK_TEST(what_is_not_of_the_solve_is_refused),
    CHECK_TEST(a_failed_allocation_is_a_clean_error),
};
CHECK_FILE(test_work, tests);
