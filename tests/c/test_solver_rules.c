/* Tests the rules of the solver: each has an error that names the argument and the index. */
#include <math.h>

#include "scene.h"

static struct scene scene;
static struct scene_outputs outputs;

static sap_solver *make(sap_settings settings) {
  sap_solver *solver = NULL;
  sap_error error;
  CHECK_EQUAL(sap_solver_create(&solver, &settings, NULL, &error), SAP_OK);
  return solver;
}

static void bad_problems_are_named(void) {
  uint64_t seed = 38;
  sap_solver *solver = make(sap_settings_default());
  sap_solution solution = scene_solution(&outputs);
  sap_error error;
#define CHECK_REFUSED(change, status, name, at)                                             \
  do {                                                                                      \
    scene_make(&scene, 4, 6, &seed);                                                        \
    scene.tree_a[0] = 0;                                                                    \
    scene.tree_b[0] = -1;                                                                   \
    scene.tree_a[3] = 1;                                                                    \
    scene.tree_b[3] = 2;                                                                    \
    change;                                                                                 \
    outputs.v[0] = 12345;                                                                   \
    CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, &error), status); \
    CHECK_STRING(error.argument, name);                                                     \
    CHECK_EQUAL(error.index, at);                                                           \
    CHECK(error.rule != NULL);                                                              \
    CHECK(outputs.v[0] == 12345);                                                           \
  } while (0)
  CHECK_REFUSED(scene.tree_nv[2] = 0, SAP_INVALID_ARGUMENT, "tree_nv", 2);
  CHECK_REFUSED(scene.tree_nv[2] = -3, SAP_INVALID_ARGUMENT, "tree_nv", 2);
  CHECK_REFUSED(scene.tree_nv[2] = INT32_MAX, SAP_INVALID_ARGUMENT, "tree_nv", 2);
  CHECK_REFUSED(scene.tree_a[3] = 4, SAP_INVALID_ARGUMENT, "tree_a", 3);
  CHECK_REFUSED(scene.tree_a[3] = -1, SAP_INVALID_ARGUMENT, "tree_a", 3);
  CHECK_REFUSED(scene.tree_b[3] = 4, SAP_INVALID_ARGUMENT, "tree_b", 3);
  CHECK_REFUSED(scene.tree_b[3] = -2, SAP_INVALID_ARGUMENT, "tree_b", 3);
  CHECK_REFUSED(scene.tree_b[3] = 1, SAP_INVALID_ARGUMENT, "tree_b", 3);
  CHECK_REFUSED(scene.problem.n_trees = -1, SAP_INVALID_ARGUMENT, "n_trees", -1);
  CHECK_REFUSED(scene.problem.n_contacts = -1, SAP_INVALID_ARGUMENT, "n_contacts", -1);
  CHECK_REFUSED(scene.v_star[3] = NAN, SAP_INVALID_ARGUMENT, "v_star", 3);
  CHECK_REFUSED(scene.A[5] = INFINITY, SAP_INVALID_ARGUMENT, "A", 5);
  CHECK_REFUSED(scene.J[7] = -INFINITY, SAP_INVALID_ARGUMENT, "J", 7);
  CHECK_REFUSED(scene.mu[4] = -0.5, SAP_INVALID_ARGUMENT, "mu", 4);
  CHECK_REFUSED(scene.mu[4] = NAN, SAP_INVALID_ARGUMENT, "mu", 4);
  CHECK_REFUSED(scene.R_t[1] = -1e-3, SAP_INVALID_ARGUMENT, "R_t", 1);
  CHECK_REFUSED(scene.R_n[1] = -1, SAP_INVALID_ARGUMENT, "R_n", 1);
  CHECK_REFUSED(scene.v_hat_n[5] = NAN, SAP_INVALID_ARGUMENT, "v_hat_n", 5);
  CHECK_REFUSED(scene.v_hat_t[11] = NAN, SAP_INVALID_ARGUMENT, "v_hat_t", 11);
  CHECK_REFUSED(scene.A[0] = -1, SAP_NOT_POSITIVE_DEFINITE, "A", 0);
  CHECK_REFUSED(scene.tree_nv[0] = 2; scene.A[0] = scene.A[3] = 2; scene.A[1] = 0.5;
                scene.A[2] = 0, SAP_INVALID_ARGUMENT, "A", 0);
#undef CHECK_REFUSED
  /* and the solver still works */
  scene_make(&scene, 4, 6, &seed);
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL), SAP_OK);
  scene.v_star[0] = 0;
  double guess[SCENE_TREES * SCENE_MOST_NV] = {0};
  guess[1] = NAN;
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, guess, &solution, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "v_guess");
  sap_solver_destroy(solver);
}

/* With barriers the iteration may begin elsewhere than at the guess. */
static void velocities_must_be_finite(void) {
  uint64_t seed = 41;
  sap_solver *solver = make(sap_settings_default());
  sap_solution solution = scene_solution(&outputs);
  static double guess[SCENE_TREES * SCENE_MOST_NV];
  static int8_t barrier[6];
  static double kappa[6], lambda[6];
  for (int trial = 0; trial < 30; ++trial) {
    scene_make(&scene, 4, 6, &seed);
    for (int i = 0; i < 6; ++i) {
      barrier[i] = (int8_t)(check_random_bits(&seed) % 3);
      kappa[i] = check_random(&seed, 0.1, 1) / scene.R_n[i];
      lambda[i] = 5;
    }
    if (trial % 2 > 0) {
      scene.problem.barrier = barrier;
      scene.problem.kappa = kappa;
      scene.problem.barrier_lambda = lambda;
    }
    REQUIRE(sap_solver_solve(solver, &scene.problem, guess, &solution, NULL) == SAP_OK);
    double *const arrays[] = {scene.v_star, guess};
    const double values[] = {NAN, INFINITY, -INFINITY};
    for (int a = 0; a < 2; ++a) {
      for (int64_t i = 0; i < scene.sizes.nv; ++i) {
        sap_error error = {0};
        const double before = arrays[a][i];
        arrays[a][i] = values[i % 3];
        outputs.v[0] = 12345;
        CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, guess, &solution, &error),
                    SAP_INVALID_ARGUMENT);
        CHECK_STRING(error.argument, a == 0 ? "v_star" : "v_guess");
        CHECK_EQUAL(error.index, i);
        CHECK(outputs.v[0] == 12345);
        arrays[a][i] = before;
      }
    }
  }
  sap_solver_destroy(solver);
}

static void bad_parameters_are_named(void) {
  uint64_t seed = 39;
  scene_make(&scene, 4, 3, &seed);
  double phi0[3] = {0}, k[3] = {1, 1, 1}, tau_d[3] = {0}, out[3][3];
  sap_error error;
  const sap_parameters good = scene_parameters(phi0, k, tau_d);
#define CHECK_REFUSED(change, name, at)                                                   \
  do {                                                                                    \
    sap_parameters p = good;                                                              \
    phi0[1] = tau_d[1] = 0;                                                               \
    k[1] = 1;                                                                             \
    change;                                                                               \
    CHECK_EQUAL(sap_regularize(&scene.problem, &p, out[0], out[1], out[2], NULL, &error), \
                SAP_INVALID_ARGUMENT);                                                    \
    CHECK_STRING(error.argument, name);                                                   \
    CHECK_EQUAL(error.index, at);                                                         \
  } while (0)
  CHECK_REFUSED(p.dt = 0, "dt", -1);
  CHECK_REFUSED(p.dt = NAN, "dt", -1);
  CHECK_REFUSED(p.sigma = 0, "sigma", -1);
  CHECK_REFUSED(p.beta = -1, "beta", -1);
  CHECK_REFUSED(phi0[1] = INFINITY, "phi0", 1);
  CHECK_REFUSED(k[1] = 0, "k", 1);
  CHECK_REFUSED(k[1] = NAN, "k", 1);
  CHECK_REFUSED(tau_d[1] = -1e-3, "tau_d", 1);
#undef CHECK_REFUSED
  phi0[1] = tau_d[1] = 0;
  k[1] = INFINITY; /* rigid: the near-rigid branch takes over */
  CHECK_EQUAL(sap_regularize(&scene.problem, &good, out[0], out[1], out[2], NULL, &error), SAP_OK);
  CHECK(isfinite(out[1][1]) && out[1][1] > 0);
  memset(scene.J, 0, sizeof scene.J);
  CHECK_EQUAL(sap_regularize(&scene.problem, &good, out[0], out[1], out[2], NULL, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "J");
}

static void bad_settings_are_named(void) {
  sap_error error;
  sap_solver *solver = NULL;
#define CHECK_REFUSED(field, bad)                                                       \
  do {                                                                                  \
    sap_settings settings = sap_settings_default();                                     \
    settings.field = bad;                                                               \
    CHECK(sap_solver_create(&solver, &settings, NULL, &error) == SAP_INVALID_ARGUMENT); \
    CHECK_STRING(error.argument, #field);                                               \
    CHECK(solver == NULL);                                                              \
  } while (0)
  CHECK_REFUSED(relative_tolerance, NAN);
  CHECK_REFUSED(relative_tolerance, -1e-6);
  CHECK_REFUSED(absolute_tolerance, INFINITY);
  CHECK_REFUSED(natural_tolerance, 1);
  CHECK_REFUSED(max_iterations, -1);
  CHECK_REFUSED(line_search, 7);
  CHECK_REFUSED(line_search_tolerance, 1);
  CHECK_REFUSED(line_search_max_trials, 0);
  CHECK_REFUSED(line_search_max_trials, 1000001);
  CHECK_REFUSED(max_step, 0.5);
  CHECK_REFUSED(armijo_rho, 1);
  CHECK_REFUSED(armijo_c, 0);
  CHECK_REFUSED(start, 5);
  CHECK_REFUSED(start_threshold, NAN);
  CHECK_REFUSED(turning, 2);
  CHECK_REFUSED(soft_norm, -1);
  CHECK_REFUSED(islands, 2);
  CHECK_REFUSED(record_history, -1);
#undef CHECK_REFUSED
}

static const check_test tests[] = {
    CHECK_TEST(bad_problems_are_named),
    CHECK_TEST(velocities_must_be_finite),
    CHECK_TEST(bad_parameters_are_named),
    CHECK_TEST(bad_settings_are_named),
};
CHECK_FILE(test_solver_rules, tests);
