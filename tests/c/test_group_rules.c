/* Tests the input of groups: physical parameters within a solve, and every rule by its name. */
#include <math.h>
#include <string.h>

#include "constraints/kinds/kinds.h"
#include "counter.h"
#include "groups.h"

static sap_status solve_physical(sap_solver *solver, const sap_parameters *parameters,
                                 sap_solution *solution, sap_error *error) {
  static double R_t[6], R_n[6], v_hat_n[6];
  return sap_solver_solve_physical(solver, &scene.problem, parameters, R_t, R_n, v_hat_n, NULL,
                                   solution, error);
}

/* Compares regularization in the solve with regularization before it. */
static void a_solve_regularizes_contacts_and_groups(void) {
  uint64_t seed = 86;
  static struct scene_outputs first, second;
  static struct group before[GROUPS];
  static double first_rows[GROUPS * MOST_ROWS], second_rows[GROUPS * MOST_ROWS];
  static double values[SAP_MOST_PARAMETERS][MOST_ROWS];
  double phi0[6] = {0}, tau_d[6] = {0}, k[6] = {1e2, 1e3, 1e4, 1e5, 1e6, INFINITY};
  const double *value[SAP_MOST_PARAMETERS];
  sap_group_regularization physical[GROUPS];
  for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
    value[p] = values[p];
    for (int i = 0; i < MOST_ROWS; ++i) {
      values[p][i] = p + check_random(&seed, 0.1, 1);
    }
  }
  for (int delassus = 0; delassus < 2; ++delassus) {
    make_groups(6, 6, 5, &seed);
    sap_parameters contacts = scene_parameters(phi0, k, tau_d);
    contacts.delassus = (sap_delassus)delassus;
    REQUIRE(sap_regularize(&scene.problem, &contacts, scene.R_t, scene.R_n, scene.v_hat_n, NULL,
                           NULL) == SAP_OK);
    for (int g = 0; g < GROUPS; ++g) {
      struct group *to = &group[g];
      physical[g] = (sap_group_regularization){
          {0.01, 1e-3, 0.1, (sap_delassus)delassus, value, NULL, NULL, NULL},
          to->R,
          to->v_hat,
          to->lower,
          to->upper};
      REQUIRE(sap_regularize_group(&scene.problem, &constraints[g], &physical[g].parameters, to->R,
                                   to->v_hat, to->lower, to->upper, NULL, NULL) == SAP_OK);
    }
    sap_solver *solver;
    REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
    sap_solution solution = scene_solution(&first);
    solution.group_gamma = first_rows;
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    memcpy(before, group, sizeof before);
    for (int g = 0; g < GROUPS; ++g) {
      memset(group[g].R, 0, sizeof(double) * (size_t)group[g].n_rows);
    }
    contacts.groups = physical;
    solution = scene_solution(&second);
    solution.group_gamma = second_rows;
    REQUIRE(solve_physical(solver, &contacts, &solution, NULL) == SAP_OK);
    CHECK(memcmp(before, group, sizeof before) == 0);
    CHECK(memcmp(first.v, second.v, (size_t)scene.sizes.nv * sizeof(double)) == 0);
    CHECK(memcmp(first_rows, second_rows, (size_t)scene.sizes.n_rows * sizeof(double)) == 0);
    /* bounds that the group has already are left alone */
    physical[2].lower = physical[2].upper = NULL;
    group[2].upper[0] = 1e-3;
    REQUIRE(solve_physical(solver, &contacts, &solution, NULL) == SAP_OK);
    CHECK(group[2].upper[0] == 1e-3);
    values[0][1] = NAN;
    sap_error error;
    CHECK_EQUAL(solve_physical(solver, &contacts, &solution, &error), SAP_INVALID_ARGUMENT);
    CHECK(strcmp(error.argument, "phi0") == 0 && error.group == 0 && error.index == 1);
    /* groups that are given need no parameters */
    contacts.groups = NULL;
    CHECK_EQUAL(solve_physical(solver, &contacts, &solution, &error), SAP_OK);
    values[0][1] = 0.5;
    sap_solver_destroy(solver);
  }
}

/* A solve reads the numbers that it writes, and allocates nothing once it has the graph. */
static void groups_are_regularized_in_place(void) {
  uint64_t seed = 87;
  static struct scene_outputs out;
  static double values[SAP_MOST_PARAMETERS][MOST_ROWS];
  double phi0[6] = {0}, tau_d[6] = {0}, k[6], other[MOST_ROWS];
  const double *value[SAP_MOST_PARAMETERS];
  sap_group_regularization physical[GROUPS];
  make_groups(6, 6, 5, &seed);
  for (int i = 0; i < 6; ++i) {
    k[i] = 1e4;
  }
  for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
    value[p] = values[p];
    for (int i = 0; i < MOST_ROWS; ++i) {
      values[p][i] = p + check_random(&seed, 0.1, 1);
    }
  }
  for (int g = 0; g < GROUPS; ++g) {
    struct group *to = &group[g];
    physical[g] =
        (sap_group_regularization){{0.01, 1e-3, 0.1, SAP_DELASSUS_BLOCK, value, NULL, NULL, NULL},
                                   to->R,
                                   to->v_hat,
                                   to->lower,
                                   to->upper};
  }
  /* without rows there are no arrays */
  REQUIRE(constraints[GROUPS - 1].n == 0);
  constraints[GROUPS - 1].R = NULL;
  physical[GROUPS - 1] = (sap_group_regularization){
      .parameters = {0.01, 1e-3, 0.1, SAP_DELASSUS_BLOCK, NULL, NULL, NULL}};
  sap_parameters parameters = scene_parameters(phi0, k, tau_d);
  parameters.groups = physical;
  struct counter counter = {.fail_at = -1};
  const sap_allocator memory = {counting_allocate, counting_release, &counter};
  sap_solver *solver;
  sap_solution solution = scene_solution(&out);
  sap_error error;
  REQUIRE(sap_solver_create(&solver, NULL, &memory, NULL) == SAP_OK);
  REQUIRE(solve_physical(solver, &parameters, &solution, NULL) == SAP_OK);
  const long before = counter.allocations;
  for (int step = 0; step < 5; ++step) {
    values[0][step] += 0.1;
    REQUIRE(solve_physical(solver, &parameters, &solution, NULL) == SAP_OK);
  }
  CHECK_EQUAL(counter.allocations, before);

  static const char *const names[] = {"R", "v_hat", "lower", "upper"};
  double **const written[] = {&physical[1].R, &physical[1].v_hat, &physical[1].lower,
                              &physical[1].upper};
  for (int i = 0; i < 4; ++i) {
    double *const right = *written[i];
    double *const wrong[] = {other, NULL};
    for (int j = 0; j < 2; ++j) {
      *written[i] = wrong[j];
      CHECK_EQUAL(solve_physical(solver, &parameters, &solution, &error), SAP_INVALID_ARGUMENT);
      CHECK_STRING(error.argument, names[i]);
      CHECK_EQUAL(error.group, 1);
    }
    *written[i] = right;
  }
  sap_solver_destroy(solver);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void expect(const char *argument, int64_t index) {
  sap_error error = {0};
  sap_solver *solver;
  static struct scene_outputs out;
  sap_solution solution = scene_solution(&out);
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, &error),
              SAP_INVALID_ARGUMENT);
  CHECK(error.argument && strcmp(error.argument, argument) == 0);
  CHECK_EQUAL(error.index, index);
  CHECK_EQUAL(error.group, 1);
  CHECK_EQUAL(sap_problem_check(&scene.problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK(strcmp(error.argument, argument) == 0);
  sap_solver_destroy(solver);
}

#define BREAK(what, value, argument, index)      \
  {                                              \
    const struct group kept = group[1];          \
    const sap_constraints same = constraints[1]; \
    what = value;                                \
    expect(argument, index);                     \
    group[1] = kept;                             \
    constraints[1] = same;                       \
  }

static void every_rule_has_its_error(void) {
  uint64_t seed = 85;
  make_groups(6, 4, 5, &seed);
  BREAK(constraints[1].kind, SAP_N_KINDS, "kind", -1)
  BREAK(constraints[1].n, -1, "n", -1)
  BREAK(constraints[1].tree_a, NULL, "tree_a", -1)
  BREAK(constraints[1].tree_b, NULL, "tree_b", -1)
  BREAK(constraints[1].J, NULL, "J", -1)
  BREAK(constraints[1].R, NULL, "R", -1)
  BREAK(constraints[1].v_hat, NULL, "v_hat", -1)
  BREAK(constraints[1].lower, NULL, "lower", -1)
  BREAK(constraints[1].upper, NULL, "upper", -1)
  BREAK(group[1].size[2], 7, "size", 2)
  BREAK(group[1].size[2], 0, "size", 2)
  BREAK(group[1].tree_a[1], 6, "tree_a", 1)
  BREAK(group[1].tree_b[1], -2, "tree_b", 1)
  BREAK(group[1].tree_b[1], group[1].tree_a[1], "tree_b", 1)
  BREAK(group[1].J[3], NAN, "J", 3)
  BREAK(group[1].R[2], -1, "R", 2)
  BREAK(group[1].R[2], INFINITY, "R", 2)
  BREAK(group[1].v_hat[4], INFINITY, "v_hat", 4)
  BREAK(group[1].lower[1] = group[1].upper[1] = 1; group[1].lower[1], 1.5, "lower", 1)
  BREAK(group[1].lower[1], NAN, "lower", 1)
  BREAK(group[1].upper[1] = INFINITY; group[1].lower[1], INFINITY, "lower", 1)
  BREAK(group[1].upper[1], NAN, "upper", 1)
  BREAK(group[1].upper[1], -INFINITY, "upper", 1)
  scene.problem.n_groups = -1;
  sap_error error;
  CHECK_EQUAL(sap_problem_check(&scene.problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK(strcmp(error.argument, "n_groups") == 0);
  CHECK_EQUAL(error.group, -1);
}

/* The parameters are allowed one by one, but not together. */
static void what_gives_no_row_is_refused(void) {
  uint64_t seed = 88;
  make_groups(3, 0, 1, &seed);
  static double values[SAP_MOST_PARAMETERS][MOST_ROWS], out[4][MOST_ROWS];
  const double *value[SAP_MOST_PARAMETERS];
  const struct {
    int32_t group;
    double dt, sigma, value[SAP_MOST_PARAMETERS];
    const char *argument;
    int64_t index;
  } cases[] = {
      {0, 1e-300, 1e-3, {0, 1, 0}, "k", 0},
      {0, 1e-10, 1e-3, {1e300, 1, 0}, "phi0", 0},
      {1, 0.01, 1e-3, {0, 1e5, 0, INFINITY, INFINITY}, "force_lower", 0},
      {1, 0.01, 1e-3, {0, 1e5, 0, 1, -1}, "force_lower", 0},
      {3, 0.01, 1e-320, {1}, "sigma", -1},
  };
  for (size_t c = 0; c < CHECK_COUNT(cases); ++c) {
    const int32_t g = cases[c].group;
    for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
      value[p] = values[p];
      for (int i = 0; i < MOST_ROWS; ++i) {
        values[p][i] = cases[c].value[p];
      }
    }
    const sap_group_parameters parameters = {cases[c].dt, cases[c].sigma, 0,    SAP_DELASSUS_BLOCK,
                                             value,       NULL,           NULL, NULL};
    sap_error error = {0};
    CHECK_EQUAL(sap_regularize_group(&scene.problem, &constraints[g], &parameters, out[0], out[1],
                                     out[2], out[3], NULL, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, cases[c].argument);
    CHECK_EQUAL(error.index, cases[c].index);
  }
  /* largest impulse of a released row at rest */
  double most[MOST_ROWS];
  for (int i = 0; i < MOST_ROWS; ++i) {
    most[i] = INFINITY;
  }
  sap_group_parameters held = {0.01, 1e-3, 0, SAP_DELASSUS_BLOCK, value, NULL, most, NULL};
  for (int i = 0; i < MOST_ROWS; ++i) {
    values[0][i] = -1;
    values[1][i] = INFINITY;
    values[2][i] = 0;
  }
  const double bad[] = {NAN, 0, -1};
  for (size_t b = 0; b < CHECK_COUNT(bad); ++b) {
    most[0] = bad[b];
    sap_error error = {0};
    CHECK_EQUAL(sap_regularize_group(&scene.problem, &constraints[0], &held, out[0], out[1], out[2],
                                     out[3], NULL, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "release_impulse");
    CHECK_EQUAL(error.index, 0);
  }
  /* rows that nothing moves */
  const sap_group_parameters parameters = {0.01,  1e-3, 0,    SAP_DELASSUS_DIAGONAL,
                                           value, NULL, NULL, NULL};
  sap_error error = {0};
  memset(group[0].J, 0, sizeof group[0].J);
  for (int i = 0; i < MOST_ROWS; ++i) {
    values[0][i] = 0;
    values[1][i] = 1e5;
    values[2][i] = 0;
  }
  CHECK_EQUAL(sap_regularize_group(&scene.problem, &constraints[0], &parameters, out[0], out[1],
                                   out[2], out[3], NULL, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "J");
  CHECK_EQUAL(error.index, 0);
}

static void groups_are_given_and_few_enough(void) {
  uint64_t seed = 89;
  sap_error error = {0};
  make_groups(3, 2, 1, &seed);
  scene.problem.groups = NULL;
  CHECK_EQUAL(sap_problem_check(&scene.problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "groups");
  /* trees are measured before groups are read */
  const sap_group_parameters parameters = {0.01, 1e-3, 0,    SAP_DELASSUS_BLOCK,
                                           NULL, NULL, NULL, NULL};
  scene.tree_nv[1] = 0;
  CHECK_EQUAL(sap_regularize_group(&scene.problem, &constraints[0], &parameters, NULL, NULL, NULL,
                                   NULL, NULL, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "tree_nv");
  CHECK_EQUAL(error.index, 1);
}

static void a_group_alone_has_a_Jacobian(void) {
  uint64_t seed = 97;
  sap_error error = {0};
  make_groups(3, 2, 1, &seed);
  const double *value[SAP_MOST_PARAMETERS];
  double ones[MOST_ROWS], out[4][MOST_ROWS];
  for (int i = 0; i < MOST_ROWS; ++i) {
    ones[i] = 1;
  }
  for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
    value[p] = ones;
  }
  const sap_group_parameters parameters = {0.01,  1e-3, 0,    SAP_DELASSUS_BLOCK,
                                           value, NULL, NULL, NULL};
  constraints[0].J = NULL;
  CHECK_EQUAL(sap_regularize_group(&scene.problem, &constraints[0], &parameters, out[0], out[1],
                                   out[2], out[3], NULL, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "J");
  CHECK_EQUAL(error.index, -1);
}

static const check_test tests[] = {
    CHECK_TEST(a_solve_regularizes_contacts_and_groups),
    CHECK_TEST(groups_are_regularized_in_place),
    CHECK_TEST(every_rule_has_its_error),
    CHECK_TEST(what_gives_no_row_is_refused),
    CHECK_TEST(groups_are_given_and_few_enough),
    CHECK_TEST(a_group_alone_has_a_Jacobian),
};
CHECK_FILE(test_group_rules, tests);
