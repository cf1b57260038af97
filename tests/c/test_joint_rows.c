/* Compares rows that move a single velocity, with only that entry in J, with the same problem in
 * whole rows. */
#include <math.h>
#include <string.h>

#include "constraints/kinds/kinds.h"
#include "counter.h"
#include "groups.h"

enum { NV = SCENE_TREES * SCENE_MOST_NV, ROWS = MOST_ROWS * GROUPS };

/* The groups of scene.problem, with one entry instead of a row of one velocity. */
static struct {
  int32_t dof[GROUPS][MOST_CONSTRAINTS];
  double J[GROUPS][MOST_ROWS * 2 * SCENE_MOST_NV];
  sap_constraints groups[GROUPS];
  sap_problem problem;
} joint;

/* Constraint i of a group: half of those of one row move one velocity of one tree alone. Returns
 * the entries of its whole rows. */
static int32_t divide(int32_t g, int32_t i, const double *from, double *whole, double **to,
                      uint64_t *seed) {
  struct group *of = &group[g];
  const int dense = of->size[i] == 1 && check_random(seed, 0, 1) < 0.6;
  of->tree_b[i] = dense ? -1 : of->tree_b[i];
  const int32_t n = scene.tree_nv[of->tree_a[i]], b = of->tree_b[i];
  const int32_t length = of->size[i] * (n + (b < 0 ? 0 : scene.tree_nv[b]));
  const int32_t dof = dense ? (int32_t)(check_random_bits(seed) % (uint64_t)n) : -1;
  joint.dof[g][i] = dof;
  for (int32_t k = 0; k < length; ++k) {
    whole[k] = dense && k != dof ? 0 : from[k];
    if (!dense || k == dof) {
      *(*to)++ = whole[k];
    }
  }
  return length;
}

static void make(int32_t n_trees, int32_t n_contacts, int32_t n, uint64_t *seed) {
  static double given[MOST_ROWS * 2 * SCENE_MOST_NV];
  make_groups(n_trees, n_contacts, n, seed);
  joint.problem = scene.problem;
  joint.problem.groups = joint.groups;
  for (int32_t g = 0; g < GROUPS; ++g) {
    double *whole = group[g].J, *to = joint.J[g];
    const double *from = given;
    memcpy(given, group[g].J, sizeof given);
    for (int32_t i = 0; i < constraints[g].n; ++i) {
      const int32_t length = divide(g, i, from, whole, &to, seed);
      from += length;
      whole += length;
    }
    joint.groups[g] = constraints[g];
    joint.groups[g].J = joint.J[g];
    joint.groups[g].dof = joint.dof[g];
  }
}

static double difference(const double *x, const double *y, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n; ++i) {
    most = fmax(most, fabs(x[i] - y[i]));
  }
  return most;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void cost_and_derivatives_are_those_of_whole_rows(void) {
  uint64_t seed = 91;
  static double v[NV], gradient[2][NV], hessian[2][NV * NV], direction[2][NV], dv[NV];
  sap_solver *solver;
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  for (int trial = 0; trial < 20; ++trial) {
    make(2 + trial % 10, trial % 3 * 6, 1 + trial % MOST_CONSTRAINTS, &seed);
    const int64_t nv = scene.sizes.nv;
    const double alpha = check_random(&seed, 0.01, 2);
    for (int64_t i = 0; i < nv; ++i) {
      v[i] = check_random(&seed, -1, 1);
      dv[i] = check_random(&seed, -1, 1);
    }
    const sap_problem *const problems[2] = {&scene.problem, &joint.problem};
    double cost[2], change[2], slope[2], curvature[2];
    for (int k = 0; k < 2; ++k) {
      REQUIRE(sap_solver_evaluate(solver, problems[k], v, &cost[k], gradient[k], hessian[k],
                                  direction[k], NULL) == SAP_OK);
      REQUIRE(sap_solver_along_line(solver, problems[k], v, dv, 1, &alpha, &change[k], &slope[k],
                                    &curvature[k], NULL) == SAP_OK);
    }
    double size = 0;
    for (int64_t i = 0; i < nv; ++i) {
      size = fmax(size, hessian[0][i * (nv + 1)]);
    }
    const double close = 1e-12 * (1 + size);
    CHECK_CLOSE(cost[0], cost[1], close);
    CHECK_CLOSE(change[0], change[1], 100 * close);
    CHECK_CLOSE(slope[0], slope[1], 100 * close);
    CHECK_CLOSE(curvature[0], curvature[1], 100 * close);
    CHECK(difference(gradient[0], gradient[1], nv) <= close);
    CHECK(difference(hessian[0], hessian[1], nv * nv) <= close);
    CHECK(difference(direction[0], direction[1], nv) <= 1e-7);
  }
  sap_solver_destroy(solver);
}

/* Solutions equal those of whole rows, with contacts and without, in reduced trees. */
static void solutions_are_those_of_whole_rows(void) {
  uint64_t seed = 92;
  static struct scene_outputs out[2];
  static double gamma[2][ROWS], v_c[2][ROWS];
  for (int trial = 0; trial < 60; ++trial) {
    make(2 + trial % 14, trial % 4 * 5, 1 + trial % MOST_CONSTRAINTS, &seed);
    sap_settings settings = sap_settings_default();
    settings.islands = trial % 5 > 0;
    settings.mixed_precision = trial % 2;
    settings.relative_tolerance = 1e-11;
    sap_solver *solver;
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    const sap_problem *const problems[2] = {&scene.problem, &joint.problem};
    double bound = 1e-10;
    for (int k = 0; k < 2; ++k) {
      sap_solution solution = scene_solution(&out[k]);
      solution.group_gamma = gamma[k];
      solution.group_v_c = v_c[k];
      REQUIRE(sap_solver_solve(solver, problems[k], NULL, &solution, NULL) == SAP_OK);
      CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
      bound += solution.velocity_error_bound;
    }
    CHECK(bound < 1e-6);
    CHECK(difference(out[0].v, out[1].v, scene.sizes.nv) <= bound); /* A >= 1 */
    CHECK(difference(v_c[0], v_c[1], scene.sizes.n_rows) <= 100 * bound);
    CHECK(difference(gamma[0], gamma[1], scene.sizes.n_rows) <= 1e7 * bound);
    sap_solver_destroy(solver);
  }
}

static void bounds_hold_and_threads_agree(void) {
  uint64_t seed = 93;
  static struct scene_outputs out[3];
  static double gamma[2][ROWS];
  for (int trial = 0; trial < 20; ++trial) {
    make(4 + trial % 10, trial % 4 * 5, 1 + trial % MOST_CONSTRAINTS, &seed);
    sap_solution solution[3];
    for (int k = 0; k < 3; ++k) {
      sap_settings settings = sap_settings_default();
      settings.relative_tolerance = k < 2 ? 1e-3 : 1e-12;
      settings.threads = k == 1 ? 3 : 1;
      sap_solver *solver;
      REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
      solution[k] = scene_solution(&out[k]);
      solution[k].group_gamma = k < 2 ? gamma[k] : NULL;
      REQUIRE(sap_solver_solve(solver, &joint.problem, NULL, &solution[k], NULL) == SAP_OK);
      sap_solver_destroy(solver);
    }
    CHECK(difference(out[0].v, out[1].v, scene.sizes.nv) == 0);
    CHECK(difference(gamma[0], gamma[1], scene.sizes.n_rows) == 0);
    CHECK(difference(out[0].v, out[2].v, scene.sizes.nv) <=
          solution[0].velocity_error_bound + solution[2].velocity_error_bound);
  }
}

static void regularization_is_that_of_whole_rows(void) {
  uint64_t seed = 94;
  static double values[SAP_MOST_PARAMETERS][MOST_ROWS], R[2][MOST_ROWS], v_hat[2][MOST_ROWS],
      lower[2][MOST_ROWS], upper[2][MOST_ROWS];
  const double *value[SAP_MOST_PARAMETERS];
  for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
    value[p] = values[p];
  }
  for (int trial = 0; trial < 20; ++trial) {
    make(3, 0, MOST_CONSTRAINTS, &seed);
    for (int32_t g = 0; g < GROUPS; ++g) {
      const int bilateral = kinds[g] == SAP_BILATERAL;
      for (int i = 0; i < MOST_ROWS; ++i) {
        for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
          values[p][i] = check_random(&seed, 0.1, 1);
        }
        values[1][i] = 1e9; /* near-rigid: R follows from the inverse mass */
        values[3][i] = bilateral ? -INFINITY : values[3][i];
      }
      const sap_group_parameters parameters = {
          0.01,  1e-3, 0.1,  trial % 2 ? SAP_DELASSUS_DIAGONAL : SAP_DELASSUS_BLOCK,
          value, NULL, NULL, NULL};
      const sap_constraints *const groups[2] = {&constraints[g], &joint.groups[g]};
      for (int k = 0; k < 2; ++k) {
        REQUIRE(sap_regularize_group(&scene.problem, groups[k], &parameters, R[k], v_hat[k],
                                     lower[k], upper[k], NULL, NULL) == SAP_OK);
      }
      for (int32_t i = 0; i < group[g].n_rows; ++i) {
        CHECK_CLOSE(R[0][i], R[1][i], 1e-13 * R[0][i]);
        CHECK_CLOSE(v_hat[0][i], v_hat[1][i], 1e-13 * fabs(v_hat[0][i]));
        CHECK(lower[0][i] == lower[1][i] && upper[0][i] == upper[1][i]);
      }
    }
  }
}

static void every_rule_has_its_error(void) {
  uint64_t seed = 95;
  const int32_t of_limit = 0, of_bilateral = 1;
  do {
    make(6, 4, 5, &seed);
  } while (joint.dof[of_limit][2] < 0 || group[of_bilateral].size[3] < 2);
  int64_t entry = 0; /* first entry of constraint 2 */
  for (int32_t i = 0; i < 2; ++i) {
    const int32_t b = group[of_limit].tree_b[i];
    entry += joint.dof[of_limit][i] >= 0
                 ? 1
                 : scene.tree_nv[group[of_limit].tree_a[i]] + (b < 0 ? 0 : scene.tree_nv[b]);
  }
  const struct {
    int32_t group, index, dof;
  } cases[] = {{of_limit, 2, -2},
               {of_limit, 2, scene.tree_nv[group[of_limit].tree_a[2]]},
               {of_bilateral, 3, 0}};
  sap_error error;
  CHECK_EQUAL(sap_problem_check(&joint.problem, NULL, NULL), SAP_OK);
  for (size_t c = 0; c < CHECK_COUNT(cases); ++c) {
    int32_t *dof = &joint.dof[cases[c].group][cases[c].index];
    const int32_t kept = *dof;
    *dof = cases[c].dof;
    CHECK_EQUAL(sap_problem_check(&joint.problem, NULL, &error), SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "dof");
    CHECK_EQUAL(error.group, cases[c].group);
    CHECK_EQUAL(error.index, cases[c].index);
    *dof = kept;
  }
  /* a constraint of two trees */
  group[of_limit].tree_b[2] = (group[of_limit].tree_a[2] + 1) % 6;
  CHECK_EQUAL(sap_problem_check(&joint.problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "dof");
  group[of_limit].tree_b[2] = -1;
  /* an entry that is no number is found where rows are packed, too */
  static struct scene_outputs out;
  sap_solution solution = scene_solution(&out);
  sap_solver *solver;
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  joint.J[of_limit][entry] = NAN;
  CHECK_EQUAL(sap_solver_solve(solver, &joint.problem, NULL, &solution, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "J");
  CHECK_EQUAL(error.group, of_limit);
  CHECK_EQUAL(error.index, entry);
  sap_solver_destroy(solver);
}

static void every_failure_to_allocate_is_an_error(void) {
  uint64_t seed = 96;
  static struct scene_outputs out;
  make(8, 6, 8, &seed);
  struct counter counter = {0, 0, -1};
  const sap_allocator allocator = {counting_allocate, counting_release, &counter};
  sap_solution solution = scene_solution(&out);
  int failed = 1;
  for (int64_t most = 0; failed; ++most) {
    counter = (struct counter){0, 0, most};
    sap_solver *solver = NULL;
    sap_status status = sap_solver_create(&solver, NULL, &allocator, NULL);
    status =
        status == SAP_OK ? sap_solver_solve(solver, &joint.problem, NULL, &solution, NULL) : status;
    failed = status != SAP_OK;
    CHECK(!failed || status == SAP_OUT_OF_MEMORY);
    sap_solver_destroy(solver);
    REQUIRE(most < 100);
  }
}

static const check_test tests[] = {
    CHECK_TEST(cost_and_derivatives_are_those_of_whole_rows),
    CHECK_TEST(solutions_are_those_of_whole_rows),
    CHECK_TEST(bounds_hold_and_threads_agree),
    CHECK_TEST(regularization_is_that_of_whole_rows),
    CHECK_TEST(every_rule_has_its_error),
    CHECK_TEST(every_failure_to_allocate_is_an_error),
};
CHECK_FILE(test_joint_rows, tests);
