/* Tests problems with torsional and rolling friction: invariance of solutions, physical parameters,
 * memory and bad input. */
#include "counter.h"
#include "spin_scene.h"

/* Contacts without any length are contacts of three rows. With Coulomb's friction only those can be
 * in dispute, so that solutions agree and the ways to them differ. */
static void without_lengths_nothing_changes(void) {
  uint64_t seed = 85;
  for (int trial = 0; trial < 24; ++trial) {
    make(2 + trial % 11, 4 + trial % 20, 1 + trial % 4, &seed);
    memset(spin_mu, 0, sizeof spin_mu);
    sap_settings settings = sap_settings_default();
    settings.friction = (sap_friction)(trial % 3);
    const int is_convex = settings.friction == SAP_FRICTION_CONVEX;
    double bounds[SCENE_CONTACTS];
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      bounds[i] = 0.1 * scene.mu[i]; /* lagged friction takes no rough solution */
    }
    scene.problem.friction_bound = bounds;
    settings.relative_tolerance = is_convex ? settings.relative_tolerance : 1e-11;
    settings.start = SAP_START_NEWTON; /* the steps in impulses are for contacts of three rows */
    const sap_solution with = solve_with(&settings, &first);
    scene.problem.spin = NULL;
    const sap_solution without = solve_with(&settings, &second);
    CHECK_EQUAL(with.outcome, without.outcome);
    if (with.outcome == SAP_CONVERGED) {
      CHECK(!is_convex || with.total_iterations == without.total_iterations);
      CHECK_ALL_CLOSE(first.common.v, second.common.v, scene.sizes.nv, 1e-9);
      CHECK_ALL_CLOSE(first.common.gamma, second.common.gamma, 3 * scene.problem.n_contacts, 1e-6);
    }
    for (int32_t k = 0; k < 3 * spin.n; ++k) {
      CHECK(first.spin_gamma[k] == 0);
    }
  }
}

/* Reverses the order of the contacts, with all their data. */
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

/* Masses four times as large, and angles in half radians, give the same bits. */
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

/* Physical parameters act alike in one call and in two. */
static void physical_parameters_are_those_of_contacts(void) {
  uint64_t seed = 93;
  make(12, 20, 0, &seed);
  double phi0[SCENE_CONTACTS], k[SCENE_CONTACTS], tau_d[SCENE_CONTACTS];
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    phi0[i] = check_random(&seed, -1e-3, 1e-3);
    k[i] = 1e4;
    tau_d[i] = 0.01;
  }
  const sap_parameters parameters = scene_parameters(phi0, k, tau_d);
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

/* One solver serves problems that differ in which contacts have spin alone. */
static void graphs_are_kept_while_the_same_contacts_have_spin(void) {
  uint64_t seed = 89;
  struct counter counter = {0, 0, -1};
  const sap_allocator allocator = {counting_allocate, counting_release, &counter};
  sap_solver *solver = NULL;
  REQUIRE(sap_solver_create(&solver, NULL, &allocator, NULL) == SAP_OK);
  make(12, 24, 2, &seed);
  const int32_t n = spin.n;
  for (int round = 0; round < 5; ++round) {
    const sap_solution dense = solve_with(NULL, &second);
    for (int repeat = 0; repeat < 2; ++repeat) {
      sap_solution solution = solution_in(&first);
      const long before = counter.allocations;
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      CHECK_EQUAL(solution.symbolic_reused, repeat == 1 || round == 3);
      CHECK(repeat == 0 || counter.allocations == before);
      CHECK(memcmp(&first, &second, sizeof first) == 0);
      CHECK_EQUAL(solution.total_iterations, dense.total_iterations);
    }
    /* all, all but the last, none given, none of them, and again */
    spin.n = round == 0 ? n - 1 : round == 2 ? 0 : n;
    scene.problem.spin = round == 1 ? NULL : &spin;
  }
  sap_solver_destroy(solver);
  CHECK_EQUAL(counter.live, 0);
}

static sap_status solve_once(const sap_allocator *allocator, struct counter *counter) {
  (void)counter;
  sap_solution solution = solution_in(&first);
  sap_solver *solver = NULL;
  sap_status status = sap_solver_create(&solver, NULL, allocator, NULL);
  if (status == SAP_OK) {
    status = sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL);
    if (status == SAP_OUT_OF_MEMORY) {
      CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL), SAP_OK);
      CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
    }
  }
  sap_solver_destroy(solver);
  return status;
}

static void every_failed_allocation_is_a_clean_error(void) {
  uint64_t seed = 90;
  make(12, 24, 2, &seed);
  CHECK(fail_allocations(solve_once) > 4);
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

static const check_test tests[] = {
    CHECK_TEST(without_lengths_nothing_changes),
    CHECK_TEST(order_of_contacts_does_not_matter),
    CHECK_TEST(units_do_not_matter),
    CHECK_TEST(physical_parameters_are_those_of_contacts),
    CHECK_TEST(graphs_are_kept_while_the_same_contacts_have_spin),
    CHECK_TEST(every_failed_allocation_is_a_clean_error),
    CHECK_TEST(bad_input_is_named),
};
CHECK_FILE(test_spin_problems, tests);
