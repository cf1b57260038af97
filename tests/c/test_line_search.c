/* Tests step lengths: the properties of the step that both searches return, and their trials. */
#include <string.h>

#include "solver/newton/line_search.h"
#include "solver/solver_object.h"
#include "scene.h"
#include "problem_of.h"

enum { NV = SCENE_TREES * SCENE_MOST_NV };

static struct scene scene;
static int8_t barrier[SCENE_CONTACTS];
static double kappa[SCENE_CONTACTS];

/* Returns a solver with the problem as one island, evaluated at v; NULL if that fails. */
static sap_solver *load(const sap_problem *problem, const double *v) {
  sap_settings settings = sap_settings_default();
  sap_solver *solver = NULL;
  settings.islands = 0;
  if (!CHECK(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK)) {
    return NULL;
  }
  CHECK_EQUAL(sap_solver_load(solver, problem, NULL), SAP_OK);
  CHECK_EQUAL(solver->plan.graph.n_islands, 1);
  sap_workspace_gather(solver->work, &solver->plan.graph.island[0], v, solver->work->v);
  sap_refresh(solver->work, &solver->plan.graph.island[0]);
  sap_evaluate(solver->work, &solver->plan.graph.island[0], SAP_FRICTION_CONVEX);
  return solver;
}

static struct sap_line line_along(sap_solver *solver, const double *dv) {
  const struct sap_island *island = &solver->plan.graph.island[0];
  sap_workspace_gather(solver->work, island, dv, solver->work->dv);
  return sap_line_make(solver->work, island, SAP_FRICTION_CONVEX);
}

/* ---- random lines ---- */

/* Checks Newton directions, times a factor, from v = 0 of contacts that stick together. Half of
 * them have log barriers, which v = 0 is inside of, and trees that move fast. */
static void for_random_lines(void (*check)(const struct sap_line *line, const sap_settings *)) {
  static const double zero[NV];
  double dv[NV];
  for (uint64_t trial = 0; trial < 200; ++trial) {
    uint64_t seed = trial;
    const int32_t n_trees = 1 + (int32_t)(trial % 7), n_contacts = n_trees + (int32_t)(trial % 13);
    scene_make(&scene, n_trees, n_contacts, &seed);
    for (int32_t i = 0; i < n_contacts; ++i) {
      barrier[i] = SAP_BARRIER_LOG;
      kappa[i] = pow(10, check_random(&seed, -3, 1));
      scene.v_hat_n[i] = trial % 2 ? check_random(&seed, -1, 0) : scene.v_hat_n[i];
    }
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      scene.v_star[i] *= trial % 2 ? 10 : 1;
    }
    scene.problem.barrier = trial % 2 ? barrier : NULL;
    scene.problem.kappa = kappa;
    scene.problem.v_hat_t = trial % 2 ? NULL : scene.v_hat_t;
    sap_solver *solver = load(&scene.problem, zero);
    REQUIRE(solver);
    REQUIRE(sap_solver_evaluate(solver, &scene.problem, zero, NULL, NULL, NULL, dv, NULL) ==
            SAP_OK);
    const double factor = pow(10, check_random(&seed, -1, 1));
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      dv[i] *= factor;
    }
    sap_evaluate(solver->work, &solver->plan.graph.island[0], SAP_FRICTION_CONVEX);
    const struct sap_line line = line_along(solver, dv);
    if (CHECK(line.product.slope < 0)) {
      check(&line, &solver->settings);
    }
    sap_solver_destroy(solver);
  }
}

/* At the step the slope is flat, or falls still at the longest one; the cost has fallen. */
static void check_exact(const struct sap_line *line, const sap_settings *defaults) {
  const double tolerances[] = {0.3, 0.01, 1e-6};
  for (size_t k = 0; k < CHECK_COUNT(tolerances); ++k) {
    sap_settings settings = *defaults;
    settings.line_search_tolerance = tolerances[k];
    const struct sap_step step = sap_search_exact(line, &settings);
    const double slope = sap_line_at(line, step.alpha).slope / -line->product.slope;
    CHECK(step.alpha > 0 && step.alpha <= settings.max_step);
    CHECK(step.trials > 0 && step.trials < settings.line_search_max_trials);
    CHECK(slope >= -tolerances[k] || step.alpha == settings.max_step);
    CHECK(slope <= tolerances[k]);
    CHECK(sap_line_difference(line, step.alpha) < 0);
  }
}

static void exact_steps_are_flat_and_lower(void) { for_random_lines(check_exact); }

/* Trials run out, but not before the cost is lower. */
static void check_trials(const struct sap_line *line, const sap_settings *defaults) {
  for (int32_t most = 1; most < 8; ++most) {
    sap_settings settings = *defaults;
    settings.line_search_max_trials = most;
    settings.line_search_tolerance = 1e-12;
    const struct sap_step exact = sap_search_exact(line, &settings);
    CHECK(sap_line_difference(line, exact.alpha) < 0);
    const struct sap_step armijo = sap_search_backtracking(line, &settings);
    CHECK(sap_line_difference(line, armijo.alpha) < 0);
  }
}

static void trials_run_out_after_a_descent(void) { for_random_lines(check_trials); }

/* The step is the first of alpha_max, rho alpha_max, ... that has Armijo's decrease and is
 * followed by one that is not lower. */
static void check_backtracking(const struct sap_line *line, const sap_settings *settings) {
  const struct sap_step step = sap_search_backtracking(line, settings);
  double alpha = settings->max_step;
  int32_t trials = 2;
  for (;; alpha *= settings->armijo_rho, ++trials) {
    const double difference = sap_line_difference(line, alpha);
    if (difference < settings->armijo_c * alpha * line->product.slope &&
        sap_line_difference(line, settings->armijo_rho * alpha) >= difference) {
      break;
    }
  }
  CHECK_CLOSE(step.alpha, alpha, 1e-12 * alpha);
  CHECK_EQUAL(step.trials, trials);
}

static void backtracking_takes_the_first_that_will_do(void) {
  for_random_lines(check_backtracking);
}

/* ---- one velocity ---- */

/* A unit mass of one velocity, between contacts that push it up (J_n = 1) or down (-1). */
struct bead {
  sap_problem problem;
  int32_t tree_nv[1], tree_a[2], tree_b[2];
  double A[1], v_star[1], J[6], mu[2], R_t[2], R_n[2], v_hat_n[2];
};

static void make_bead(struct bead *b, int32_t n_contacts) {
  *b = (struct bead){.tree_nv = {1},
                     .tree_b = {-1, -1},
                     .A = {1},
                     .J = {0, 0, 1, 0, 0, -1},
                     .R_t = {1, 1},
                     .R_n = {1, 1}};
  b->problem = PROBLEM_OF(b, b->tree_nv, 1, n_contacts);
}

/* A stiff contact lets go after 1e-6 of the step, a soft one takes over: at the full step the slope
 * is half a percent of what it was, and the cost 5000 times as high. */
static void a_small_slope_beyond_the_minimum_is_not_enough(void) {
  struct bead bead;
  const double zero = 0, one = 1;
  make_bead(&bead, 2);
  bead.R_n[0] = 1e-12;
  bead.v_hat_n[0] = 1e-6;
  bead.R_n[1] = 1.0 / 5000;
  bead.v_hat_n[1] = -1e-6;
  sap_solver *solver = load(&bead.problem, &zero);
  REQUIRE(solver);
  const struct sap_line line = line_along(solver, &one);
  CHECK_CLOSE(line.product.slope, -1e6, 1);
  CHECK(fabs(sap_line_at(&line, 1).slope) < 0.01 * 1e6);
  CHECK(sap_line_difference(&line, 1) > 0);
  const struct sap_step step = sap_search_exact(&line, &solver->settings);
  CHECK(step.alpha < 2e-6);
  CHECK(sap_line_difference(&line, step.alpha) < -0.4);
  sap_solver_destroy(solver);
}

/* The mass is shot at a log barrier of width 1 that begins at -1: the minimum is close to its wall,
 * 1 - s about 50/force. Trials are few however close: bisection would need as many as the room has
 * digits. */
static void few_trials_find_the_minimum_by_a_wall(void) {
  static const int8_t log_barrier[1] = {SAP_BARRIER_LOG};
  static const double hundred[1] = {100};
  struct bead bead;
  const double zero = 0;
  for (double force = 1e2; force < 1e8; force *= 3) {
    make_bead(&bead, 1);
    bead.R_n[0] = 1e-2; /* s = (v_hat - v)/sqrt(R_n kappa) */
    bead.v_hat_n[0] = -1;
    bead.v_star[0] = -force;
    bead.problem.barrier = log_barrier;
    bead.problem.kappa = hundred;
    sap_solver *solver = load(&bead.problem, &zero);
    REQUIRE(solver);
    const struct sap_line line = line_along(solver, bead.v_star);
    sap_settings settings = solver->settings;
    settings.line_search_tolerance = 1e-3;
    const struct sap_step step = sap_search_exact(&line, &settings);
    const double s = force * step.alpha - 1;
    CHECK(s > 0 && s < 1);
    CHECK(fabs(sap_line_at(&line, step.alpha).slope) <= 1e-3 * -line.product.slope);
    CHECK(step.trials <= 8);
    sap_solver_destroy(solver);
  }
}

static const check_test tests[] = {
    CHECK_TEST(exact_steps_are_flat_and_lower),
    CHECK_TEST(trials_run_out_after_a_descent),
    CHECK_TEST(backtracking_takes_the_first_that_will_do),
    CHECK_TEST(a_small_slope_beyond_the_minimum_is_not_enough),
    CHECK_TEST(few_trials_find_the_minimum_by_a_wall),
};
CHECK_FILE(test_line_search, tests);
