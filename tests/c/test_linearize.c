/* Tests the linearization at a velocity: H against a dense matrix, the gradient against differences
 * of the cost, and an island with a singular H. */
#include <math.h>

#include "solver/derivatives/linearize.h"
#include "solver/solver_object.h"
#include "scene.h"

enum { MOST_NV = SCENE_TREES * SCENE_MOST_NV };

static struct scene scene;

/* Returns a solver with the scene laid out; the caller linearizes the islands. */
static sap_solver *lay_out(const sap_problem *problem) {
  sap_solver *solver = NULL;
  if (sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK) {
    CHECK_EQUAL(sap_solver_lay_out(solver, problem, NULL, NULL), SAP_OK);
  }
  return solver;
}

/* Checks scenes of many islands with trees in none, and of one island. */
static void for_all_scenes(void (*check)(sap_solver *solver, const double *v, uint64_t *seed)) {
  uint64_t seed = 3;
  for (int trial = 0; trial < 10; ++trial) {
    scene_make(&scene, SCENE_TREES, 8 + 4 * trial, &seed);
    double v[MOST_NV];
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      v[i] = check_random(&seed, -1, 1);
    }
    sap_solver *solver = lay_out(&scene.problem);
    REQUIRE(solver);
    CHECK(solver->plan.graph.n_islands > 1 || trial > 2);
    check(solver, v, &seed);
    sap_solver_destroy(solver);
  }
}

/* ---- H ---- */

/* Returns |H x - b| of an island, H (nv, nv); x and b (nv) are zero elsewhere. */
static double residual(const double *H, const double *x, const double *b) {
  const int64_t nv = scene.sizes.nv;
  double sum = 0;
  for (int64_t i = 0; i < nv; ++i) {
    double r = -b[i];
    for (int64_t j = 0; j < nv; ++j) {
      r += H[i * nv + j] * x[j];
    }
    sum += b[i] != 0 ? r * r : 0;
  }
  return sqrt(sum);
}

static void check_solves(sap_solver *solver, const double *v, uint64_t *seed) {
  struct sap_workspace *w = solver->work;
  const struct sap_graph *graph = &solver->plan.graph;
  static double H[MOST_NV * MOST_NV];
  sap_solver *other = lay_out(&scene.problem);
  REQUIRE(other);
  REQUIRE(sap_solver_evaluate(other, &scene.problem, v, NULL, NULL, H, NULL, NULL) == SAP_OK);
  sap_solver_destroy(other);
  struct sap_linearization linear;
  for (int32_t i = 0; i < graph->n_islands; ++i) {
    REQUIRE(sap_linearize(w, &graph->island[i], &scene.problem, v, NULL, &linear));
    CHECK_EQUAL(linear.tree, -1);
    CHECK_EQUAL(solver->plan.factor.precision[i], SAP_DOUBLE);
  }
  /* all factors stand at once, and for more than one right side */
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (int32_t i = 0; i < graph->n_islands; ++i) {
      const struct sap_island *island = &graph->island[i];
      double b[MOST_NV] = {0}, x[MOST_NV] = {0}, norm = 0;
      for (int32_t k = island->scalar_begin; k < island->scalar_end; ++k) {
        w->dv[k] = check_random(seed, -1, 1);
        norm += w->dv[k] * w->dv[k];
      }
      sap_workspace_scatter(w, island, w->dv, b);
      sap_linearized_solve(w, island, w->dv);
      sap_workspace_scatter(w, island, w->dv, x);
      CHECK(residual(H, x, b) <= 1e-10 * sqrt(norm));
    }
  }
}

static void solves_are_those_of_the_dense_H(void) { for_all_scenes(check_solves); }

/* ---- cost and gradient ---- */

/* Returns the cost of an island at v + h d, d (nv). */
static double cost_at(sap_solver *solver, const struct sap_island *island, const double *v,
                      double h, const double *d) {
  double at[MOST_NV];
  for (int64_t i = 0; i < scene.sizes.nv; ++i) {
    at[i] = v[i] + h * d[i];
  }
  struct sap_linearization linear = {.tree = 0};
  CHECK(sap_linearize(solver->work, island, &scene.problem, at, NULL, &linear));
  return linear.at.cost;
}

static void check_gradient(sap_solver *solver, const double *v, uint64_t *seed) {
  static const double h = 1e-6;
  struct sap_workspace *w = solver->work;
  for (int32_t i = 0; i < solver->plan.graph.n_islands; ++i) {
    const struct sap_island *island = &solver->plan.graph.island[i];
    double d[MOST_NV], slope = 0;
    for (int64_t k = 0; k < scene.sizes.nv; ++k) {
      d[k] = check_random(seed, -1, 1);
    }
    const double rise = cost_at(solver, island, v, h, d) - cost_at(solver, island, v, -h, d);
    const double cost = cost_at(solver, island, v, 0, d);
    sap_workspace_gather(w, island, d, w->dv);
    for (int32_t k = island->scalar_begin; k < island->scalar_end; ++k) {
      slope += w->gradient[k] * w->dv[k];
    }
    CHECK(fabs(rise / (2 * h) - slope) <= 1e-5 * (fabs(slope) + cost));
  }
}

static void gradients_are_slopes_of_the_cost(void) { for_all_scenes(check_gradient); }

/* ---- where H breaks down ---- */

/* Two trees of two velocities, each pushed against the world along (1, 1). With R_n = 2^-60 the
 * second pivot of H = I + 2^60 [1 1; 1 1] is 0 in double precision, with R_n = 1 it is 3/2. */
static void an_island_breaks_down_alone(void) {
  const int32_t tree_nv[] = {2, 2}, tree_a[] = {0, 1}, tree_b[] = {-1, -1};
  const double A[] = {1, 0, 0, 1, 1, 0, 0, 1}, v[] = {-1, -1, -1, -1}, v_star[4] = {0};
  const double J[] = {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1};
  const double mu[] = {0.5, 0.5}, R_t[] = {1, 1}, v_hat_n[] = {0, 0};
  for (int32_t bad = 0; bad < 2; ++bad) {
    double R_n[] = {1, 1};
    R_n[bad] = 0x1p-60;
    const sap_problem problem = {.n_trees = 2,
                                 .n_contacts = 2,
                                 .tree_nv = tree_nv,
                                 .A = A,
                                 .v_star = v_star,
                                 .tree_a = tree_a,
                                 .tree_b = tree_b,
                                 .J = J,
                                 .mu = mu,
                                 .R_t = R_t,
                                 .R_n = R_n,
                                 .v_hat_n = v_hat_n};
    sap_solver *solver = lay_out(&problem);
    REQUIRE(solver);
    CHECK_EQUAL(solver->plan.graph.n_islands, 2);
    int broken = 0;
    for (int32_t i = 0; i < 2; ++i) {
      struct sap_linearization linear;
      REQUIRE(
          sap_linearize(solver->work, &solver->plan.graph.island[i], &problem, v, NULL, &linear));
      CHECK(linear.tree == -1 || linear.tree == bad);
      broken += linear.tree == bad;
      CHECK(isfinite(linear.at.cost));
    }
    CHECK_EQUAL(broken, 1);
    /* its direction is unknown, that of the other is not: (I + [1 1; 1 1]) dv = (3, 3) */
    double direction[4];
    CHECK_EQUAL(sap_solver_evaluate(solver, &problem, v, NULL, NULL, NULL, direction, NULL),
                SAP_OK);
    for (int32_t j = 0; j < 2; ++j) {
      CHECK(isnan(direction[2 * bad + j]));
      CHECK(fabs(direction[2 * (1 - bad) + j] - 1) < 1e-15);
    }
    sap_solver_destroy(solver);
  }
}

/* ---- what cannot be bound ---- */

static void broken_rules_are_told(void) {
  uint64_t seed = 5;
  scene_make(&scene, 2, 3, &seed);
  scene.R_n[1] = -1;
  sap_solver *solver = lay_out(&scene.problem);
  REQUIRE(solver);
  int wrong = 0;
  for (int32_t i = 0; i < solver->plan.graph.n_islands; ++i) {
    struct sap_linearization linear;
    wrong += !sap_linearize(solver->work, &solver->plan.graph.island[i], &scene.problem,
                            scene.v_star, NULL, &linear);
  }
  CHECK_EQUAL(wrong, 1);
  sap_error error;
  CHECK_EQUAL(sap_solver_fault(solver, &scene.problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "R_n");
  CHECK_EQUAL(error.index, 1);
  sap_solver_destroy(solver);
}

static const check_test tests[] = {
    CHECK_TEST(solves_are_those_of_the_dense_H),
    CHECK_TEST(gradients_are_slopes_of_the_cost),
    CHECK_TEST(an_island_breaks_down_alone),
    CHECK_TEST(broken_rules_are_told),
};
CHECK_FILE(test_linearize, tests);
