/* Tests extreme input: overflow, tiny regularization, exhausted line searches, missing arrays. Each
 * must be refused by name or have the right outcome. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "scene.h"
#include "problem_of.h"

static struct scene scene;
static struct scene_outputs outputs;

static sap_solver *make(sap_settings settings) {
  sap_solver *solver = NULL;
  CHECK_EQUAL(sap_solver_create(&solver, &settings, NULL, NULL), SAP_OK);
  return solver;
}

/* Makes n point masses of 1 kg on the ground. */
static void make_masses(int32_t n, double R_t, double R_n, double mu) {
  static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  memset(&scene, 0, sizeof scene);
  for (int32_t i = 0; i < n; ++i) {
    scene.tree_nv[i] = 3;
    scene.tree_a[i] = i;
    scene.tree_b[i] = -1;
    memcpy(scene.A + 9 * i, unit, sizeof unit);
    memcpy(scene.J + 9 * i, unit, sizeof unit);
    scene.R_t[i] = R_t;
    scene.R_n[i] = R_n;
    scene.mu[i] = mu;
    scene.v_star[3 * i] = 1;
    scene.v_star[3 * i + 2] = -1;
  }
  scene.problem = PROBLEM_OF(&scene, scene.tree_nv, n, n);
  sap_problem_sizes(&scene.problem, &scene.sizes, NULL);
}

static sap_status solve(sap_settings settings, const double *v_guess, sap_solution *solution,
                        sap_error *error) {
  sap_solver *solver = make(settings);
  *solution = scene_solution(&outputs);
  const sap_status status = sap_solver_solve(solver, &scene.problem, v_guess, solution, error);
  sap_solver_destroy(solver);
  return status;
}

static void regularization_without_an_inverse_is_refused(void) {
  sap_solution solution;
  sap_error error;
  make_masses(2, 1e-320, 1e-3, 0.5);
  CHECK_EQUAL(solve(sap_settings_default(), NULL, &solution, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "R_t");
  make_masses(2, 1e-3, 1e-3, 1e200);
  CHECK_EQUAL(solve(sap_settings_default(), NULL, &solution, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "mu");
}

static void overflow_never_passes_for_no_contact(void) {
  /* y_r overflows although R has an inverse */
  sap_solution solution;
  make_masses(1, 1e-300, 1e-3, 0);
  sap_settings settings = sap_settings_default();
  settings.soft_norm = 1e-9; /* proximal solves would find the impulses */
  REQUIRE(solve(settings, NULL, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_NON_FINITE);
  CHECK(solution.velocity_error_bound == INFINITY);
}

static void hopeless_conditioning_is_admitted(void) {
  sap_solution solution;
  for (int power = -18; power <= -14; ++power) {
    make_masses(2, pow(10, power), pow(10, power), 0.5);
    scene.tree_b[0] = 1; /* a contact between the two */
    scene.problem.n_contacts = 1;
    for (int i = 0; i < 9; ++i) {
      scene.J[9 + i] = -scene.J[i];
    }
    sap_problem_sizes(&scene.problem, &scene.sizes, NULL);
    scene.v_star[5] = 1;
    REQUIRE(solve(sap_settings_default(), NULL, &solution, NULL) == SAP_OK);
    CHECK((solution.outcome == SAP_CONVERGED) == (solution.momentum_error <= 1e-6));
    CHECK(solution.outcome != SAP_NON_FINITE && isfinite(outputs.v[2]));
  }
}

static void momentum_error_without_anything_to_measure_by(void) {
  /* guess at rest, contact open: A v = 0 and gamma = 0, but the gradient is not */
  sap_solution solution;
  sap_settings settings = sap_settings_default();
  settings.max_iterations = 0;
  make_masses(1, 1e-3, 1e-3, 0.5);
  scene.v_star[2] = 1;
  scene.v_hat_n[0] = -1;
  const double rest[3] = {0, 0, 0};
  REQUIRE(solve(settings, rest, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_ITERATION_LIMIT);
  CHECK(solution.momentum_error == INFINITY);
  settings.max_iterations = 10;
  REQUIRE(solve(settings, rest, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
}

/* The cost never rises, however few trials a line search has. */
static void costs_fall_with_exhausted_line_searches(void) {
  uint64_t seed = 51;
  for (int trial = 0; trial < 40; ++trial) {
    scene_make(&scene, 3 + trial % 10, 2 + trial % 30, &seed);
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      scene.v_star[i] *= 10;
    }
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      scene.R_t[i] *= 1e-3;
    }
    for (int kind = 0; kind < 4; ++kind) {
      sap_settings settings = sap_settings_default();
      settings.record_history = 1;
      settings.start = SAP_START_NEWTON;
      settings.turning = 0;
      settings.line_search = kind < 2 ? SAP_LINE_SEARCH_EXACT : SAP_LINE_SEARCH_BACKTRACKING;
      settings.line_search_max_trials = kind % 2 ? 1 : 50;
      settings.armijo_rho = kind == 3 ? 0.99 : 0.8;
      sap_solver *solver = make(settings);
      sap_solution solution = scene_solution(&outputs);
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      int32_t n = 0;
      const sap_iteration *history = sap_solver_history(solver, &n);
      int rises = 0;
      for (int32_t i = 1; i < n; ++i) {
        rises += history[i].iteration > 0 && history[i].cost > history[i - 1].cost * (1 + 1e-12);
      }
      CHECK_EQUAL(rises, 0);
      sap_solver_destroy(solver);
    }
  }
}

static void the_bound_holds_for_what_counts_as_symmetric(void) {
  sap_solution solution;
  sap_error error;
  make_masses(1, 1e-3, 1e-3, 0.5);
  scene.A[1] = 0.5;
  scene.A[3] = 0.5 + 1e-10;
  CHECK_EQUAL(solve(sap_settings_default(), NULL, &solution, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "A");
  CHECK_EQUAL(error.kind, SAP_ERROR_TREE);
  CHECK_EQUAL(error.index, 0);
  CHECK_STRING(error.rule, "must be symmetric");
  scene.A[3] = 0.5 * (1 + 4e-16);
  CHECK_EQUAL(solve(sap_settings_default(), NULL, &solution, &error), SAP_OK);
}

/* The bounds hold against the minimiser at a much tighter tolerance. */
static void certificates_are_bounds(void) {
  uint64_t seed = 52;
  static struct scene_outputs exact;
  for (int trial = 0; trial < 30; ++trial) {
    scene_make(&scene, 2 + trial % 12, 1 + 2 * (trial % 15), &seed);
    sap_settings settings = sap_settings_default();
    settings.relative_tolerance = 1e-13;
    sap_solver *solver = make(settings);
    sap_solution reference = scene_solution(&exact);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &reference, NULL) == SAP_OK);
    sap_solver_destroy(solver);
    for (int digits = 1; digits <= 9; digits += 2) {
      sap_solution solution;
      settings.relative_tolerance = pow(10, -digits);
      REQUIRE(solve(settings, NULL, &solution, NULL) == SAP_OK);
      double distance = 0, *A = scene.A, *v = outputs.v, *v_exact = exact.v;
      for (int32_t t = 0; t < scene.problem.n_trees; ++t) {
        const int32_t n = scene.tree_nv[t];
        for (int32_t k = 0; k < n * n; ++k) {
          distance += (v[k / n] - v_exact[k / n]) * A[k] * (v[k % n] - v_exact[k % n]);
        }
        A += n * n;
        v += n;
        v_exact += n;
      }
      const double slack = reference.velocity_error_bound;
      CHECK(sqrt(distance) <= solution.velocity_error_bound + slack);
      CHECK(solution.cost - reference.cost <=
            solution.cost_gap_bound + 1e-12 * fabs(reference.cost));
      CHECK(solution.velocity_error_bound < 1e3); /* and not by saying nothing */
    }
  }
}

static void missing_arrays_are_named(void) {
  sap_solution solution;
  sap_error error;
#define CHECK_MISSING(field)                                                                   \
  do {                                                                                         \
    make_masses(2, 1e-3, 1e-3, 0.5);                                                           \
    scene.problem.field = NULL;                                                                \
    CHECK_EQUAL(solve(sap_settings_default(), NULL, &solution, &error), SAP_INVALID_ARGUMENT); \
    CHECK_STRING(error.argument, #field);                                                      \
  } while (0)
  CHECK_MISSING(tree_nv);
  CHECK_MISSING(tree_a);
  CHECK_MISSING(tree_b);
  CHECK_MISSING(A);
  CHECK_MISSING(J);
  CHECK_MISSING(v_star);
  CHECK_MISSING(mu);
  CHECK_MISSING(R_t);
  CHECK_MISSING(R_n);
  CHECK_MISSING(v_hat_n);
#undef CHECK_MISSING
  make_masses(2, 1e-3, 1e-3, 0.5);
  sap_solver *solver = make(sap_settings_default());
  solution = (sap_solution){.gamma = outputs.gamma};
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "v");
  sap_solver_destroy(solver);
}

static void parameters_that_give_no_regularization_are_refused(void) {
  make_masses(1, 1e-3, 1e-3, 0.5);
  double phi0 = 0, k = INFINITY, tau_d = 0, out[3];
  sap_error error;
  sap_parameters p = scene_parameters(&phi0, &k, &tau_d);
  p.beta = 0;
  CHECK_EQUAL(sap_regularize(&scene.problem, &p, out, out + 1, out + 2, NULL, &error),
              SAP_INVALID_ARGUMENT); /* beta = 0 and rigid: R_n = 0 */
  CHECK_STRING(error.argument, "k");
  p.beta = 1;
  CHECK_EQUAL(sap_regularize(&scene.problem, &p, out, out + 1, out + 2, NULL, &error), SAP_OK);
  p.dt = 1e-200;
  k = 1;
  CHECK_EQUAL(sap_regularize(&scene.problem, &p, out, out + 1, out + 2, NULL, &error),
              SAP_INVALID_ARGUMENT);
  p.dt = 0.01;
  p.delassus = (sap_delassus)7;
  CHECK_EQUAL(sap_regularize(&scene.problem, &p, out, out + 1, out + 2, NULL, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "delassus");
}

static void phases_are_timed_when_asked(void) {
  uint64_t seed = 53;
  sap_solution solution;
  sap_settings settings = sap_settings_default();
  scene_make(&scene, SCENE_TREES, SCENE_CONTACTS, &seed);
  REQUIRE(solve(settings, NULL, &solution, NULL) == SAP_OK);
  CHECK(solution.assembly_seconds == 0 && solution.factor_seconds == 0);
  settings.record_history = 1;
  REQUIRE(solve(settings, NULL, &solution, NULL) == SAP_OK);
  CHECK(solution.assembly_seconds > 0 && solution.factor_seconds > 0 &&
        solution.line_search_seconds > 0);
}

static const check_test tests[] = {
    CHECK_TEST(regularization_without_an_inverse_is_refused),
    CHECK_TEST(overflow_never_passes_for_no_contact),
    CHECK_TEST(hopeless_conditioning_is_admitted),
    CHECK_TEST(momentum_error_without_anything_to_measure_by),
    CHECK_TEST(costs_fall_with_exhausted_line_searches),
    CHECK_TEST(the_bound_holds_for_what_counts_as_symmetric),
    CHECK_TEST(certificates_are_bounds),
    CHECK_TEST(missing_arrays_are_named),
    CHECK_TEST(parameters_that_give_no_regularization_are_refused),
    CHECK_TEST(phases_are_timed_when_asked),
};
CHECK_FILE(test_limits, tests);
