/* Memory: nothing is allocated once the workspace stands, every failure to allocate is a clean error, and
 * everything is given back. */
#include <stdlib.h>

#include "check.h"
#include "scene.h"

static struct scene scene;
static struct scene_outputs outputs;

/* counts, and fails at allocation number `fail_at` (never when negative) */
struct counter {
  long allocations, live, fail_at;
};

static void *counting_allocate(size_t bytes, void *context) {
  struct counter *counter = context;
  if (counter->allocations++ == counter->fail_at) {
    return NULL;
  }
  void *memory = malloc(bytes);
  counter->live += memory != NULL;
  return memory;
}

static void counting_release(void *memory, void *context) {
  ((struct counter *)context)->live--;
  free(memory);
}

static void nothing_is_allocated_once_the_workspace_stands(void) {
  uint64_t seed = 41;
  struct counter counter = {0, 0, -1};
  const sap_allocator allocator = {counting_allocate, counting_release, &counter};
  for (int history = 0; history < 2; ++history) {
    sap_settings settings = sap_settings_default();
    settings.record_history = history;
    sap_solver *solver = NULL;
    REQUIRE(sap_solver_create(&solver, &settings, &allocator, NULL) == SAP_OK);
    sap_solution solution = scene_solution(&outputs);
    scene_make(&scene, SCENE_TREES, SCENE_CONTACTS, &seed);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    CHECK(solution.total_iterations > 0);
    const long standing = counter.allocations;
    /* the same graph, other numbers */
    for (int repeat = 0; repeat < 5; ++repeat) {
      scene.v_star[repeat] += 1;
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      CHECK_EQUAL(solution.symbolic_reused, 1);
    }
    CHECK_EQUAL(counter.allocations, standing);
    /* smaller graphs fit where the large one did */
    for (int repeat = 0; repeat < 5; ++repeat) {
      scene_make(&scene, 8, 10, &seed);
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      CHECK_EQUAL(solution.symbolic_reused, 0);
    }
    CHECK_EQUAL(counter.allocations, standing);
    sap_solver_destroy(solver);
    CHECK_EQUAL(counter.live, 0);
  }
}

static void every_failed_allocation_is_a_clean_error(void) {
  uint64_t seed = 42;
  scene_make(&scene, 12, 20, &seed);
  double phi0[20] = {0}, k[20], tau_d[20] = {0}, R_t[20], R_n[20], v_hat_n[20];
  for (int i = 0; i < 20; ++i) {
    k[i] = 1e4;
  }
  const sap_parameters parameters = {0.01, 1e-3, 1, SAP_DELASSUS_BLOCK, phi0, k, tau_d, NULL};
  long failures = 0;
  for (long fail_at = 0;; ++fail_at) {
    struct counter counter = {0, 0, fail_at};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    sap_solution solution = scene_solution(&outputs);
    sap_solver *solver = NULL;
    sap_status status = sap_problem_check(&scene.problem, &allocator, NULL);
    if (status == SAP_OK) {
      status = sap_regularize(&scene.problem, &parameters, R_t, R_n, v_hat_n, &allocator, NULL);
    }
    if (status == SAP_OK) {
      status = sap_solver_create(&solver, NULL, &allocator, NULL);
    }
    if (status == SAP_OK) {
      status = sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL);
      if (status == SAP_OUT_OF_MEMORY) {
        /* the solver survives: memory came back */
        counter.fail_at = -1;
        CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL), SAP_OK);
        CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
      }
    }
    sap_solver_destroy(solver);
    CHECK_EQUAL(counter.live, 0);
    if (status == SAP_OK) {
      CHECK(counter.allocations <= fail_at);
      break;
    }
    CHECK_EQUAL(status, SAP_OUT_OF_MEMORY);
    ++failures;
  }
  /* check, regularize, solver, and the blocks of the workspace: reduction, graph, rows, numbers */
  CHECK_EQUAL(failures, 7);
}

static void destroying_nothing_is_allowed(void) {
  sap_solver_destroy(NULL);
  CHECK_STRING(sap_status_text(SAP_OUT_OF_MEMORY), "out of memory");
  CHECK_STRING(sap_outcome_text(SAP_STALLED), "stalled");
}

int main(int argc, char **argv) {
  const check_test tests[] = {
      CHECK_TEST(nothing_is_allocated_once_the_workspace_stands),
      CHECK_TEST(every_failed_allocation_is_a_clean_error),
      CHECK_TEST(destroying_nothing_is_allowed),
  };
  return check_run(tests, CHECK_COUNT(tests), argc, argv);
}
