/* Tests problems without trees, contacts, unknowns or rows: inputs without entries may be NULL. The
 * sanitizers notice any use of them. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "sapwood.h"

static sap_solver *solver_of(sap_friction friction, int32_t threads) {
  sap_settings settings = sap_settings_default();
  settings.friction = friction;
  settings.threads = threads;
  settings.record_history = threads > 1;
  sap_solver *solver = NULL;
  CHECK_EQUAL(sap_solver_create(&solver, &settings, NULL, NULL), SAP_OK);
  return solver;
}

static void contact_problem_of_nothing(void) {
  const sap_problem problem = sap_problem_default();
  const sap_parameters parameters = sap_parameters_default(0.01);
  for (int friction = SAP_FRICTION_CONVEX; friction <= SAP_FRICTION_COULOMB; ++friction) {
    for (int32_t threads = 1; threads <= 2; ++threads) {
      sap_solver *solver = solver_of((sap_friction)friction, threads);
      double none = 0;
      sap_solution solution = sap_solution_default();
      solution.v = solution.gamma = &none;
      sap_error error;
      CHECK_EQUAL(sap_solver_solve(solver, &problem, NULL, &solution, &error), SAP_OK);
      CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
      CHECK_EQUAL(solution.n_islands, 0);
      CHECK_EQUAL(sap_solver_solve_physical(solver, &problem, &parameters, NULL, NULL, NULL, NULL,
                                            &solution, &error),
                  SAP_OK);
      CHECK(solution.cost == 0 && solution.velocity_error_bound == 0);
      double cost = 1, difference = 1, slope = 1, curvature = 1;
      const double alpha = 1;
      CHECK_EQUAL(sap_solver_evaluate(solver, &problem, NULL, &cost, NULL, NULL, NULL, &error),
                  SAP_OK);
      CHECK_EQUAL(sap_solver_along_line(solver, &problem, NULL, NULL, 1, &alpha, &difference,
                                        &slope, &curvature, &error),
                  SAP_OK);
      CHECK(cost == 0 && difference == 0 && slope == 0 && curvature == 0);
      sap_solver_destroy(solver);
    }
  }
}

/* Free trees keep their velocities, and impulses have no arrays. */
static void trees_without_contacts(void) {
  const int32_t tree_nv[2] = {1, 2};
  const double A[5] = {2, 1, 0, 0, 1}, v_star[3] = {1, -2, 3};
  sap_problem problem = sap_problem_default();
  problem.n_trees = 2;
  problem.tree_nv = tree_nv;
  problem.A = A;
  problem.v_star = v_star;
  sap_solver *solver = solver_of(SAP_FRICTION_COULOMB, 1);
  sap_solution solution = sap_solution_default();
  double v[3] = {0}, none = 0;
  solution.v = v;
  solution.gamma = &none;
  REQUIRE(sap_solver_solve(solver, &problem, NULL, &solution, NULL) == SAP_OK);
  for (int i = 0; i < 3; ++i) {
    CHECK(v[i] == v_star[i]);
  }
  sap_solver_destroy(solver);
}

static void derivatives_of_nothing(void) {
  const sap_problem problem = sap_problem_default();
  sap_sensitivity *sensitivity = NULL;
  REQUIRE(sap_sensitivity_create(&sensitivity, NULL, NULL, NULL) == SAP_OK);
  sap_linear_point point;
  CHECK_EQUAL(sap_sensitivity_linearize(sensitivity, &problem, NULL, NULL, NULL, &point, NULL),
              SAP_OK);
  CHECK_EQUAL(point.n_coupled, 0);
  sap_sensitivity_regions(sensitivity, NULL, NULL, NULL);
  const sap_response response = {0};
  sap_differential change = {0};
  sap_coupling coupling;
  CHECK_EQUAL(sap_sensitivity_vjp(sensitivity, &response, 0, &change, &coupling, NULL), SAP_OK);
  CHECK_EQUAL(sap_sensitivity_jvp(sensitivity, &change, 0, &response, &coupling, NULL), SAP_OK);
  sap_sensitivity_destroy(sensitivity);
}

static void laws_of_nothing(void) {
  sap_project(0, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL);
  sap_problem problem = sap_problem_default();
  sap_sizes sizes;
  CHECK_EQUAL(sap_problem_sizes(&problem, &sizes, NULL), SAP_OK);
  CHECK_EQUAL(sizes.nv + sizes.nA + sizes.nJ + sizes.n_rows + sizes.nJ_spin, 0);
  const sap_group_parameters parameters = sap_group_parameters_default(0.01);
  for (int kind = 0; kind < SAP_N_KINDS; ++kind) {
    const sap_constraints group = {.kind = (sap_kind)kind};
    const double *const none[16] = {0};
    sap_group_parameters given = parameters;
    given.value = none;
    CHECK_EQUAL(sap_regularize_group(&problem, &group, &given, NULL, NULL, NULL, NULL, NULL, NULL),
                SAP_OK);
  }
}

static void complementarity_problem_of_nothing(void) {
  const lcp_method methods[] = {LCP_LEMKE, LCP_PPM};
  lcp_solver *solver = NULL;
  REQUIRE(lcp_create(&solver, 0, NULL, NULL) == SAP_OK);
  for (int i = 0; i < 2; ++i) {
    lcp_settings settings = lcp_settings_default();
    settings.method = methods[i];
    lcp_solution solution = {0};
    const lcp_problem problem = {0, NULL, NULL};
    CHECK_EQUAL(lcp_solve(solver, &settings, &problem, NULL, &solution, NULL), SAP_OK);
    CHECK_EQUAL(solution.outcome, LCP_SOLVED);
    CHECK(solution.residual == 0);
  }
  lcp_destroy(solver);
}

static void program_without_rows(void) {
  const double H = 2, g = -4;
  for (int polish = 0; polish < 2; ++polish) {
    qp_settings settings = qp_settings_default();
    settings.polish = polish;
    qp_solver *solver = NULL;
    REQUIRE(qp_create(&solver, 1, 0, 0, NULL, NULL) == SAP_OK);
    double x = 0;
    qp_solution solution = {.x = &x};
    const qp_problem problem = {.n = 1, .H = &H, .g = &g};
    const qp_start start = {0};
    CHECK_EQUAL(qp_solve(solver, &settings, &problem, &start, &solution, NULL), SAP_OK);
    CHECK_EQUAL(solution.outcome, QP_SOLVED);
    CHECK_CLOSE(x, 2, 1e-12);
    qp_destroy(solver);
  }
}

enum { FENCE = 1 << 16, HEAD = 64, BYTE = 0xa5 };

/* Allocates with a fence behind the memory, whose bytes are checked when it is released. */
static void *allocate_fenced(size_t bytes, void *context) {
  (void)context;
  unsigned char *whole = malloc(HEAD + bytes + FENCE);
  if (!whole) {
    return NULL;
  }
  memcpy(whole, &bytes, sizeof bytes);
  memset(whole + HEAD + bytes, BYTE, FENCE);
  return whole + HEAD;
}

static void release_fenced(void *memory, void *context) {
  (void)context;
  if (!memory) {
    return;
  }
  size_t bytes, intact = 0;
  unsigned char *whole = (unsigned char *)memory - HEAD;
  memcpy(&bytes, whole, sizeof bytes);
  while (intact < FENCE && whole[HEAD + bytes + intact] == BYTE) {
    ++intact;
  }
  CHECK_EQUAL(intact, FENCE);
  free(whole);
}

/* One solver takes all controllers in turn: its block grows, and nothing is written beyond it. */
static void motion_of_nothing(void) {
  const sap_allocator fenced = {allocate_fenced, release_fenced, NULL};
  invdyn_solver *solver = NULL;
  REQUIRE(invdyn_create(&solver, &fenced, NULL) == SAP_OK);
  for (int controller = 0; controller <= INVDYN_LCP_NEAREST; ++controller) {
    invdyn_settings settings = invdyn_settings_default();
    settings.controller = (invdyn_controller)controller;
    const invdyn_problem problem = {.dt = 0.01};
    invdyn_solution solution = {0};
    sap_error error;
    CHECK_EQUAL(invdyn_solve(solver, &settings, &problem, &solution, &error), SAP_OK);
    CHECK(solution.residuals.dynamics == 0);
  }
  invdyn_destroy(solver);
}

static const check_test tests[] = {
    CHECK_TEST(contact_problem_of_nothing),
    CHECK_TEST(trees_without_contacts),
    CHECK_TEST(derivatives_of_nothing),
    CHECK_TEST(laws_of_nothing),
    CHECK_TEST(complementarity_problem_of_nothing),
    CHECK_TEST(program_without_rows),
    CHECK_TEST(motion_of_nothing),
};
CHECK_FILE(test_nothing, tests);
