/* Tests the Newton iterations of islands: when they stop, their results, and the detours that
 * barriers cause. */
#include <string.h>

#include "solver/solver_object.h"
#include "scene.h"
#include "problem_of.h"

static struct scene scene;
static struct scene_outputs outputs;

static sap_solver *make(const sap_settings *settings) {
  sap_solver *solver = NULL;
  CHECK_EQUAL(sap_solver_create(&solver, settings, NULL, NULL), SAP_OK);
  return solver;
}

/* ---- (20) over several islands ---- */

/* Unit masses lie on a floor without friction, one island each. */
enum { MASSES = 9, MASSES_NV = 3 * MASSES };

struct masses {
  sap_problem problem;
  int32_t tree_nv[MASSES], tree_a[MASSES], tree_b[MASSES];
  double A[9 * MASSES], J[9 * MASSES], v_star[MASSES_NV], v_guess[MASSES_NV];
  double mu[MASSES], R_t[MASSES], R_n[MASSES], v_hat_n[MASSES];
};

/* The first n_down fall on the floor, the others fly along it. The guess is the minimiser, moved
 * sideways: where there is no friction, by the gradient. */
static void make_masses(struct masses *m, int32_t n, int32_t n_down, double gradient) {
  memset(m, 0, sizeof *m);
  for (int32_t i = 0; i < n; ++i) {
    m->tree_nv[i] = 3;
    m->tree_a[i] = i;
    m->tree_b[i] = -1;
    for (int r = 0; r < 3; ++r) {
      m->A[9 * i + 4 * r] = m->J[9 * i + 4 * r] = 1;
    }
    m->R_t[i] = m->R_n[i] = 1e-3;
    m->v_hat_n[i] = i < n_down ? 0 : -1;
    m->v_star[3 * i + (i < n_down ? 2 : 0)] = i < n_down ? -1 : 1;
    memcpy(m->v_guess + 3 * i, m->v_star + 3 * i, 3 * sizeof(double));
    if (i < n_down) {
      m->v_guess[3 * i + 2] = -m->R_n[i] / (1 + m->R_n[i]); /* v_n + 1 = gamma_n = -v_n/R_n */
    }
    m->v_guess[3 * i + 1] += gradient;
  }
  m->problem = PROBLEM_OF(m, m->tree_nv, n, n);
}

/* Returns the iterations from the guess with these tolerances. *gradient becomes |D grad| at the
 * end, D = 1. */
static int32_t iterations_of(const struct masses *m, double absolute, double relative,
                             double *gradient, double *momentum_error) {
  double v[MASSES_NV], gamma[MASSES_NV], g[MASSES_NV];
  sap_settings settings = sap_settings_default();
  settings.absolute_tolerance = absolute;
  settings.relative_tolerance = relative;
  sap_solver *solver = make(&settings);
  sap_solution solution = {.v = v, .gamma = gamma};
  CHECK_EQUAL(sap_solver_solve(solver, &m->problem, m->v_guess, &solution, NULL), SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
  CHECK_EQUAL(solution.n_islands, m->problem.n_trees);
  CHECK_EQUAL(sap_solver_evaluate(solver, &m->problem, v, NULL, g, NULL, NULL, NULL), SAP_OK);
  *gradient = 0;
  for (int32_t i = 0; i < 3 * m->problem.n_trees; ++i) {
    *gradient = hypot(*gradient, g[i]);
  }
  *momentum_error = solution.momentum_error;
  sap_solver_destroy(solver);
  return solution.iterations;
}

/* Islands that meet the tolerance by themselves may miss it together. */
static void absolute_tolerance_is_that_of_all_islands(void) {
  const double eps = 1e-3;
  static struct masses masses;
  double gradient, e_m;
  for (int32_t n = 1; n <= MASSES; ++n) {
    const double most = eps / sqrt(n);
    make_masses(&masses, n, n, 1.01 * most);
    CHECK(iterations_of(&masses, eps, 0, &gradient, &e_m) > 0);
    CHECK(gradient <= eps);
    make_masses(&masses, n, n, 0.99 * most);
    CHECK_EQUAL(iterations_of(&masses, eps, 0, &gradient, &e_m), 0);
    CHECK_CLOSE(gradient, 0.99 * eps, 1e-12);
  }
}

/* One island has impulse alone, the other momentum alone: their scales do not add up. */
static void relative_tolerance_is_that_of_all_islands(void) {
  const double eps = 1e-3;
  static struct masses masses;
  double gradient, e_m;
  make_masses(&masses, 2, 1, 0.99 * eps);
  CHECK(iterations_of(&masses, 0, eps, &gradient, &e_m) > 0);
  CHECK(e_m <= eps);
  make_masses(&masses, 2, 1, 0.7 * eps);
  CHECK_EQUAL(iterations_of(&masses, 0, eps, &gradient, &e_m), 0);
  CHECK(0.9 * eps < e_m && e_m <= eps);
  make_masses(&masses, 1, 1, 0.99 * eps);
  CHECK_EQUAL(iterations_of(&masses, 0, eps, &gradient, &e_m), 0);
}

/* ---- what is returned ---- */

/* The cost falls in every step, e_m does not: a longer run returns no worse an iterate. */
static void the_best_iterate_is_returned(void) {
  enum { MOST = 9 };
  int kept = 0;
  for (uint64_t trial = 0; trial < 40; ++trial) {
    uint64_t seed = 100 + trial;
    scene_make(&scene, 6, 20, &seed);
    for (int32_t i = 0; i < 20; ++i) {
      scene.tree_a[i] = i % 6; /* every tree has a constraint, and a place in the gradient */
      scene.tree_b[i] = i % 6 - 1;
      scene.R_n[i] *= 1e-2;
      scene.R_t[i] *= 1e-2;
    }
    for (size_t k = 0; k < CHECK_COUNT(scene.J); ++k) {
      scene.J[k] = check_random(&seed, -1, 1);
    }
    double before = INFINITY, v_before[SCENE_TREES * SCENE_MOST_NV] = {0};
    for (int32_t limit = 0; limit <= MOST; ++limit) {
      sap_settings settings = sap_settings_default();
      settings.max_iterations = limit;
      settings.relative_tolerance = 1e-14;
      settings.islands = 0;
      sap_solver *solver = make(&settings);
      sap_solution solution = scene_solution(&outputs);
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      sap_solver_destroy(solver);
      if (solution.outcome != SAP_ITERATION_LIMIT) {
        break;
      }
      CHECK(solution.momentum_error <= (1 + 1e-9) * before);
      kept += memcmp(outputs.v, v_before, sizeof v_before) == 0;
      memcpy(v_before, outputs.v, sizeof v_before);
      before = solution.momentum_error;
    }
  }
  CHECK(kept > 20); /* the last iterate was not the best */
}

/* ---- directions ---- */

/* Masses land obliquely: at the guess they slide, at the end they stick. The sticking start leads
 * there in one step, whatever the law of friction. With Coulomb's friction contacts in dispute may
 * do so too. */
static void a_landing_takes_one_sticking_step(void) {
  static struct masses masses;
  double v[MASSES_NV], gamma[MASSES_NV];
  make_masses(&masses, MASSES, MASSES, 0);
  for (int32_t i = 0; i < MASSES; ++i) {
    masses.mu[i] = 2;
    masses.v_hat_n[i] = 1e-3;
    masses.R_t[i] = 1e-4;
    masses.v_star[3 * i] = 1;
    masses.v_guess[3 * i] = 0.5; /* a guess with momentum */
    masses.v_guess[3 * i + 2] = -0.2;
  }
  for (int way = 0; way < 4; ++way) {
    const int start = way % 2;
    sap_settings settings = sap_settings_default();
    settings.start = start == 0 ? SAP_START_STICKING : SAP_START_NEWTON;
    settings.friction = way < 2 ? SAP_FRICTION_CONVEX : SAP_FRICTION_COULOMB;
    sap_solver *solver = make(&settings);
    int8_t regions[MASSES];
    sap_solution solution = {.v = v, .gamma = gamma, .regions = regions};
    REQUIRE(sap_solver_solve(solver, &masses.problem, masses.v_guess, &solution, NULL) == SAP_OK);
    CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
    CHECK_EQUAL(regions[0], SAP_STICTION);
    CHECK(start == 0 ? solution.iterations == 1 : solution.iterations > (way < 2));
    sap_solver_destroy(solver);
  }
}

/* ---- the end of double precision ---- */

/* A tolerance that no solve meets: it ends once three steps at round-off have not reduced the
 * gradient by a tenth, not at the first one. */
static void three_steps_that_bring_nothing_end_it(void) {
  int32_t patient = 0, stalled = 0;
  for (uint64_t trial = 0; trial < 100; ++trial) {
    uint64_t seed = 300 + trial;
    scene_make(&scene, 2 + (int32_t)(trial % 8), 1 + (int32_t)(trial % 30), &seed);
    sap_settings settings = sap_settings_default();
    settings.relative_tolerance = settings.absolute_tolerance = 0;
    settings.islands = 0;
    settings.record_history = 1;
    sap_solver *solver = make(&settings);
    sap_solution solution = scene_solution(&outputs);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    int32_t n, stagnation = 0;
    const sap_iteration *history = sap_solver_history(solver, &n);
    double least = INFINITY;
    for (int32_t k = 0; k < n; ++k) {
      stagnation += history[k].momentum_error > 0.89 * least;
      least = fmin(least, history[k].momentum_error);
    }
    stalled += solution.outcome == SAP_STALLED;
    patient += solution.outcome == SAP_STALLED && stagnation >= 3;
    CHECK(solution.momentum_error < 1e-12);
    sap_solver_destroy(solver);
  }
  /* some find no direction of descent any more */
  CHECK(stalled > 90 && 10 * patient > 9 * stalled);
}

/* ---- detours ---- */

static int8_t barrier[SCENE_CONTACTS];
static double kappa[SCENE_CONTACTS];

/* Contacts with log barriers, close to touching, and trees that move fast: the way to the minimum
 * is along walls. */
static void make_walls(uint64_t trial) {
  uint64_t seed = trial;
  const int32_t n_contacts = 1 + (int32_t)(trial % 20);
  scene_make(&scene, 1 + (int32_t)(trial % 7), n_contacts, &seed);
  for (int32_t i = 0; i < n_contacts; ++i) {
    barrier[i] = SAP_BARRIER_LOG;
    kappa[i] = pow(10, check_random(&seed, -3, 1));
    scene.R_n[i] = pow(10, check_random(&seed, -4, -1));
    scene.v_hat_n[i] = check_random(&seed, -1, 0);
    scene.mu[i] *= trial % 3 > 0;
  }
  for (int64_t i = 0; i < scene.sizes.nv; ++i) {
    scene.v_star[i] *= 10;
  }
  scene.problem.barrier = barrier;
  scene.problem.kappa = kappa;
  scene.problem.v_hat_t = trial % 2 > 0 ? scene.v_hat_t : NULL;
}

/* The detour begins after five short steps in a row: fewer do not count, however many they are. */
static void only_short_steps_in_a_row_end_a_try(void) {
  enum { PATIENCE = 5 };
  int32_t direct = 0, detours = 0;
  for (uint64_t trial = 1; trial <= 600; ++trial) {
    make_walls(trial);
    sap_settings settings = sap_settings_default();
    settings.record_history = 1;
    settings.islands = 0;
    settings.max_iterations = 1000;
    sap_solver *solver = make(&settings);
    sap_solution solution = scene_solution(&outputs);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    int32_t n, n_short = 0, in_a_row = 0, k = 1;
    const sap_iteration *history = sap_solver_history(solver, &n);
    for (; k < n && history[k].trials > 0; ++k) { /* to the guess of the next try */
      CHECK(in_a_row < PATIENCE);
      in_a_row = history[k].step < 0.05 ? in_a_row + 1 : 0;
      n_short += history[k].step < 0.05;
    }
    direct += k == n && solution.outcome == SAP_CONVERGED && n_short > PATIENCE;
    detours += k < n && in_a_row == PATIENCE;
    sap_solver_destroy(solver);
  }
  CHECK(direct > 5);
  CHECK(detours > 5);
}

/* All tries together keep the limit, and use it up. */
static void the_limit_is_that_of_all_tries(void) {
  int32_t reached = 0;
  for (uint64_t trial = 1; trial <= 60; ++trial) {
    make_walls(trial);
    for (int32_t limit = 0; limit <= 60; limit += 1 + limit / 2) {
      sap_settings settings = sap_settings_default();
      settings.max_iterations = limit;
      settings.islands = trial % 2 > 0;
      sap_solver *solver = make(&settings);
      sap_solution solution = scene_solution(&outputs);
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      CHECK(solution.iterations <= limit);
      if (solution.outcome == SAP_ITERATION_LIMIT && solution.n_islands == 1) {
        CHECK_EQUAL(solution.iterations, limit);
        reached += limit > 20;
      }
      sap_solver_destroy(solver);
    }
  }
  CHECK(reached > 5);
}

static const check_test tests[] = {
    CHECK_TEST(absolute_tolerance_is_that_of_all_islands),
    CHECK_TEST(relative_tolerance_is_that_of_all_islands),
    CHECK_TEST(the_best_iterate_is_returned),
    CHECK_TEST(a_landing_takes_one_sticking_step),
    CHECK_TEST(three_steps_that_bring_nothing_end_it),
    CHECK_TEST(only_short_steps_in_a_row_end_a_try),
    CHECK_TEST(the_limit_is_that_of_all_tries),
};
CHECK_FILE(test_newton, tests);
