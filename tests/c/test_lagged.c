/* Tests friction with fixed bounds: bounds of the problem, bounds of a rough solution if they are
 * unknown, and evaluation without a solve. */
#include "friction.h"
#include "solver/solver_object.h"

enum { SCENES = 24, ALPHAS = 5 };

static struct scene_outputs outputs, others;
static struct friction_balance at, from;
static double bound[SCENE_CONTACTS];

static sap_settings lagged(double tolerance) {
  sap_settings settings = sap_settings_default();
  settings.friction = SAP_FRICTION_LAGGED;
  settings.relative_tolerance = tolerance;
  return settings;
}

/* Makes a scene; every other one has groups. Bounds are random, in the size of impulses. */
static void make(int32_t number) {
  uint64_t seed = 2000 + (uint64_t)number;
  friction_make(4 + number % 17, 3 + number % 29, number % 2 ? 1 + number % 4 : 0, &seed);
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    bound[i] = i % 5 ? check_random(&seed, 0, 3) : 0;
  }
  scene.problem.friction_bound = bound;
}

static sap_solver *solver_of(const sap_settings *settings) {
  sap_solver *solver = NULL;
  CHECK_EQUAL(sap_solver_create(&solver, settings, NULL, NULL), SAP_OK);
  return solver;
}

static sap_solution solve(const sap_settings *settings, struct scene_outputs *o) {
  sap_solver *solver = solver_of(settings);
  sap_solution solution = scene_solution(o);
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL), SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
  sap_solver_destroy(solver);
  return solution;
}

static void solutions_balance_with_the_bounds_given(void) {
  int32_t slides = 0;
  for (int32_t number = 0; number < SCENES; ++number) {
    make(number);
    const sap_settings settings = lagged(1e-10);
    const sap_solution solution = solve(&settings, &outputs);
    friction_evaluate(&at, outputs.v, bound);
    CHECK(at.error <= 1.01e-10L);
    CHECK_CLOSE(solution.cost, (double)at.cost, 1e-12 * (double)at.cost);
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      const double *gamma = outputs.gamma + 3 * i;
      CHECK(gamma[2] >= 0 && hypot(gamma[0], gamma[1]) <= (1 + 1e-14) * bound[i]);
      slides += hypot(gamma[0], gamma[1]) > 0.99 * bound[i] && bound[i] > 0;
    }
    /* how far it is from Coulomb's law, in terms of the impulses that it has */
    const long double scale = fmaxl(at.momentum, at.impulse);
    friction_evaluate(&at, outputs.v, NULL);
    CHECK_CLOSE(solution.coulomb_error, (double)(at.residual / scale), 1e-10);
  }
  CHECK(slides > 2 * SCENES);
}

/* With the bounds that Coulomb's law leads to, lagged friction is Coulomb's. */
static void bounds_of_coulombs_solution_lead_to_it(void) {
  for (int32_t number = 0; number < SCENES; ++number) {
    make(number);
    sap_settings settings = lagged(1e-12);
    settings.friction = SAP_FRICTION_COULOMB;
    solve(&settings, &others);
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      bound[i] = scene.mu[i] * others.gamma[3 * i + 2];
    }
    settings.friction = SAP_FRICTION_LAGGED;
    const sap_solution solution = solve(&settings, &outputs);
    CHECK(friction_distance(outputs.v, others.v) <= 1e-9);
    CHECK(solution.coulomb_error <= 1e-9);
  }
}

/* Unknown bounds are mu gamma_n of a rough solution. Known bounds stay the same beside them, and
 * friction_bound NULL equals NaN everywhere. */
static void unknown_bounds_are_found(void) {
  static double some[SCENE_CONTACTS];
  double farthest = 0;
  for (int32_t number = 0; number < SCENES; ++number) {
    make(number);
    const int32_t n = scene.problem.n_contacts;
    const sap_settings settings = lagged(1e-10);
    for (int32_t i = 0; i < n; ++i) {
      some[i] = i % 2 ? bound[i] : NAN;
    }
    scene.problem.friction_bound = some;
    solve(&settings, &outputs);
    for (int32_t i = 1; i < n; i += 2) {
      CHECK(hypot(outputs.gamma[3 * i], outputs.gamma[3 * i + 1]) <= (1 + 1e-14) * bound[i]);
    }
    for (int32_t i = 0; i < n; ++i) {
      some[i] = NAN;
    }
    const sap_solution unknown = solve(&settings, &outputs);
    scene.problem.friction_bound = NULL;
    solve(&settings, &others);
    CHECK_ALL_CLOSE(outputs.v, others.v, scene.sizes.nv, 0);
    farthest = fmax(farthest, unknown.coulomb_error);
  }
  CHECK(farthest > 1e-6); /* it is no solution of Coulomb's law */
}

static void bad_bounds_are_named(void) {
  static const double bad[] = {-1e-300, -1, INFINITY, -INFINITY};
  const sap_settings settings = lagged(1e-6);
  for (size_t k = 0; k < CHECK_COUNT(bad); ++k) {
    make((int32_t)k);
    sap_solver *solver = solver_of(&settings);
    sap_solution solution = scene_solution(&outputs);
    sap_error error = {0};
    bound[k] = bad[k];
    memset(&outputs, 0xa5, sizeof outputs);
    others = outputs;
    CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "friction_bound");
    CHECK_EQUAL(error.index, k);
    CHECK(error.value == bad[k]);
    CHECK(memcmp(&outputs, &others, sizeof outputs) == 0);
    CHECK_EQUAL(sap_problem_check(&scene.problem, NULL, &error), SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "friction_bound");
    sap_solver_destroy(solver);
  }
}

static void cores_need_convex_friction(void) {
  static int8_t barrier[SCENE_CONTACTS];
  static double kappa[SCENE_CONTACTS];
  make(0);
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    kappa[i] = 100;
  }
  barrier[2] = SAP_BARRIER_LOG;
  scene.problem.barrier = barrier;
  scene.problem.kappa = kappa;
  for (int friction = SAP_FRICTION_LAGGED; friction <= SAP_FRICTION_COULOMB; ++friction) {
    sap_settings settings = lagged(1e-6);
    settings.friction = (sap_friction)friction;
    sap_solver *solver = solver_of(&settings);
    sap_solution solution = scene_solution(&outputs);
    sap_error error = {0};
    CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "barrier");
    CHECK_EQUAL(error.index, 2);
    sap_solver_destroy(solver);
  }
}

/* ---- where nothing is solved ----------------------------------------------------------------- */

/* Finds the bounds of contacts at v: the given ones, otherwise those of Coulomb's law. */
static void find_bounds(const double *given, const double *v, double *b) {
  friction_evaluate(&from, v, NULL);
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    b[i] = given && !isnan(given[i]) ? given[i] : scene.mu[i] * (double)from.gamma[3 * i + 2];
  }
}

static void evaluations_are_with_the_bounds_at_v(void) {
  static double v[FRICTION_NV], dv[FRICTION_NV], moved[FRICTION_NV], gradient[FRICTION_NV];
  static const double alpha[ALPHAS] = {-0.5, 0, 1e-3, 0.7, 1.5};
  for (int32_t number = 0; number < SCENES; ++number) {
    uint64_t seed = (uint64_t)number;
    double b[SCENE_CONTACTS], cost, along[3][ALPHAS];
    make(number);
    sap_settings settings = lagged(1e-6);
    settings.friction = number % 4 == 3 ? SAP_FRICTION_COULOMB : SAP_FRICTION_LAGGED;
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      bound[i] = number % 4 == 1 || (number % 4 == 2 && i % 2) ? NAN : bound[i];
    }
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      v[i] = check_random(&seed, -1, 1);
      dv[i] = check_random(&seed, -1, 1);
    }
    find_bounds(number % 4 == 3 ? NULL : bound, v, b);
    sap_solver *solver = solver_of(&settings);
    REQUIRE(sap_solver_evaluate(solver, &scene.problem, v, &cost, gradient, NULL, NULL, NULL) ==
            SAP_OK);
    friction_evaluate(&from, v, b);
    CHECK_CLOSE(cost, (double)from.cost, 1e-12 * (double)from.cost);
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      CHECK_CLOSE(gradient[i], (double)from.r[i], 1e-11 * (double)(from.impulse + 1));
    }
    REQUIRE(sap_solver_along_line(solver, &scene.problem, v, dv, ALPHAS, alpha, along[0], along[1],
                                  along[2], NULL) == SAP_OK);
    for (int k = 0; k < ALPHAS; ++k) {
      long double slope = 0;
      for (int64_t i = 0; i < scene.sizes.nv; ++i) {
        moved[i] = v[i] + alpha[k] * dv[i];
      }
      friction_evaluate(&at, moved, b);
      for (int64_t i = 0; i < scene.sizes.nv; ++i) {
        slope += dv[i] * at.r[i];
      }
      const double size = (double)(at.cost + from.cost);
      CHECK_CLOSE(along[0][k], (double)(at.cost - from.cost), 1e-12 * size);
      CHECK_CLOSE(along[1][k], (double)slope, 1e-11 * size);
      CHECK(along[2][k] >= 0);
    }
    sap_solver_destroy(solver);
  }
}

static const check_test tests[] = {
    CHECK_TEST(solutions_balance_with_the_bounds_given),
    CHECK_TEST(bounds_of_coulombs_solution_lead_to_it),
    CHECK_TEST(unknown_bounds_are_found),
    CHECK_TEST(bad_bounds_are_named),
    CHECK_TEST(cores_need_convex_friction),
    CHECK_TEST(evaluations_are_with_the_bounds_at_v),
};
CHECK_FILE(test_lagged, tests);
