/* Tests the solver on small and random problems, with known answers or known identities. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "scene.h"
#include "problem_of.h"

static struct scene scene;
static struct scene_outputs outputs, others;

static sap_solver *make(sap_settings settings) {
  sap_solver *solver = NULL;
  sap_error error;
  CHECK_EQUAL(sap_solver_create(&solver, &settings, NULL, &error), SAP_OK);
  return solver;
}

/* A point mass m lies on the ground: one tree of 3 has one contact with the world, normal along
 * z. */
struct point_mass {
  int32_t tree_nv[1], tree_a[1], tree_b[1];
  double A[9], v_star[3], J[9], mu[1], R_t[1], R_n[1], v_hat_n[1];
  sap_problem problem;
};

static void make_point_mass(struct point_mass *p, double m, double mu) {
  *p = (struct point_mass){.tree_nv = {3},
                           .tree_a = {0},
                           .tree_b = {-1},
                           .A = {m, 0, 0, 0, m, 0, 0, 0, m},
                           .J = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                           .mu = {mu}};
  p->problem = PROBLEM_OF(p, p->tree_nv, 1, 1);
}

static void a_resting_mass_sinks_as_section_ix_says(void) {
  const double m = 2, g = 9.8, dt = 0.01, beta = 1, sigma = 1e-3, mu = 1;
  const double four_pi2 = 4 * acos(-1) * acos(-1);
  struct point_mass p;
  make_point_mass(&p, m, mu);
  /* near-rigid, at the depth where gravity and contact balance; pushed sideways at the cone's
   * edge */
  const double k = 1e12, tau_d = dt;
  const double R_n = beta * beta / four_pi2 * (sqrt(3) / m) / 3;
  const double phi0 = -R_n * m * g * dt * (dt + tau_d);
  const sap_parameters parameters = {.dt = dt,
                                     .sigma = sigma,
                                     .beta = beta,
                                     .delassus = SAP_DELASSUS_BLOCK,
                                     .phi0 = &phi0,
                                     .k = &k,
                                     .tau_d = &tau_d};
  REQUIRE(sap_regularize(&p.problem, &parameters, p.R_t, p.R_n, p.v_hat_n, NULL, NULL) == SAP_OK);
  CHECK_CLOSE(p.R_n[0], R_n, 1e-15);
  CHECK_CLOSE(p.R_t[0], sigma * (sqrt(3) / m) / 3, 1e-18);
  p.v_star[0] = 0.999 * mu * g * dt;
  p.v_star[2] = -g * dt;
  sap_solver *solver = make(sap_settings_default());
  sap_solution solution = scene_solution(&outputs);
  REQUIRE(sap_solver_solve(solver, &p.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
  CHECK_EQUAL(outputs.regions[0], SAP_STICTION);
  CHECK_CLOSE(outputs.v[2], 0, 1e-12);              /* stays at that depth */
  CHECK_CLOSE(outputs.gamma[2], m * g * dt, 1e-9);  /* carries the weight */
  CHECK(fabs(outputs.v[0]) <= mu * sigma * g * dt); /* (23) */
  CHECK(fabs(outputs.v[0]) > 0.5 * mu * sigma * g * dt);
  sap_solver_destroy(solver);
}

static void coulomb_friction_of_a_sliding_mass(void) {
  const double m = 0.5, mu = 0.3;
  struct point_mass p;
  make_point_mass(&p, m, mu);
  p.R_t[0] = 1e-8;
  p.R_n[0] = 1e-3;
  p.v_star[0] = 3;
  p.v_star[1] = 4;
  p.v_star[2] = -0.1;
  sap_solver *solver = make(sap_settings_default());
  sap_solution solution = scene_solution(&outputs);
  REQUIRE(sap_solver_solve(solver, &p.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(outputs.regions[0], SAP_SLIDING);
  const double gamma_n = outputs.gamma[2];
  CHECK_CLOSE(outputs.gamma[0], -mu * gamma_n * 0.6, 1e-9);
  CHECK_CLOSE(outputs.gamma[1], -mu * gamma_n * 0.8, 1e-9);
  CHECK_CLOSE(outputs.v[0], 3 - mu * gamma_n * 0.6 / m, 1e-9);
  CHECK_CLOSE(outputs.v[2], -0.1 + gamma_n / m, 1e-9);
  CHECK_CLOSE(solution.complementarity_error, 0, 1e-12);
  sap_solver_destroy(solver);
}

static void no_contact_is_free_motion(void) {
  uint64_t seed = 31;
  scene_make(&scene, 5, 0, &seed);
  sap_solver *solver = make(sap_settings_default());
  sap_solution solution = scene_solution(&outputs);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK_ALL_CLOSE(outputs.v, scene.v_star, scene.sizes.nv, 0);
  CHECK_EQUAL(solution.n_islands, 0);
  CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
  scene_make(&scene, 0, 0, &seed);
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL), SAP_OK);
  sap_solver_destroy(solver);
}

/* A solve does not read a free tree's block of A; sap_problem_check() reads everything. */
static void free_trees_are_not_read(void) {
  uint64_t seed = 40;
  scene_make(&scene, 3, 2, &seed);
  scene.tree_a[0] = scene.tree_a[1] = 0;
  scene.tree_b[0] = scene.tree_b[1] = 1;
  int64_t first = scene.tree_nv[0] * scene.tree_nv[0] + scene.tree_nv[1] * scene.tree_nv[1];
  scene.A[first] = NAN;
  sap_solver *solver = make(sap_settings_default());
  sap_solution solution = scene_solution(&outputs);
  sap_error error;
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, &error), SAP_OK);
  CHECK_EQUAL(sap_problem_check(&scene.problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "A");
  CHECK_EQUAL(error.kind, SAP_ERROR_ENTRY);
  CHECK_EQUAL(error.index, first);
  sap_solver_destroy(solver);
}

/* Recomputes momentum balance and contact law from the problem's arrays. */
static double momentum_residual(const struct scene *s, const struct scene_outputs *o) {
  static double residual[SCENE_TREES * SCENE_MOST_NV];
  const double *A = s->A, *J = s->J;
  int64_t first[SCENE_TREES], row = 0;
  for (int32_t t = 0; t < s->problem.n_trees; ++t) {
    const int32_t n = s->tree_nv[t];
    first[t] = row;
    for (int32_t i = 0; i < n; ++i) {
      residual[row + i] = 0;
      for (int32_t j = 0; j < n; ++j) {
        residual[row + i] += A[i * n + j] * (o->v[row + j] - s->v_star[row + j]);
      }
    }
    A += n * n;
    row += n;
  }
  for (int32_t c = 0; c < s->problem.n_contacts; ++c) {
    const int32_t trees[2] = {s->tree_a[c], s->tree_b[c]};
    double y[3] = {s->v_hat_t[2 * c], s->v_hat_t[2 * c + 1], s->v_hat_n[c]}, gamma[3];
    const double *block = J;
    for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
      const int32_t n = s->tree_nv[trees[side]];
      for (int k = 0; k < 3 * n; ++k) {
        y[k / n] -= block[k] * o->v[first[trees[side]] + k % n];
      }
      block += 3 * n;
    }
    for (int r = 0; r < 3; ++r) {
      y[r] /= r < 2 ? s->R_t[c] : s->R_n[c];
    }
    sap_project(1, y, &s->mu[c], &s->R_t[c], &s->R_n[c], 0, gamma, NULL, NULL, NULL);
    for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
      const int32_t n = s->tree_nv[trees[side]];
      for (int k = 0; k < 3 * n; ++k) {
        residual[first[trees[side]] + k % n] -= J[k] * gamma[k / n];
      }
      J += 3 * n;
    }
  }
  double sum = 0;
  for (int64_t i = 0; i < s->sizes.nv; ++i) {
    sum += residual[i] * residual[i];
  }
  return sqrt(sum);
}

static void random_scenes_balance_momentum_whatever_the_method(void) {
  uint64_t seed = 32;
  for (int trial = 0; trial < 60; ++trial) {
    scene_make(&scene, 2 + trial % (SCENE_TREES - 2), 1 + trial % SCENE_CONTACTS, &seed);
    for (int method = 0; method < 4; ++method) {
      sap_settings settings = sap_settings_default();
      settings.relative_tolerance = 1e-11;

      settings.islands = method & 1;
      settings.line_search = method & 2 ? SAP_LINE_SEARCH_BACKTRACKING : SAP_LINE_SEARCH_EXACT;
      sap_solver *solver = make(settings);
      sap_solution solution = scene_solution(method == 0 ? &others : &outputs);
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
      if (method == 0) {
        CHECK(momentum_residual(&scene, &others) < 1e-8);
      } else {
        CHECK_ALL_CLOSE(outputs.v, others.v, scene.sizes.nv, 1e-8);
        CHECK_ALL_CLOSE(outputs.gamma, others.gamma, 3 * scene.problem.n_contacts, 1e-5);
      }
      sap_solver_destroy(solver);
    }
  }
}

static void derivatives_match_differences(void) {
  uint64_t seed = 33;
  enum { MOST = SCENE_TREES * SCENE_MOST_NV };
  static double v[MOST], dv[MOST], gradient[MOST], hessian[MOST * MOST], plus[MOST], minus[MOST];
  for (int trial = 0; trial < 20; ++trial) {
    scene_make(&scene, 2 + trial % 8, 1 + 2 * trial, &seed);
    sap_settings settings = sap_settings_default();
    settings.soft_norm = trial % 2 ? 1e-3 : 0;
    sap_solver *solver = make(settings);
    const int64_t n = scene.sizes.nv;
    for (int64_t i = 0; i < n; ++i) {
      v[i] = check_random(&seed, -1, 1);
      dv[i] = check_random(&seed, -1, 1);
    }
    REQUIRE(sap_solver_evaluate(solver, &scene.problem, v, NULL, gradient, hessian, NULL, NULL) ==
            SAP_OK);
    double slope_expected = 0, curvature_expected = 0;
    for (int64_t i = 0; i < n; ++i) {
      slope_expected += gradient[i] * dv[i];
      for (int64_t j = 0; j < n; ++j) {
        curvature_expected += dv[i] * hessian[i * n + j] * dv[j];
        CHECK(hessian[i * n + j] == hessian[j * n + i]);
      }
    }
    const double h = 1e-7, alphas[3] = {0, h, -h};
    double difference[3], slope[3], curvature[3];
    REQUIRE(sap_solver_along_line(solver, &scene.problem, v, dv, 3, alphas, difference, slope,
                                  curvature, NULL) == SAP_OK);
    const double size = fabs(slope[0]) + 1, bend = fabs(curvature[0]) + 1;
    CHECK_CLOSE(slope[0], slope_expected, 1e-10 * size);
    CHECK_CLOSE(curvature[0], curvature_expected, 1e-10 * bend);
    CHECK_CLOSE((difference[1] - difference[2]) / (2 * h), slope[0], 1e-6 * (size + h * bend));
    CHECK_CLOSE((slope[1] - slope[2]) / (2 * h), curvature[0], 1e-3 * bend);
    /* the gradient along dv */
    for (int64_t i = 0; i < n; ++i) {
      plus[i] = v[i] + h * dv[i];
      minus[i] = v[i] - h * dv[i];
    }
    double cost_plus, cost_minus;
    sap_solver_evaluate(solver, &scene.problem, plus, &cost_plus, NULL, NULL, NULL, NULL);
    sap_solver_evaluate(solver, &scene.problem, minus, &cost_minus, NULL, NULL, NULL, NULL);
    CHECK_CLOSE((cost_plus - cost_minus) / (2 * h), slope[0], 1e-4 * (size + fabs(cost_plus)));
    sap_solver_destroy(solver);
  }
}

static void the_newton_direction_solves_with_the_hessian(void) {
  uint64_t seed = 34;
  enum { MOST = SCENE_TREES * SCENE_MOST_NV };
  static double v[MOST], gradient[MOST], hessian[MOST * MOST], direction[MOST];
  for (int trial = 0; trial < 20; ++trial) {
    scene_make(&scene, 2 + trial, 1 + 3 * trial, &seed);
    sap_solver *solver = make(sap_settings_default());
    const int64_t n = scene.sizes.nv;
    REQUIRE(sap_solver_evaluate(solver, &scene.problem, v, NULL, gradient, hessian, direction,
                                NULL) == SAP_OK);
    for (int64_t i = 0; i < n; ++i) {
      double sum = gradient[i];
      for (int64_t j = 0; j < n; ++j) {
        sum += hessian[i * n + j] * direction[j];
      }
      CHECK_CLOSE(sum, 0, 1e-9);
    }
    sap_solver_destroy(solver);
  }
}

static void costs_fall_and_the_history_tells(void) {
  uint64_t seed = 35;
  for (int trial = 0; trial < 20; ++trial) {
    scene_make(&scene, 10, 30, &seed);
    sap_settings settings = sap_settings_default();
    settings.record_history = 1;
    settings.islands = trial % 2;
    sap_solver *solver = make(settings);
    sap_solution solution = scene_solution(&outputs);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    int32_t n = 0;
    const sap_iteration *history = sap_solver_history(solver, &n);
    CHECK_EQUAL(n, solution.total_iterations + solution.n_islands);
    for (int32_t i = 1; i < n; ++i) {
      if (history[i].island == history[i - 1].island) {
        const double fall = history[i - 1].cost - history[i].cost;
        CHECK(history[i].decrease > 0);
        CHECK(history[i].step > 0 && history[i].step <= settings.max_step);
        CHECK_CLOSE(fall, history[i].decrease, 1e-13 * fabs(history[i - 1].cost));
      }
    }
    sap_solver_destroy(solver);
  }
}

static void an_exact_guess_takes_no_iterations(void) {
  uint64_t seed = 36;
  scene_make(&scene, 10, 30, &seed);
  sap_settings settings = sap_settings_default();
  settings.relative_tolerance = 1e-12;
  sap_solver *solver = make(settings);
  sap_solution solution = scene_solution(&outputs);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  sap_solver_destroy(solver);
  settings.relative_tolerance = 1e-9;
  settings.max_iterations = 0;
  solver = make(settings);
  memcpy(others.v, outputs.v, sizeof others.v);
  REQUIRE(sap_solver_solve(solver, &scene.problem, others.v, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
  CHECK_EQUAL(solution.iterations, 0);
  CHECK_EQUAL(solution.symbolic_reused, 0);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_ITERATION_LIMIT);
  CHECK_EQUAL(solution.symbolic_reused, 1);
  sap_solver_destroy(solver);
}

static void impossible_tolerance_stalls(void) {
  uint64_t seed = 37;
  scene_make(&scene, 10, 30, &seed);
  sap_settings settings = sap_settings_default();
  settings.relative_tolerance = 0;
  settings.absolute_tolerance = 0;
  sap_solver *solver = make(settings);
  sap_solution solution = scene_solution(&outputs);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_STALLED);
  CHECK(solution.momentum_error < 1e-12);
  CHECK(solution.iterations < 50);
  sap_solver_destroy(solver);
}

static void overflow_is_an_outcome(void) {
  struct point_mass p;
  make_point_mass(&p, 1, 0.5);
  p.R_t[0] = p.R_n[0] = 1e-300;
  p.v_star[2] = -1e200;
  sap_settings settings = sap_settings_default();
  settings.soft_norm = 1e-9; /* proximal solves would find the impulses */
  sap_solver *solver = make(settings);
  sap_solution solution = scene_solution(&outputs);
  REQUIRE(sap_solver_solve(solver, &p.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_NON_FINITE);
  CHECK(isfinite(outputs.v[2]));
  sap_solver_destroy(solver);
}

static void physical_parameters_in_one_call_or_two(void) {
  uint64_t seed = 41;
  for (int delassus = 0; delassus < 2; ++delassus) {
    scene_make(&scene, 8, 15, &seed);
    double phi0[15], k[15], tau_d[15], out[3][15];
    for (int i = 0; i < 15; ++i) {
      phi0[i] = check_random(&seed, -1e-3, 1e-3);
      k[i] = pow(10, check_random(&seed, 2, 8));
      tau_d[i] = check_random(&seed, 0, 0.1);
    }
    sap_parameters p = scene_parameters(phi0, k, tau_d);
    p.delassus = (sap_delassus)delassus;
    REQUIRE(sap_regularize(&scene.problem, &p, scene.R_t, scene.R_n, scene.v_hat_n, NULL, NULL) ==
            SAP_OK);
    sap_solver *solver = make(sap_settings_default());
    sap_solution two = scene_solution(&others), one = scene_solution(&outputs);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &two, NULL) == SAP_OK);
    sap_problem bare = scene.problem;
    bare.R_t = bare.R_n = bare.v_hat_n = NULL;
    REQUIRE(sap_solver_solve_physical(solver, &bare, &p, out[0], out[1], out[2], NULL, &one,
                                      NULL) == SAP_OK);
    CHECK_ALL_CLOSE(out[0], scene.R_t, 15, 0);
    CHECK_ALL_CLOSE(out[1], scene.R_n, 15, 0);
    CHECK_ALL_CLOSE(out[2], scene.v_hat_n, 15, 0);
    CHECK_ALL_CLOSE(outputs.v, others.v, scene.sizes.nv, 0);
    k[7] = -1;
    sap_error error;
    CHECK_EQUAL(sap_solver_regularize(solver, &bare, &p, out[0], out[1], out[2], &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "k");
    CHECK_EQUAL(
        sap_solver_solve_physical(solver, &bare, &p, out[0], out[1], out[2], NULL, &one, &error),
        SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "k");
    CHECK_EQUAL(error.index, 7);
    sap_solver_destroy(solver);
  }
}

static void a_regularized_problem_has_the_gradient_of_one_with_given_numbers(void) {
  enum { MOST = SCENE_TREES * SCENE_MOST_NV };
  uint64_t seed = 43;
  for (int trial = 0; trial < 4; ++trial) {
    scene_make(&scene, SCENE_TREES, 10, &seed);
    double phi0[10], k[10], tau_d[10], out[3][10], v[MOST], of_both[2][MOST];
    for (int i = 0; i < 10; ++i) {
      phi0[i] = check_random(&seed, -1e-3, 1e-3);
      k[i] = pow(10, check_random(&seed, 2, 8));
      tau_d[i] = check_random(&seed, 0, 0.1);
    }
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      v[i] = check_random(&seed, -1, 1);
    }
    const sap_parameters p = scene_parameters(phi0, k, tau_d);
    REQUIRE(sap_regularize(&scene.problem, &p, scene.R_t, scene.R_n, scene.v_hat_n, NULL, NULL) ==
            SAP_OK);
    sap_solver *solver = make(sap_settings_default());
    REQUIRE(sap_solver_evaluate(solver, &scene.problem, v, NULL, of_both[0], NULL, NULL, NULL) ==
            SAP_OK);
    sap_problem bare = scene.problem;
    bare.R_t = out[0];
    bare.R_n = out[1];
    bare.v_hat_n = out[2];
    REQUIRE(sap_solver_regularize(solver, &bare, &p, out[0], out[1], out[2], NULL) == SAP_OK);
    CHECK_ALL_CLOSE(out[0], scene.R_t, 10, 0);
    CHECK_ALL_CLOSE(out[1], scene.R_n, 10, 0);
    CHECK_ALL_CLOSE(out[2], scene.v_hat_n, 10, 0);
    REQUIRE(sap_solver_gradient(solver, &bare, v, of_both[1], NULL) == SAP_OK);
    CHECK_ALL_CLOSE(of_both[1], of_both[0], scene.sizes.nv, 0);
    sap_solver_destroy(solver);
  }
}

static const check_test tests[] = {
    CHECK_TEST(a_resting_mass_sinks_as_section_ix_says),
    CHECK_TEST(coulomb_friction_of_a_sliding_mass),
    CHECK_TEST(no_contact_is_free_motion),
    CHECK_TEST(free_trees_are_not_read),
    CHECK_TEST(random_scenes_balance_momentum_whatever_the_method),
    CHECK_TEST(derivatives_match_differences),
    CHECK_TEST(the_newton_direction_solves_with_the_hessian),
    CHECK_TEST(costs_fall_and_the_history_tells),
    CHECK_TEST(an_exact_guess_takes_no_iterations),
    CHECK_TEST(impossible_tolerance_stalls),
    CHECK_TEST(overflow_is_an_outcome),
    CHECK_TEST(physical_parameters_in_one_call_or_two),
    CHECK_TEST(a_regularized_problem_has_the_gradient_of_one_with_given_numbers),
};
CHECK_FILE(test_solver, tests);
