/* Tests memory: nothing is allocated once the workspace exists, every failure to allocate is a
 * clean error, and everything is released. */
#include <string.h>

#include "check.h"
#include "counter.h"
#include "solver/solver_object.h"
#include "scene.h"

static struct scene scene;
static struct scene_outputs outputs;

/* Beside the contacts are a friction on the first velocity of each tree, and a bilateral row
 * between each tree and the next. */
static struct {
  int32_t first[SCENE_TREES], second[SCENE_TREES], world[SCENE_TREES], dof[SCENE_TREES];
  double one[SCENE_TREES], zero[SCENE_TREES], minus[SCENE_TREES];
  double J_pairs[2 * SCENE_TREES * SCENE_MOST_NV];
  sap_constraints groups[2];
} rows;

static void add_groups(void) {
  const int32_t n = scene.problem.n_trees;
  double *J_pair = rows.J_pairs;
  for (int32_t t = 0; t < n; ++t) {
    const int32_t next = t + 1 < n ? scene.tree_nv[t + 1] : 0;
    rows.first[t] = t;
    rows.second[t] = t + 1;
    rows.world[t] = -1;
    rows.one[t] = 1;
    rows.minus[t] = -1;
    for (int32_t j = 0; j < scene.tree_nv[t] + next; ++j) {
      *J_pair++ = j == 0 ? 1 : -0.5;
    }
  }
  rows.groups[0] =
      (sap_constraints){SAP_DRY_FRICTION, n,         NULL,       rows.first, rows.world, rows.one,
                        rows.one,         rows.zero, rows.minus, rows.one,   rows.dof};
  rows.groups[1] =
      (sap_constraints){SAP_BILATERAL, n - 1,     NULL,       rows.first, rows.second, rows.J_pairs,
                        rows.one,      rows.zero, rows.minus, rows.one,   NULL};
  scene.problem.n_groups = 2;
  scene.problem.groups = rows.groups;
}

/* Every other contact has a rigid core. */
static struct {
  int8_t barrier[SCENE_CONTACTS];
  double kappa[SCENE_CONTACTS], lambda[SCENE_CONTACTS];
} barriers;

static void add_barriers(void) {
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    barriers.barrier[i] = (int8_t)(i % 4 == 1   ? SAP_BARRIER_LOG
                                   : i % 4 == 3 ? SAP_BARRIER_EXP
                                                : SAP_BARRIER_NONE);
    barriers.kappa[i] = 1 / scene.R_n[i];
    barriers.lambda[i] = 4;
  }
  scene.problem.barrier = barriers.barrier;
  scene.problem.kappa = barriers.kappa;
  scene.problem.barrier_lambda = barriers.lambda;
}

static void nothing_is_allocated_once_the_workspace_stands(void) {
  uint64_t seed = 41;
  struct counter counter = {0, 0, -1};
  const sap_allocator allocator = {counting_allocate, counting_release, &counter};
  for (int variant = 0; variant < 16; ++variant) {
    const int with_groups = variant / 2 % 2, with_barriers = variant / 4 == 1;
    sap_settings settings = sap_settings_default();
    settings.record_history = variant % 2;
    settings.max_iterations = 100; /* each island has room for the records of so many */
    settings.friction = variant / 4 == 2   ? SAP_FRICTION_LAGGED
                        : variant / 4 == 3 ? SAP_FRICTION_COULOMB
                                           : SAP_FRICTION_CONVEX;
    sap_solver *solver = NULL;
    REQUIRE(sap_solver_create(&solver, &settings, &allocator, NULL) == SAP_OK);
    solver->without_dense = 1; /* dense storage has memory of its own */
    sap_solution solution = scene_solution(&outputs);
    scene_make(&scene, SCENE_TREES, SCENE_CONTACTS, &seed);
    if (with_groups) {
      add_groups();
    }
    if (with_barriers) {
      add_barriers();
    }
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
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
      if (with_groups) {
        add_groups();
      }
      if (with_barriers) {
        add_barriers();
      }
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      CHECK_EQUAL(solution.symbolic_reused, 0);
    }
    CHECK_EQUAL(counter.allocations, standing);
    sap_solver_destroy(solver);
    CHECK_EQUAL(counter.live, 0);
  }
}

/* A reset solver finds the results of a new one, in the memory of the old one. */
static void a_renewed_solver_is_like_a_new_one(void) {
  uint64_t seed = 44;
  struct counter counter = {0, 0, -1};
  const sap_allocator allocator = {counting_allocate, counting_release, &counter};
  static struct scene_outputs others;
  sap_settings settings = sap_settings_default();
  sap_solver *solver = NULL;
  sap_solution solution = scene_solution(&outputs), other = scene_solution(&others);
  REQUIRE(sap_solver_create(&solver, &settings, &allocator, NULL) == SAP_OK);
  const size_t little = sap_solver_memory(solver);
  scene_make(&scene, SCENE_TREES, SCENE_CONTACTS, &seed);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK(sap_solver_memory(solver) > little + sizeof(double) * (size_t)scene.problem.n_contacts);
  const long standing = counter.allocations;
  for (int variant = 0; variant < 3; ++variant) {
    settings.record_history = variant == 1;
    settings.relative_tolerance = variant == 1 ? 1e-9 : 1e-6;
    settings.islands = variant != 2;
    scene_make(&scene, SCENE_TREES / 2, SCENE_CONTACTS / 4, &seed);
    REQUIRE(sap_solver_reset(solver, &settings, NULL) == SAP_OK);
    int32_t records;
    sap_solver_history(solver, &records);
    CHECK_EQUAL(records, 0);
    sap_solver *made = NULL;
    REQUIRE(sap_solver_create(&made, &settings, NULL, NULL) == SAP_OK);
    memset(&outputs, 0, sizeof outputs);
    memset(&others, 0, sizeof others);
    for (int repeat = 0; repeat < 2; ++repeat) {
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      REQUIRE(sap_solver_solve(made, &scene.problem, NULL, &other, NULL) == SAP_OK);
      CHECK_EQUAL(solution.symbolic_reused, repeat);
      CHECK_EQUAL(solution.total_iterations, other.total_iterations);
      CHECK(solution.velocity_error_bound == other.velocity_error_bound);
      CHECK(memcmp(&outputs, &others, sizeof outputs) == 0);
    }
    sap_solver_destroy(made);
  }
  CHECK_EQUAL(counter.allocations, standing);
  settings.max_step = -1;
  CHECK_EQUAL(sap_solver_reset(solver, &settings, NULL), SAP_INVALID_ARGUMENT);
  sap_solver_destroy(solver);
  CHECK_EQUAL(counter.live, 0);
}

/* Fails each allocation in turn. Returns their number. */
static long fail_each_allocation(sap_friction friction, int without_dense) {
  sap_settings settings = sap_settings_default();
  settings.friction = friction;
  double phi0[20] = {0}, k[20], tau_d[20] = {0}, R_t[20], R_n[20], v_hat_n[20];
  for (int i = 0; i < 20; ++i) {
    k[i] = 1e4;
  }
  const sap_parameters parameters = scene_parameters(phi0, k, tau_d);
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
      status = sap_solver_create(&solver, &settings, &allocator, NULL);
    }
    if (status == SAP_OK) {
      solver->without_dense = without_dense;
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
  return failures;
}

static void every_failed_allocation_is_a_clean_error(void) {
  uint64_t seed = 42;
  scene_make(&scene, 12, 20, &seed);
  /* components, none of which is for dense storage, before all of what follows */
  CHECK_EQUAL(fail_each_allocation(SAP_FRICTION_COULOMB, 0), 1 + 11);
  /* check, regularize, solver, the search for rigid rows, blocks of the plan (masses, reduction,
   * graph, rows, numbers), and that of the islands */
  CHECK_EQUAL(fail_each_allocation(SAP_FRICTION_CONVEX, 1), 10);
  /* the triples that are under another law */
  CHECK_EQUAL(fail_each_allocation(SAP_FRICTION_LAGGED, 1), 11);
  CHECK_EQUAL(fail_each_allocation(SAP_FRICTION_COULOMB, 1), 11);
  /* or that rows of groups are put into */
  add_groups();
  CHECK_EQUAL(fail_each_allocation(SAP_FRICTION_CONVEX, 1), 11);
  CHECK_EQUAL(fail_each_allocation(SAP_FRICTION_COULOMB, 1), 11);
  /* or that tell contacts with cores from others */
  scene_make(&scene, 12, 20, &seed);
  add_barriers();
  CHECK_EQUAL(fail_each_allocation(SAP_FRICTION_CONVEX, 1), 11);
}

static void failed_allocation_of_a_group_is_a_clean_error(void) {
  uint64_t seed = 43;
  scene_make(&scene, 12, 20, &seed);
  add_groups();
  double R[SCENE_TREES], v_hat[SCENE_TREES], lower[SCENE_TREES], upper[SCENE_TREES];
  const double *const values[2] = {rows.one, rows.one};
  const sap_group_parameters parameters = {0.01,   1e-3, 0.1,  SAP_DELASSUS_BLOCK,
                                           values, NULL, NULL, NULL};
  for (long fail_at = 0; fail_at < 2; ++fail_at) {
    struct counter counter = {0, 0, fail_at};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    const sap_status status = sap_regularize_group(&scene.problem, &rows.groups[0], &parameters, R,
                                                   v_hat, lower, upper, &allocator, NULL);
    CHECK_EQUAL(status, fail_at == 0 ? SAP_OUT_OF_MEMORY : SAP_OK);
    CHECK_EQUAL(counter.live, 0);
  }
}

/* Sizes beyond any machine are out of memory without a call of the allocator. */
static void sizes_that_overflow_are_out_of_memory(void) {
  struct counter counter = {0, 0, -1};
  const sap_allocator allocator = {counting_allocate, counting_release, &counter};
  struct sap_block block = {0};
  const size_t counts[3] = {SIZE_MAX / 8 + 1, SIZE_MAX / 32 + 1, SIZE_MAX / 40};
  for (int k = 0; k < 3; ++k) {
    struct sap_arena arena = {NULL, 0};
    CHECK(sap_arena_take(&arena, counts[k], 8) == NULL);
    CHECK(sap_arena_take(&arena, counts[k], 8) == NULL);
    CHECK(arena.used > SIZE_MAX / 4);
    CHECK(!sap_block_reserve(&block, arena.used, &allocator));
  }
  CHECK_EQUAL(counter.allocations, 0);
}

static void destroying_nothing_is_allowed(void) {
  sap_solver_destroy(NULL);
  CHECK_STRING(sap_status_text(SAP_OUT_OF_MEMORY), "out of memory");
  CHECK_STRING(sap_outcome_text(SAP_STALLED), "stalled");
}

static const check_test tests[] = {
    CHECK_TEST(nothing_is_allocated_once_the_workspace_stands),
    CHECK_TEST(a_renewed_solver_is_like_a_new_one),
    CHECK_TEST(every_failed_allocation_is_a_clean_error),
    CHECK_TEST(failed_allocation_of_a_group_is_a_clean_error),
    CHECK_TEST(sizes_that_overflow_are_out_of_memory),
    CHECK_TEST(destroying_nothing_is_allowed),
};
CHECK_FILE(test_memory, tests);
