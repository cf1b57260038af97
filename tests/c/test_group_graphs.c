/* Tests that a solver with groups keeps the graph from one solve to the next, and nothing that
 * depends on numbers or on other constraints on the same trees. */
#include <math.h>
#include <string.h>

#include "groups.h"

/* A solver keeps the graph, but not the numbers. */
static void numbers_may_change_while_the_graph_stays(void) {
  uint64_t seed = 84;
  static struct scene_outputs first, second, fresh;
  make_groups(8, 10, 6, &seed);
  sap_solver *solver, *other;
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  REQUIRE(sap_solver_create(&other, NULL, NULL, NULL) == SAP_OK);
  sap_solution solution = scene_solution(&first);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  for (int32_t g = 0; g < GROUPS; ++g) {
    for (int32_t i = 0; i < group[g].n_rows; ++i) {
      group[g].v_hat[i] += 0.5;
      group[g].R[i] *= 2;
    }
  }
  solution = scene_solution(&second);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.symbolic_reused, 1);
  solution = scene_solution(&fresh);
  REQUIRE(sap_solver_solve(other, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK(memcmp(second.v, fresh.v, (size_t)scene.sizes.nv * sizeof(double)) == 0);
  CHECK(memcmp(second.v, first.v, (size_t)scene.sizes.nv * sizeof(double)) != 0);
  /* another group: another graph */
  scene.problem.n_groups = 2;
  solution = scene_solution(&second);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.symbolic_reused, 0);
  sap_solver_destroy(solver);
  sap_solver_destroy(other);
}

/* One row and three rows make one triple: the graph is the same, the number of rows is not. */
static void check_row_counts(int32_t n_contacts) {
  static struct scene_outputs first, second, anew;
  const size_t bytes = (size_t)scene.sizes.nv * sizeof(double);
  scene.problem.n_contacts = n_contacts;
  sap_solver *kept, *fresh;
  REQUIRE(sap_solver_create(&kept, NULL, NULL, NULL) == SAP_OK);
  REQUIRE(sap_solver_create(&fresh, NULL, NULL, NULL) == SAP_OK);
  sap_solution solution = scene_solution(&first), expected = scene_solution(&anew);
  group[1].size[0] = 1;
  REQUIRE(sap_solver_solve(kept, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  group[1].size[0] = 3;
  solution = scene_solution(&second);
  REQUIRE(sap_solver_solve(kept, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  REQUIRE(sap_solver_solve(fresh, &scene.problem, NULL, &expected, NULL) == SAP_OK);
  CHECK_EQUAL(solution.symbolic_reused, 1);
  CHECK(memcmp(first.v, second.v, bytes) != 0);
  CHECK(memcmp(second.v, anew.v, bytes) == 0);
  CHECK(solution.complementarity_error == expected.complementarity_error);
  sap_solver_destroy(kept);
  sap_solver_destroy(fresh);
}

static void rows_are_counted_anew_where_the_graph_stays(void) {
  uint64_t seed = 87;
  make_groups(3, 8, 1, &seed);
  do {
    make_group(1, 1, 3, &seed);
  } while (group[1].size[0] < 3);
  scene.problem.n_groups = 1;
  scene.problem.groups = &constraints[1];
  check_row_counts(scene.problem.n_contacts);
  check_row_counts(0); /* lists of rows alone are kept while they are the same */
}

/* A solver must not use its graph for other constraints on the same trees. */
static void contacts_may_follow_rows_on_the_same_trees(void) {
  uint64_t seed = 84;
  static struct scene rows;
  scene_make(&rows, 1, 1, &seed);
  scene_make(&scene, 1, 2, &seed);
  const int32_t n = scene.tree_nv[0];
  rows.tree_nv[0] = n;
  memcpy(rows.A, scene.A, sizeof rows.A);
  const int32_t tree_a[1] = {0}, tree_b[1] = {-1};
  const double R[1] = {1e-3}, v_hat[1] = {0.1}, lower[1] = {0}, upper[1] = {INFINITY};
  const sap_constraints limit = {SAP_LIMIT, 1,     NULL,  tree_a, tree_b, rows.J,
                                 R,         v_hat, lower, upper,  NULL};
  rows.problem.n_groups = 1;
  rows.problem.groups = &limit;
  sap_solver *solver = NULL, *fresh = NULL;
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  REQUIRE(sap_solver_create(&fresh, NULL, NULL, NULL) == SAP_OK);
  static struct scene_outputs outputs[2];
  sap_solution before = scene_solution(&outputs[0]);
  /* contacts beside the row: the next problem has one more and no row */
  const int32_t counts[2] = {0, 1};
  for (int k = 0; k < 2; ++k) {
    rows.problem.n_contacts = counts[k];
    scene.problem.n_contacts = counts[k] + 1;
    before.gamma = outputs[0].gamma;
    REQUIRE(sap_solver_solve(solver, &rows.problem, NULL, &before, NULL) == SAP_OK);
    sap_solution after = scene_solution(&outputs[0]), expected = scene_solution(&outputs[1]);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &after, NULL) == SAP_OK);
    REQUIRE(sap_solver_solve(fresh, &scene.problem, NULL, &expected, NULL) == SAP_OK);
    CHECK(memcmp(outputs[0].v, outputs[1].v, (size_t)n * sizeof(double)) == 0);
    CHECK(after.complementarity_error == expected.complementarity_error);
    CHECK(after.momentum_error == expected.momentum_error);
    CHECK(after.velocity_error_bound == expected.velocity_error_bound);
    REQUIRE(sap_solver_solve(solver, &rows.problem, NULL, &before, NULL) == SAP_OK);
    sap_error error = {0};
    const int32_t last = 3 * n * (counts[k] + 1) - 1;
    const double J_last = scene.J[last];
    scene.J[last] = NAN;
    CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &after, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "J");
    CHECK_EQUAL(error.index, last);
    scene.J[last] = J_last;
    REQUIRE(sap_solver_solve(solver, &rows.problem, NULL, &before, NULL) == SAP_OK);
    const double phi0[2] = {0}, stiffness[2] = {1e4, 1e4}, tau_d[2] = {0};
    double regularized[3][2];
    const sap_parameters parameters = scene_parameters(phi0, stiffness, tau_d);
    scene.problem.J = NULL;
    CHECK_EQUAL(sap_solver_solve_physical(solver, &scene.problem, &parameters, regularized[0],
                                          regularized[1], regularized[2], NULL, &after, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "J");
    scene.problem.J = scene.J;
  }
  sap_solver_destroy(solver);
  sap_solver_destroy(fresh);
}

static const check_test tests[] = {
    CHECK_TEST(numbers_may_change_while_the_graph_stays),
    CHECK_TEST(rows_are_counted_anew_where_the_graph_stays),
    CHECK_TEST(contacts_may_follow_rows_on_the_same_trees),
};
CHECK_FILE(test_group_graphs, tests);
