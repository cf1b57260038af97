/* Solutions of problems with torsional and rolling friction, beside contacts of three rows and
 * clamped rows: against the law in long double, and what must not change them. */
#include "counter.h"
#include "groups.h"
#include "sap/solver.h"
#include "wide.h"

enum { NV = SCENE_TREES * SCENE_MOST_NV };

struct outputs {
  struct scene_outputs common;
  double spin_gamma[3 * SCENE_CONTACTS], spin_v_c[3 * SCENE_CONTACTS];
  double group_gamma[MOST_ROWS * GROUPS], group_v_c[MOST_ROWS * GROUPS];
};

static sap_spin spin;
static int32_t contact[SCENE_CONTACTS], tree_first[SCENE_TREES];
static double spin_J[SCENE_CONTACTS * 6 * SCENE_MOST_NV], spin_mu[3 * SCENE_CONTACTS];
static struct outputs first, second;

static int32_t width_of(int32_t i) {
  return scene.tree_nv[scene.tree_a[i]] +
         (scene.tree_b[i] < 0 ? 0 : scene.tree_nv[scene.tree_b[i]]);
}

/* two contacts of three have it, now and then about no axis or one alone */
static void add_spin(uint64_t *seed) {
  double *J = spin_J;
  spin = (sap_spin){0, contact, spin_J, spin_mu};
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    scene.mu[i] = fmax(scene.mu[i], 0.1);
    if (check_random(seed, 0, 1) < 0.33) {
      continue;
    }
    for (int k = 0; k < 3; ++k) {
      spin_mu[3 * spin.n + k] = fmax(0, check_random(seed, -0.1, 0.4));
    }
    for (int32_t j = 0; j < 3 * width_of(i); ++j) {
      *J++ = check_random(seed, -1, 1);
    }
    contact[spin.n++] = i;
  }
  scene.problem.spin = &spin;
}

static void make(int32_t n_trees, int32_t n_contacts, int32_t n, uint64_t *seed) {
  make_groups(n_trees, n_contacts, n, seed);
  add_spin(seed);
  REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
  for (int32_t t = 0, s = 0; t < n_trees; s += scene.tree_nv[t], ++t) {
    tree_first[t] = s;
  }
}

static sap_solution solution_in(struct outputs *o) {
  memset(o, 0, sizeof *o);
  sap_solution solution = scene_solution(&o->common);
  solution.spin_gamma = o->spin_gamma;
  solution.spin_v_c = o->spin_v_c;
  solution.group_gamma = o->group_gamma;
  solution.group_v_c = o->group_v_c;
  return solution;
}

static sap_solution solve_with(const sap_settings *settings, struct outputs *o) {
  sap_solution solution = solution_in(o);
  sap_solver *solver = NULL;
  CHECK(sap_solver_create(&solver, settings, NULL, NULL) == SAP_OK);
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL), SAP_OK);
  sap_solver_destroy(solver);
  return solution;
}

/* ---- the problem, densely -------------------------------------------------------------------- */

/* three rows of contact i at J, in all velocities; returns what is behind them */
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

/* contacts alone, with convex friction or with the bounds that a solution's normal impulses give */
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

/* what contacts bring to cost, gradient and Hessian: all there is minus that without them */
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

/* |x|_A */
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

/* contacts without any length are contacts of three rows */
static void without_lengths_nothing_changes(void) {
  uint64_t seed = 85;
  for (int trial = 0; trial < 24; ++trial) {
    make(2 + trial % 11, 4 + trial % 20, 1 + trial % 4, &seed);
    memset(spin_mu, 0, sizeof spin_mu);
    sap_settings settings = sap_settings_default();
    settings.friction = (sap_friction)(trial % 3);
    settings.start = SAP_START_NEWTON; /* the steps in impulses are for contacts of three rows */
    const sap_solution with = solve_with(&settings, &first);
    scene.problem.spin = NULL;
    const sap_solution without = solve_with(&settings, &second);
    CHECK_EQUAL(with.outcome, without.outcome);
    if (with.outcome == SAP_CONVERGED) {
      CHECK_EQUAL(with.total_iterations, without.total_iterations);
      CHECK_ALL_CLOSE(first.common.v, second.common.v, scene.sizes.nv, 1e-9);
      CHECK_ALL_CLOSE(first.common.gamma, second.common.gamma, 3 * scene.problem.n_contacts, 1e-6);
    }
    for (int32_t k = 0; k < 3 * spin.n; ++k) {
      CHECK(first.spin_gamma[k] == 0);
    }
  }
}

/* the contacts in another order, with all that is theirs */
static void reverse_contacts(void) {
  const int32_t n = scene.problem.n_contacts;
  static struct scene old;
  static double old_J[sizeof spin_J / sizeof *spin_J], old_mu[3 * SCENE_CONTACTS];
  int32_t old_contact[SCENE_CONTACTS];
  old = scene;
  memcpy(old_J, spin_J, sizeof spin_J);
  memcpy(old_mu, spin_mu, sizeof spin_mu);
  memcpy(old_contact, contact, sizeof contact);
  const double *J = old.J;
  double *to = scene.J + scene.sizes.nJ;
  for (int32_t i = 0; i < n; ++i) {
    const int32_t entries = 3 * width_of(i);
    to -= entries;
    memcpy(to, J, (size_t)entries * sizeof *to);
    J += entries;
  }
  J = old_J;
  to = spin_J + scene.sizes.nJ_spin;
  for (int32_t k = 0; k < spin.n; ++k) {
    const int32_t entries = 3 * width_of(old_contact[k]), other = spin.n - 1 - k;
    to -= entries;
    memcpy(to, J, (size_t)entries * sizeof *to);
    J += entries;
    contact[other] = n - 1 - old_contact[k];
    memcpy(spin_mu + 3 * other, old_mu + 3 * k, 3 * sizeof *spin_mu);
  }
  for (int32_t i = 0; i < n; ++i) {
    const int32_t j = n - 1 - i;
    scene.tree_a[j] = old.tree_a[i];
    scene.tree_b[j] = old.tree_b[i];
    scene.mu[j] = old.mu[i];
    scene.R_t[j] = old.R_t[i];
    scene.R_n[j] = old.R_n[i];
    scene.v_hat_n[j] = old.v_hat_n[i];
    memcpy(scene.v_hat_t + 2 * j, old.v_hat_t + 2 * i, 2 * sizeof(double));
  }
}

static void order_of_contacts_does_not_matter(void) {
  uint64_t seed = 86;
  for (int trial = 0; trial < 10; ++trial) {
    make(2 + trial, 5 + 2 * trial, 2, &seed);
    sap_settings settings = sap_settings_default();
    settings.relative_tolerance = 1e-10;
    solve_with(&settings, &first);
    reverse_contacts();
    solve_with(&settings, &second);
    CHECK_ALL_CLOSE(first.common.v, second.common.v, scene.sizes.nv, 1e-7);
    for (int32_t k = 0; k < spin.n; ++k) {
      CHECK_ALL_CLOSE(first.spin_gamma + 3 * k, second.spin_gamma + 3 * (spin.n - 1 - k), 3, 1e-4);
      CHECK_ALL_CLOSE(first.spin_v_c + 3 * k, second.spin_v_c + 3 * (spin.n - 1 - k), 3, 1e-6);
    }
  }
}

/* masses four times as large, and angles counted in half radians: bit for bit */
static void units_do_not_matter(void) {
  uint64_t seed = 87;
  for (int trial = 0; trial < 12; ++trial) {
    make(2 + trial % 11, 4 + trial, 0, &seed);
    sap_settings settings = sap_settings_default();
    settings.friction = (sap_friction)(trial % 3);
    solve_with(&settings, &first);
    for (size_t i = 0; i < sizeof scene.A / sizeof *scene.A; ++i) {
      scene.A[i] *= 4;
    }
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      scene.R_t[i] /= 4;
      scene.R_n[i] /= 4;
    }
    for (int64_t i = 0; i < scene.sizes.nJ_spin; ++i) {
      spin_J[i] *= 2;
    }
    for (int32_t k = 0; k < 3 * spin.n; ++k) {
      spin_mu[k] /= 2;
    }
    solve_with(&settings, &second);
    CHECK(memcmp(first.common.v, second.common.v, sizeof first.common.v) == 0);
    for (int32_t i = 0; i < 3 * scene.problem.n_contacts; ++i) {
      CHECK(second.common.gamma[i] == 4 * first.common.gamma[i]);
    }
    for (int32_t k = 0; k < 3 * spin.n; ++k) {
      CHECK(second.spin_gamma[k] == 2 * first.spin_gamma[k]);
      CHECK(second.spin_v_c[k] == 2 * first.spin_v_c[k]);
    }
  }
}

/* velocities that the angular rows of a contact alone move are not eliminated: the last three of
 * each tree that is wide, of which the last but one moves nothing */
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

/* with physical parameters in one call, and in two */
static void physical_parameters_are_those_of_contacts(void) {
  uint64_t seed = 93;
  make(12, 20, 0, &seed);
  double phi0[SCENE_CONTACTS], k[SCENE_CONTACTS], tau_d[SCENE_CONTACTS];
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    phi0[i] = check_random(&seed, -1e-3, 1e-3);
    k[i] = 1e4;
    tau_d[i] = 0.01;
  }
  const sap_parameters parameters = {
      .dt = 0.01, .sigma = 1e-3, .beta = 1, .phi0 = phi0, .k = k, .tau_d = tau_d};
  REQUIRE(sap_regularize(&scene.problem, &parameters, scene.R_t, scene.R_n, scene.v_hat_n, NULL,
                         NULL) == SAP_OK);
  const sap_solution parts = solve_with(NULL, &first);
  CHECK_EQUAL(parts.outcome, SAP_CONVERGED);
  memset(scene.R_t, 0, sizeof scene.R_t);
  sap_solver *solver = NULL;
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  sap_solution solution = solution_in(&second);
  CHECK_EQUAL(sap_solver_solve_physical(solver, &scene.problem, &parameters, scene.R_t, scene.R_n,
                                        scene.v_hat_n, NULL, &solution, NULL),
              SAP_OK);
  CHECK(memcmp(&first, &second, sizeof first) == 0);
  sap_solver_destroy(solver);
}

/* one solver for problems that differ in which contacts have spin alone */
static void graphs_are_kept_while_the_same_contacts_have_spin(void) {
  uint64_t seed = 89;
  struct counter counter = {0, 0, -1};
  const sap_allocator allocator = {counting_allocate, counting_release, &counter};
  sap_solver *solver = NULL;
  REQUIRE(sap_solver_create(&solver, NULL, &allocator, NULL) == SAP_OK);
  make(12, 24, 2, &seed);
  const int32_t n = spin.n;
  for (int round = 0; round < 5; ++round) {
    const sap_solution alone = solve_with(NULL, &second);
    for (int repeat = 0; repeat < 2; ++repeat) {
      sap_solution solution = solution_in(&first);
      const long before = counter.allocations;
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      CHECK_EQUAL(solution.symbolic_reused, repeat == 1 || round == 3);
      CHECK(repeat == 0 || counter.allocations == before);
      CHECK(memcmp(&first, &second, sizeof first) == 0);
      CHECK_EQUAL(solution.total_iterations, alone.total_iterations);
    }
    /* all, all but the last, none given, none of them, and again */
    spin.n = round == 0 ? n - 1 : round == 2 ? 0 : n;
    scene.problem.spin = round == 1 ? NULL : &spin;
  }
  sap_solver_destroy(solver);
  CHECK_EQUAL(counter.live, 0);
}

static void every_failed_allocation_is_a_clean_error(void) {
  uint64_t seed = 90;
  make(12, 24, 2, &seed);
  long fail_at = 0;
  for (sap_status status = SAP_OUT_OF_MEMORY; status != SAP_OK; ++fail_at) {
    struct counter counter = {0, 0, fail_at};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    sap_solution solution = solution_in(&first);
    sap_solver *solver = NULL;
    status = sap_solver_create(&solver, NULL, &allocator, NULL);
    if (status == SAP_OK) {
      status = sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL);
    }
    if (solver && status == SAP_OUT_OF_MEMORY) {
      counter.fail_at = -1;
      CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL), SAP_OK);
      CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
    }
    CHECK(status == SAP_OK || status == SAP_OUT_OF_MEMORY);
    sap_solver_destroy(solver);
    CHECK_EQUAL(counter.live, 0);
  }
  CHECK(fail_at > 5);
}

static void bad_input_is_named(void) {
  uint64_t seed = 91;
  sap_solver *solver = NULL;
  sap_error error;
  static int8_t barrier[SCENE_CONTACTS];
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
#define CHECK_REFUSED(change, name, at)                                                 \
  do {                                                                                  \
    make(4, 8, 0, &seed);                                                               \
    spin.n = 3;                                                                         \
    contact[0] = 1;                                                                     \
    contact[1] = 4;                                                                     \
    contact[2] = 6;                                                                     \
    change;                                                                             \
    sap_solution solution = solution_in(&first);                                        \
    CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, &error),      \
                SAP_INVALID_ARGUMENT);                                                  \
    CHECK_STRING(error.argument, name);                                                 \
    CHECK_EQUAL(error.index, at);                                                       \
    CHECK(error.rule != NULL);                                                          \
    CHECK(first.common.v[0] == 0);                                                      \
    CHECK_EQUAL(sap_problem_check(&scene.problem, NULL, &error), SAP_INVALID_ARGUMENT); \
    CHECK_STRING(error.argument, name);                                                 \
    CHECK_EQUAL(error.index, at);                                                       \
  } while (0)
  CHECK_REFUSED(spin.n = -1, "spin_contact", -1);
  CHECK_REFUSED(spin.n = 9, "spin_contact", -1);
  CHECK_REFUSED(spin.contact = NULL, "spin_contact", -1);
  CHECK_REFUSED(contact[0] = -1, "spin_contact", 0);
  CHECK_REFUSED(contact[2] = 8, "spin_contact", 2);
  CHECK_REFUSED(contact[1] = 1, "spin_contact", 1);
  CHECK_REFUSED(contact[2] = 2, "spin_contact", 2);
  CHECK_REFUSED(spin.J = NULL, "spin_J", -1);
  CHECK_REFUSED(spin.mu = NULL, "spin_mu", -1);
  CHECK_REFUSED(spin_J[5] = NAN, "spin_J", 5);
  CHECK_REFUSED(spin_J[scene.sizes.nJ_spin - 1] = 0; spin_J[7] = INFINITY, "spin_J", 7);
  CHECK_REFUSED(spin_mu[4] = -1e-9, "spin_mu", 4);
  CHECK_REFUSED(spin_mu[8] = NAN, "spin_mu", 8);
  CHECK_REFUSED(spin_mu[8] = INFINITY, "spin_mu", 8);
  CHECK_REFUSED(spin_mu[8] = 1e160, "spin_mu", 8);
  CHECK_REFUSED(scene.mu[4] = 0, "mu", 4);
  CHECK_REFUSED(scene.mu[6] = NAN, "mu", 6);
  CHECK_REFUSED(memset(barrier, 0, sizeof barrier); barrier[6] = SAP_BARRIER_LOG;
                scene.problem.barrier = barrier; scene.problem.kappa = scene.R_n, "barrier", 6);
#undef CHECK_REFUSED
  /* and the solver still works */
  make(4, 8, 0, &seed);
  sap_solution solution = solution_in(&first);
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, &error), SAP_OK);
  CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
  sap_solver_destroy(solver);
}

int main(int argc, char **argv) {
  const check_test tests[] = {
      CHECK_TEST(contacts_are_those_of_the_definition),
      CHECK_TEST(solutions_are_minima_within_their_bounds),
      CHECK_TEST(friction_obeys_its_law),
      CHECK_TEST(without_lengths_nothing_changes),
      CHECK_TEST(order_of_contacts_does_not_matter),
      CHECK_TEST(units_do_not_matter),
      CHECK_TEST(angular_rows_move_their_velocities),
      CHECK_TEST(physical_parameters_are_those_of_contacts),
      CHECK_TEST(graphs_are_kept_while_the_same_contacts_have_spin),
      CHECK_TEST(every_failed_allocation_is_a_clean_error),
      CHECK_TEST(bad_input_is_named),
  };
  return check_run(tests, CHECK_COUNT(tests), argc, argv);
}
