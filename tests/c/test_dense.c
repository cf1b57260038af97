/* Compares problems without contacts in dense storage with supernodal storage. */
#include <math.h>
#include <string.h>

#include "constraints/kinds/kinds.h"
#include "counter.h"
#include "groups.h"
#include "solver/solver_object.h"

enum { NV = SCENE_TREES * SCENE_MOST_NV, ROWS = MOST_ROWS * GROUPS };

static double values[GROUPS][SAP_MOST_PARAMETERS][MOST_ROWS];
static const double *value[GROUPS][SAP_MOST_PARAMETERS];
static int32_t dof[GROUPS][MOST_CONSTRAINTS];
static sap_group_regularization physical[GROUPS];
static sap_parameters parameters;

struct arrays {
  double v[NV], gamma[ROWS], v_c[ROWS];
  sap_solution solution;
};

/* Makes rows of one tree, of one velocity, or of two trees that are joined, none on the last tree.
 * Limits start near enough to act. */
static void make_with(int joins, int32_t n_trees, int32_t n, uint64_t *seed) {
  make_groups(n_trees, 0, n, seed);
  for (int32_t g = 0; g < GROUPS; ++g) {
    double *to = group[g].J;
    for (int32_t i = 0; i < constraints[g].n; ++i) {
      const int32_t size = group[g].size[i], a = group[g].tree_a[i] % (n_trees - 1);
      const int dense = size == 1 && check_random(seed, 0, 1) < 0.6;
      dof[g][i] = dense ? (int32_t)(check_random_bits(seed) % (uint64_t)scene.tree_nv[a]) : -1;
      group[g].tree_a[i] = a;
      const int32_t b = (a + 1) % (n_trees - 1);
      group[g].tree_b[i] = joins && !dense && a != b ? b : -1;
      const int32_t width = scene.tree_nv[a] + (group[g].tree_b[i] < 0 ? 0 : scene.tree_nv[b]);
      for (int32_t k = 0; k < (dense ? 1 : size * width); ++k) {
        *to++ = check_random(seed, -1, 1);
      }
    }
    constraints[g].dof = dof[g];
    for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
      value[g][p] = values[g][p];
      for (int i = 0; i < MOST_ROWS; ++i) {
        values[g][p][i] = check_random(seed, 0, 1) * (kinds[g] == SAP_LIMIT && p == 0 ? 0.01 : 1);
      }
    }
    for (int i = 0; i < MOST_ROWS && kinds[g] == SAP_BILATERAL; ++i) {
      values[g][3][i] = -1; /* force_lower */
    }
    physical[g] = (sap_group_regularization){
        {0.01, 1e-3, 0.1, SAP_DELASSUS_BLOCK, value[g], NULL, NULL, NULL},
        group[g].R,
        group[g].v_hat,
        group[g].lower,
        group[g].upper};
  }
  parameters = (sap_parameters){.dt = 0.01, .sigma = 1e-3, .beta = 1, .groups = physical};
  REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
}

static void make(int32_t n_trees, int32_t n, uint64_t *seed) { make_with(0, n_trees, n, seed); }

static void clear(struct arrays *to) {
  to->solution = (sap_solution){.v = to->v, .group_gamma = to->gamma, .group_v_c = to->v_c};
}

static sap_status solve(sap_solver *solver, struct arrays *to, sap_error *error) {
  clear(to);
  return sap_solver_solve_physical(solver, &scene.problem, &parameters, NULL, NULL, NULL, NULL,
                                   &to->solution, error);
}

static sap_solver *solver_of(sap_friction friction, int supernodal, double tolerance) {
  sap_settings settings = sap_settings_default();
  settings.friction = friction;
  settings.relative_tolerance = tolerance;
  sap_solver *solver = NULL;
  CHECK(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
  solver->without_dense = supernodal;
  return solver;
}

/* Returns |v - w|_A. */
static double distance(const double *v, const double *w) {
  const double *A = scene.problem.A;
  double sum = 0;
  for (int32_t t = 0, first = 0; t < scene.problem.n_trees; first += scene.tree_nv[t++]) {
    const int32_t n = scene.tree_nv[t];
    for (int32_t i = 0; i < n; ++i, A += n) {
      for (int32_t j = 0; j < n; ++j) {
        sum += (v[first + i] - w[first + i]) * A[j] * (v[first + j] - w[first + j]);
      }
    }
  }
  return sqrt(fmax(sum, 0));
}

/* Both storages find the same minimum within their proved errors, impulses and statistics too. */
static void compare(int joins, uint64_t seed) {
  static struct arrays here, there;
  static const sap_friction frictions[] = {SAP_FRICTION_CONVEX, SAP_FRICTION_COULOMB};
  int32_t dense = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const sap_friction friction = frictions[trial % 2];
    sap_solver *one = solver_of(friction, 0, 1e-10), *two = solver_of(friction, 1, 1e-10);
    make_with(joins, 2 + trial % 6, 1 + trial % MOST_CONSTRAINTS, &seed);
    REQUIRE(solve(one, &here, NULL) == SAP_OK);
    REQUIRE(solve(two, &there, NULL) == SAP_OK);
    const sap_solution *a = &here.solution, *b = &there.solution;
    CHECK_EQUAL(a->outcome, SAP_CONVERGED);
    CHECK(a->momentum_error <= 1e-10);
    CHECK(distance(here.v, there.v) <= a->velocity_error_bound + b->velocity_error_bound);
    CHECK_CLOSE(a->cost, b->cost, 1e-9 * fabs(b->cost));
    CHECK_EQUAL(isnan(a->coulomb_error), isnan(b->coulomb_error));
    CHECK_EQUAL(a->n_islands, b->n_islands);
    const double share = 1e-7;
    for (int64_t i = 0; i < scene.sizes.n_rows; ++i) {
      CHECK_CLOSE(here.gamma[i], there.gamma[i], share * (1 + fabs(there.gamma[i])));
      CHECK_CLOSE(here.v_c[i], there.v_c[i], share * (1 + fabs(there.v_c[i])));
    }
    dense += a->line_search_trials == 0 && a->iterations > 0;
    sap_solver_destroy(one);
    sap_solver_destroy(two);
  }
  CHECK(dense > 30);
}

static void what_it_finds_is_what_islands_find(void) { compare(0, 211); }

static void of_trees_that_rows_join_too(void) { compare(1, 221); }

/* A reused solver has room for every problem, and finds the results of a new one. */
static void room_grows_with_problems(void) {
  static struct arrays here, there;
  uint64_t seed = 223;
  sap_solver *kept = solver_of(SAP_FRICTION_CONVEX, 0, 1e-10);
  for (int trial = 0; trial < 60; ++trial) {
    make_with(trial % 3 == 0, 2 + trial % 6, 1 + trial * 7 % MOST_CONSTRAINTS, &seed);
    sap_solver *new = solver_of(SAP_FRICTION_CONVEX, 0, 1e-10);
    REQUIRE(solve(kept, &here, NULL) == SAP_OK);
    REQUIRE(solve(new, &there, NULL) == SAP_OK);
    CHECK(memcmp(here.v, there.v, (size_t)scene.sizes.nv * sizeof *here.v) == 0);
    CHECK_EQUAL(here.solution.iterations, there.solution.iterations);
    sap_solver_destroy(new);
  }
  sap_solver_destroy(kept);
}

/* Stiff rows with bounds can conflict, so that full Newton steps lead too far. Rows are therefore
 * activated before the step is taken. */
static void rows_that_turn_take_no_second_step(void) {
  static struct arrays here, there;
  uint64_t seed = 219;
  int32_t dense = 0, several = 0;
  for (int trial = 0; trial < 60; ++trial) {
    make(2 + trial % 3, MOST_CONSTRAINTS, &seed);
    for (int32_t g = 0; g < GROUPS; ++g) {
      for (int i = 0; i < MOST_ROWS && (kinds[g] == SAP_LIMIT || kinds[g] == SAP_BILATERAL); ++i) {
        values[g][1][i] = 1e5; /* k */
        values[g][3][i] *= 10; /* force_lower, force_upper of bilaterals */
        values[g][4][i] *= 10;
      }
    }
    sap_solver *one = solver_of(SAP_FRICTION_CONVEX, 0, 1e-10);
    sap_solver *two = solver_of(SAP_FRICTION_CONVEX, 1, 1e-10);
    REQUIRE(solve(one, &here, NULL) == SAP_OK);
    REQUIRE(solve(two, &there, NULL) == SAP_OK);
    const sap_solution *a = &here.solution, *b = &there.solution;
    CHECK_EQUAL(a->outcome, SAP_CONVERGED);
    CHECK(distance(here.v, there.v) <= a->velocity_error_bound + b->velocity_error_bound);
    dense += a->line_search_trials == 0;
    several += a->line_search_trials == 0 && a->iterations > 1;
    sap_solver_destroy(one);
    sap_solver_destroy(two);
  }
  CHECK(dense > 50);
  CHECK(several < 10); /* for the last digits */
}

/* With only bilateral constraints the cost is quadratic, and Newton's first step ends the solve. */
static void of_bilaterals_one_step_is_enough(void) {
  static struct arrays here;
  uint64_t seed = 215;
  int32_t solved = 0;
  for (int trial = 0; trial < 30; ++trial) {
    make(2 + trial % 6, 1 + trial % MOST_CONSTRAINTS, &seed);
    for (int32_t g = 0; g < GROUPS; ++g) {
      constraints[g].n = kinds[g] == SAP_BILATERAL ? constraints[g].n : 0;
    }
    REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
    sap_solver *solver = solver_of(SAP_FRICTION_CONVEX, 0, 1e-8);
    REQUIRE(solve(solver, &here, NULL) == SAP_OK);
    CHECK_EQUAL(here.solution.outcome, SAP_CONVERGED);
    CHECK(here.solution.iterations <= 1);
    CHECK_EQUAL(here.solution.line_search_trials, 0);
    solved += here.solution.iterations;
    sap_solver_destroy(solver);
  }
  CHECK(solved > 0);
}

/* Is every component solved in dense storage? */
static int takes(const sap_settings *settings) {
  static struct arrays out;
  sap_island_report reports[SCENE_TREES];
  sap_solver *solver = NULL;
  CHECK(sap_solver_create(&solver, settings, NULL, NULL) == SAP_OK);
  clear(&out);
  out.solution.islands = reports;
  out.v[0] = 17;
  int took = SAP_OK == sap_solver_solve_physical(solver, &scene.problem, &parameters, NULL, NULL,
                                                 NULL, NULL, &out.solution, NULL);
  CHECK(took || out.v[0] == 17);
  for (int32_t i = 0; took && i < out.solution.n_islands; ++i) {
    took = reports[i].storage == SAP_STORAGE_DENSE;
  }
  sap_solver_destroy(solver);
  return took;
}

/* Makes rows that join each of the first trees to the next one. */
static void chain(int32_t n_trees) {
  int32_t a = 0;
  for (int32_t g = 0; g < GROUPS; ++g) {
    for (int32_t i = 0; i < constraints[g].n; ++i, a = (a + 1) % (n_trees - 1)) {
      group[g].tree_a[i] = a;
      group[g].tree_b[i] = a + 1;
      dof[g][i] = -1;
    }
  }
  REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
}

/* The islands solve components that are too wide, whole problems, invalid numbers, and without
 * steps. */
static void the_rest_is_left_to_the_islands(void) {
  uint64_t seed = 212;
  sap_settings settings = sap_settings_default();
  make(3, 4, &seed);
  REQUIRE(takes(&settings));
  double *const numbers[] = {scene.v_star, group[0].J, values[0][1], scene.A};
  for (size_t i = 0; i < CHECK_COUNT(numbers); ++i) {
    const double before = *numbers[i];
    *numbers[i] = NAN;
    CHECK(!takes(&settings));
    *numbers[i] = before;
  }
  sap_settings other = settings;
  other.islands = 0;
  CHECK(!takes(&other));
  other = settings;
  other.max_iterations = 0;
  CHECK(!takes(&other));
  make(SCENE_TREES, MOST_CONSTRAINTS, &seed);
  chain(4);
  CHECK(takes(&settings));
  chain(SCENE_TREES);
  CHECK(!takes(&settings));
}

static void errors_are_those_of_supernodal_storage(void) {
  static struct arrays out;
  uint64_t seed = 213;
  sap_solver *one = solver_of(SAP_FRICTION_CONVEX, 0, 1e-6);
  sap_solver *two = solver_of(SAP_FRICTION_CONVEX, 1, 1e-6);
  make(3, 4, &seed);
  for (int wrong = 0; wrong < 2; ++wrong) {
    double *at = wrong == 0 ? &group[0].J[0] : &values[2][6][1];
    const double before = *at;
    sap_error a = {0}, b = {0};
    *at = NAN;
    CHECK_EQUAL(solve(one, &out, &a), SAP_INVALID_ARGUMENT);
    CHECK_EQUAL(solve(two, &out, &b), SAP_INVALID_ARGUMENT);
    CHECK_STRING(a.argument, b.argument);
    CHECK_STRING(a.rule, b.rule);
    CHECK_EQUAL(a.index, b.index);
    CHECK_EQUAL(a.group, b.group);
    *at = before;
  }
  sap_solver_destroy(one);
  sap_solver_destroy(two);
}

static void steps_allocate_nothing(void) {
  static struct arrays out;
  uint64_t seed = 214;
  struct counter counter = {.fail_at = -1};
  const sap_allocator memory = {counting_allocate, counting_release, &counter};
  sap_solver *solver;
  make_with(1, 4, 5, &seed);
  REQUIRE(sap_solver_create(&solver, NULL, &memory, NULL) == SAP_OK);
  REQUIRE(solve(solver, &out, NULL) == SAP_OK);
  const long before = counter.allocations;
  for (int step = 0; step < 5; ++step) {
    values[0][0][step] *= 0.9;
    REQUIRE(solve(solver, &out, NULL) == SAP_OK);
  }
  CHECK_EQUAL(counter.allocations, before);
  sap_solver_destroy(solver);
}

/* Indices change in their arrays, with the same numbers of trees and rows or with others: a solver
 * that has solved other problems in the same memory finds the bits of a new one. */
static void a_solver_sees_indices_that_change_in_place(void) {
  static struct arrays here, there;
  uint64_t seed = 11;
  sap_solver *kept = solver_of(SAP_FRICTION_COULOMB, 0, 1e-10);
  for (int trial = 0; trial < 60; ++trial) {
    make_with(trial % 2, 3 + trial / 20, 2 + trial / 20, &seed);
    sap_solver *fresh = solver_of(SAP_FRICTION_COULOMB, 0, 1e-10);
    REQUIRE(solve(fresh, &there, NULL) == SAP_OK);
    for (int again = 0; again < 2; ++again) {
      REQUIRE(solve(kept, &here, NULL) == SAP_OK);
      CHECK_EQUAL(here.solution.n_islands, there.solution.n_islands);
      CHECK_EQUAL(memcmp(here.v, there.v, (size_t)scene.sizes.nv * sizeof *here.v), 0);
      CHECK_EQUAL(memcmp(here.gamma, there.gamma, (size_t)scene.sizes.n_rows * sizeof *here.v), 0);
    }
    sap_solver_destroy(fresh);
  }
  sap_solver_destroy(kept);
}

static const check_test tests[] = {
    CHECK_TEST(what_it_finds_is_what_islands_find),
    CHECK_TEST(of_trees_that_rows_join_too),
    CHECK_TEST(room_grows_with_problems),
    CHECK_TEST(a_solver_sees_indices_that_change_in_place),
    CHECK_TEST(rows_that_turn_take_no_second_step),
    CHECK_TEST(of_bilaterals_one_step_is_enough),
    CHECK_TEST(the_rest_is_left_to_the_islands),
    CHECK_TEST(errors_are_those_of_supernodal_storage),
    CHECK_TEST(steps_allocate_nothing),
};
CHECK_FILE(test_dense, tests);
