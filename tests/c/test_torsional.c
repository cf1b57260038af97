/* Tests solutions of problems with torsional and rolling friction, beside contacts of three rows
 * and clamped rows, against the law in long double. */
#include "solver/solver_object.h"
#include "spin_scene.h"
#include "torsional.h"

enum { NV = SCENE_TREES * SCENE_MOST_NV };

/* ---- the problem, densely -------------------------------------------------------------------- */

/* Spreads three rows of contact i at J over all velocities. Returns what is behind them. */
static const double *spread(const double *J, int32_t i, double rows[3][NV]) {
  memset(rows, 0, 3 * sizeof *rows);
  const int32_t trees[2] = {scene.tree_a[i], scene.tree_b[i]};
  for (int s = 0; s < 2 && trees[s] >= 0; ++s) {
    const int32_t n = scene.tree_nv[trees[s]];
    for (int r = 0; r < 3; ++r, J += n) {
      memcpy(rows[r] + tree_first[trees[s]], J, (size_t)n * sizeof *J);
    }
  }
  return J;
}

struct dense {
  long double cost, gradient[NV], hessian[NV][NV];
  long double gamma[SCENE_CONTACTS][6], v_c[SCENE_CONTACTS][6];
  int smooth; /* is no contact next to the border of its region? */
};

static struct dense dense;

static struct exact_law law_of(int32_t i, int32_t k, const sap_solution *solution) {
  struct exact_law law = {
      .mu = scene.mu[i],
      .R_t = scene.R_t[i],
      .R_n = scene.R_n[i],
      .v_hat = {scene.v_hat_t[2 * i], scene.v_hat_t[2 * i + 1], scene.v_hat_n[i]},
      .cone = !solution};
  for (int r = 0; k >= 0 && r < 3; ++r) {
    law.mu_k[r] = spin_mu[3 * k + r];
  }
  law.b = solution ? law.mu * solution->gamma[3 * i + 2] : 0;
  return law;
}

/* Evaluates only contacts, with convex friction or with the bounds of a solution's normal
 * impulses. */
static void evaluate_contacts(const double *v, const sap_solution *solution) {
  static double rows[6][NV];
  const double *J = scene.J, *J_spin = spin_J;
  const int64_t nv = scene.sizes.nv;
  memset(&dense, 0, sizeof dense);
  dense.smooth = 1;
  for (int32_t i = 0, k = 0; i < scene.problem.n_contacts; ++i) {
    const int has_spin = k < spin.n && contact[k] == i;
    double v_c[6];
    J = spread(J, i, rows);
    memset(rows + 3, 0, 3 * sizeof *rows);
    J_spin = has_spin ? spread(J_spin, i, rows + 3) : J_spin;
    for (int r = 0; r < 6; ++r) {
      for (int64_t j = 0; j < nv; ++j) {
        dense.v_c[i][r] += (long double)rows[r][j] * v[j];
      }
      v_c[r] = (double)dense.v_c[i][r];
    }
    const struct exact_law law = law_of(i, has_spin ? k : -1, solution);
    const struct exact at = exact_evaluate(&law, v_c);
    k += has_spin;
    dense.smooth &= at.region != 0;
    dense.cost += at.cost;
    for (int r = 0; r < 6; ++r) {
      dense.gamma[i][r] = at.gamma[r];
      for (int64_t j = 0; j < nv; ++j) {
        dense.gradient[j] -= rows[r][j] * at.gamma[r];
        for (int64_t c = 0; rows[r][j] != 0 && c < nv; ++c) {
          for (int q = 0; q < 6; ++q) {
            dense.hessian[j][c] += rows[r][j] * at.G[r][q] * rows[q][c];
          }
        }
      }
    }
  }
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* The part of contacts in cost, gradient and Hessian is the total minus that without contacts. */
static void contacts_are_those_of_the_definition(void) {
  uint64_t seed = 81;
  static double v[NV], gradient[2][NV], hessian[2][NV * NV];
  int compared = 0;
  for (int trial = 0; trial < 12; ++trial) {
    make(2 + trial % 10, 6 + trial % 4, 1 + trial % 4, &seed);
    const int64_t nv = scene.sizes.nv;
    for (int64_t i = 0; i < nv; ++i) {
      v[i] = check_random(&seed, -1, 1);
    }
    sap_problem without = scene.problem;
    without.n_contacts = 0;
    without.spin = NULL;
    const sap_problem *const problems[] = {&scene.problem, &without};
    double cost[2];
    for (int p = 0; p < 2; ++p) {
      sap_solver *solver;
      REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
      REQUIRE(sap_solver_evaluate(solver, problems[p], v, &cost[p], gradient[p], hessian[p], NULL,
                                  NULL) == SAP_OK);
      sap_solver_destroy(solver);
    }
    evaluate_contacts(v, NULL);
    CHECK_CLOSE(cost[0] - cost[1], (double)dense.cost, 1e-12 * (cost[0] + fabs(cost[1])));
    for (int64_t i = 0; i < nv; ++i) {
      CHECK_CLOSE(gradient[0][i] - gradient[1][i], (double)dense.gradient[i],
                  1e-11 * (1 + hessian[0][i * nv + i]));
      for (int64_t j = 0; dense.smooth && j < nv; ++j) {
        const double size = sqrt(hessian[0][i * nv + i] * hessian[0][j * nv + j]);
        CHECK_CLOSE(hessian[0][i * nv + j] - hessian[1][i * nv + j], (double)dense.hessian[i][j],
                    1e-7 * size);
        ++compared;
      }
    }
  }
  CHECK(compared > 1000);
}

/* Returns |x|_A. */
static double energy_norm(const double *a, const double *b) {
  const double *A = scene.A;
  double sum = 0;
  for (int32_t t = 0; t < scene.problem.n_trees; ++t) {
    const int32_t n = scene.tree_nv[t], s = tree_first[t];
    for (int32_t i = 0; i < n; ++i, A += n) {
      for (int32_t j = 0; j < n; ++j) {
        sum += (a[s + i] - b[s + i]) * A[j] * (a[s + j] - b[s + j]);
      }
    }
  }
  return sqrt(sum);
}

static void check_impulses(const struct outputs *o, const sap_solution *bounds) {
  evaluate_contacts(o->common.v, bounds);
  for (int32_t i = 0, k = 0; i < scene.problem.n_contacts; ++i) {
    const int has_spin = k < spin.n && contact[k] == i;
    double size = 0, speed = 1;
    for (int r = 0; r < 6; ++r) {
      size += fabs((double)dense.gamma[i][r]);
      speed += fabs((double)dense.v_c[i][r]);
    }
    for (int r = 0; r < 3; ++r) {
      CHECK_CLOSE(o->common.v_c[3 * i + r], (double)dense.v_c[i][r], 1e-12 * speed);
      CHECK_CLOSE(o->common.gamma[3 * i + r], (double)dense.gamma[i][r], 1e-8 * (1 + size));
    }
    for (int r = 0; has_spin && r < 3; ++r) {
      CHECK_CLOSE(o->spin_v_c[3 * k + r], (double)dense.v_c[i][3 + r], 1e-12 * speed);
      CHECK_CLOSE(o->spin_gamma[3 * k + r], (double)dense.gamma[i][3 + r], 1e-8 * (1 + size));
      CHECK(spin_mu[3 * k + r] > 0 || o->spin_gamma[3 * k + r] == 0);
    }
    k += has_spin;
  }
}

static void solutions_are_minima_within_their_bounds(void) {
  uint64_t seed = 83;
  for (int trial = 0; trial < 30; ++trial) {
    make(2 + trial % 11, 4 + trial % 20, 1 + trial % 4, &seed);
    sap_settings settings = sap_settings_default();
    settings.islands = trial % 2;
    const sap_solution solution = solve_with(&settings, &first);
    settings.relative_tolerance = 1e-11;
    const sap_solution exact = solve_with(&settings, &second);
    CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
    CHECK_EQUAL(exact.outcome, SAP_CONVERGED);
    const double bound = solution.velocity_error_bound + exact.velocity_error_bound;
    static const double zero[NV];
    CHECK(energy_norm(first.common.v, second.common.v) <= bound);
    CHECK(bound < 1e-3 * energy_norm(second.common.v, zero));
    CHECK(solution.complementarity_error < 1e-10);
    check_impulses(&first, NULL);
  }
}

static void friction_obeys_its_law(void) {
  uint64_t seed = 84;
  int solved = 0;
  for (int trial = 0; trial < 30; ++trial) {
    make(2 + trial % 11, 4 + trial % 20, 1 + trial % 4, &seed);
    sap_settings settings = sap_settings_default();
    settings.friction = SAP_FRICTION_COULOMB;
    settings.relative_tolerance = 1e-9;
    const sap_solution solution = solve_with(&settings, &first);
    CHECK(solution.outcome == SAP_CONVERGED || solution.outcome == SAP_FRICTION_LIMIT);
    if (solution.outcome == SAP_CONVERGED) {
      ++solved;
      CHECK(solution.coulomb_error <= 1e-9);
      check_impulses(&first, &solution);
    }
    /* with these bounds held the same velocity is a minimum */
    double b[SCENE_CONTACTS];
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      b[i] = scene.mu[i] * first.common.gamma[3 * i + 2];
    }
    scene.problem.friction_bound = b;
    settings.friction = SAP_FRICTION_LAGGED;
    const sap_solution lagged = solve_with(&settings, &second);
    scene.problem.friction_bound = NULL;
    CHECK_EQUAL(lagged.outcome, SAP_CONVERGED);
    if (solution.outcome == SAP_CONVERGED) {
      CHECK(energy_norm(first.common.v, second.common.v) <=
            solution.velocity_error_bound + lagged.velocity_error_bound);
      CHECK(lagged.coulomb_error < 1e-5);
    }
  }
  CHECK(solved >= 28);
}

/* Velocities that angular rows alone move are not eliminated: the last three of each wide tree, of
 * which the last but one moves nothing. */
static void angular_rows_move_their_velocities(void) {
  uint64_t seed = 92;
  int fewer = 0;
  for (int trial = 0; trial < 10; ++trial) {
    make(2 + trial, 6 + trial, 0, &seed);
    double *const rows[2] = {scene.J, spin_J};
    for (int is_spin = 0; is_spin < 2; ++is_spin) {
      double *J = rows[is_spin];
      for (int32_t k = 0; k < (is_spin ? spin.n : scene.problem.n_contacts); ++k) {
        const int32_t i = is_spin ? contact[k] : k;
        const int32_t trees[2] = {scene.tree_a[i], scene.tree_b[i]};
        for (int s = 0; s < 2 && trees[s] >= 0; ++s) {
          const int32_t n = scene.tree_nv[trees[s]];
          for (int32_t j = 0; j < 3 * n; ++j, ++J) {
            const int32_t left = n - j % n;
            *J *= n > 6 && (left == 2 || left == 4 || (!is_spin && left <= 3)) ? 0 : 1;
          }
        }
      }
    }
    sap_settings settings = sap_settings_default();
    settings.relative_tolerance = 1e-11;
    const sap_solution reduced = solve_with(&settings, &first);
    sap_solver *solver = NULL;
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    sap_solution again = solution_in(&second);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &again, NULL) == SAP_OK);
    fewer += solver->plan.reduction.tree != NULL;
    sap_solver_destroy(solver);
    settings.islands = 0;
    const sap_solution whole = solve_with(&settings, &second);
    CHECK(energy_norm(first.common.v, second.common.v) <=
          reduced.velocity_error_bound + whole.velocity_error_bound);
    check_impulses(&first, NULL);
  }
  CHECK(fewer > 3);
}

static const check_test tests[] = {
    CHECK_TEST(contacts_are_those_of_the_definition),
    CHECK_TEST(solutions_are_minima_within_their_bounds),
    CHECK_TEST(friction_obeys_its_law),
    CHECK_TEST(angular_rows_move_their_velocities),
};
CHECK_FILE(test_torsional, tests);
