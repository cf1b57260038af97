/* Tests whole solves with Coulomb's friction. Solutions obey the law, by formulas that share no
 * code with the solver, and do not depend on the settings. Failures are reported. */
#include <stdlib.h>

#include "friction.h"
#include "solver/solver_object.h"

enum { SCENES = 40 };

static struct scene_outputs outputs, others;
static struct friction_balance at;

static sap_settings coulomb(double tolerance) {
  sap_settings settings = sap_settings_default();
  settings.friction = SAP_FRICTION_COULOMB;
  settings.relative_tolerance = tolerance;
  return settings;
}

/* Makes the scene of this number, with some islands and trees in none; every other one has
 * groups. */
static void make(int32_t number) {
  uint64_t seed = 1000 + (uint64_t)number;
  friction_make(4 + number % 17, 3 + number % 29, number % 2 ? 1 + number % 4 : 0, &seed);
}

/* Makes the scene stiff, with large mu: it takes many iterations, or has no solution. */
static void stiffen(void) {
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    scene.mu[i] *= 4;
    scene.R_t[i] *= 1e-3;
    scene.R_n[i] *= 1e-4;
  }
}

/* Solves once with a new solver. */
static sap_status solve(const sap_settings *settings, const double *v_guess,
                        struct scene_outputs *o, sap_solution *solution) {
  sap_solver *solver = NULL;
  *solution = scene_solution(o);
  sap_status status = sap_solver_create(&solver, settings, NULL, NULL);
  if (CHECK_EQUAL(status, SAP_OK)) {
    status = sap_solver_solve(solver, &scene.problem, v_guess, solution, NULL);
  }
  sap_solver_destroy(solver);
  return status;
}

/* ---- what is found --------------------------------------------------------------------------- */

/* Checks the normal law, the cone, and that slip v_t - v_hat_t + R_t gamma_t is opposite to
 * friction of the largest size, else 0. */
static void check_contact(int32_t i, int32_t *slides) {
  const double *gamma = outputs.gamma + 3 * (int64_t)i;
  const long double *v_c = at.v_c + 3 * (int64_t)i;
  const double size = hypot(gamma[0], gamma[1]), most = scene.mu[i] * gamma[2];
  const long double gap = scene.R_n[i] * gamma[2] + v_c[2] - scene.v_hat_n[i];
  CHECK(gamma[2] >= 0);
  CHECK(gap >= -1e-12L && gap * gamma[2] <= 1e-12L * (1 + gamma[2]));
  CHECK(size <= (1 + 1e-14) * most);
  const long double slip[2] = {v_c[0] - scene.v_hat_t[2 * i] + scene.R_t[i] * gamma[0],
                               v_c[1] - scene.v_hat_t[2 * i + 1] + scene.R_t[i] * gamma[1]};
  const long double speed = hypotl(slip[0], slip[1]);
  CHECK(fabsl(slip[0] * gamma[0] + slip[1] * gamma[1] + speed * size) <= 1e-11L * (1 + size));
  CHECK(speed <= 1e-12L || size >= (1 - 1e-12) * most);
  *slides += speed > 1e-6L && size > 1e-6;
}

static void solutions_obey_coulombs_law(void) {
  int32_t tried = 0, slides = 0, islands = 0, reduced = 0;
  for (int32_t number = 0; number < SCENES; ++number) {
    make(number);
    sap_settings settings = coulomb(1e-10);
    settings.islands = number % 3 > 0;
    sap_solver *solver = NULL;
    sap_solution solution = scene_solution(&outputs);
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
    friction_evaluate(&at, outputs.v, NULL);
    CHECK(at.error <= 1.01e-10L);
    CHECK_CLOSE(solution.coulomb_error, (double)at.error, 1e-13);
    CHECK(solution.momentum_error == solution.coulomb_error);
    CHECK_CLOSE(solution.cost, (double)at.cost, 1e-12 * (double)at.cost);
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      check_contact(i, &slides);
    }
    ++tried;
    islands += solution.n_islands > 1;
    reduced += solver->plan.reduction.tree != NULL;
    sap_solver_destroy(solver);
  }
  CHECK(3 * slides > 5 * tried && 12 * islands > tried && 12 * reduced > tried);
}

/* Without friction all laws agree. */
static void without_friction_it_is_the_convex_solution(void) {
  sap_solution solution;
  for (int32_t number = 0; number < 8; ++number) {
    make(number);
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      scene.mu[i] = 0;
    }
    sap_settings settings = coulomb(1e-12);
    REQUIRE(solve(&settings, NULL, &outputs, &solution) == SAP_OK);
    CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
    settings.friction = SAP_FRICTION_CONVEX;
    REQUIRE(solve(&settings, NULL, &others, &solution) == SAP_OK);
    CHECK(isnan(solution.coulomb_error));
    CHECK(friction_distance(outputs.v, others.v) <= 1e-10);
  }
}

/* The velocity v minimises the convex cost with its final bounds, up to the proved error. */
static void the_certificate_is_of_the_bounds_it_ended_with(void) {
  static double bound[SCENE_CONTACTS];
  sap_solution solution, held;
  double largest = 0;
  for (int32_t number = 0; number < SCENES; ++number) {
    make(number);
    sap_settings settings = coulomb(number % 4 ? 1e-2 : 1e-8);
    REQUIRE(solve(&settings, NULL, &outputs, &solution) == SAP_OK);
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      bound[i] = scene.mu[i] * outputs.gamma[3 * i + 2];
    }
    scene.problem.friction_bound = bound;
    settings = coulomb(1e-14);
    settings.friction = SAP_FRICTION_LAGGED;
    REQUIRE(solve(&settings, outputs.v, &others, &held) == SAP_OK);
    const double distance = friction_distance(outputs.v, others.v);
    CHECK(distance <= solution.velocity_error_bound + held.velocity_error_bound);
    CHECK(2 * solution.cost_gap_bound >= (1 - 1e-12) * distance * distance);
    largest = fmax(largest, distance / solution.velocity_error_bound);
  }
  CHECK(largest > 0.1); /* and not by much more */
}

/* ---- however it is asked for ----------------------------------------------------------------- */

static void order_does_not_matter(void) {
  static double v[FRICTION_NV];
  sap_solution solution;
  const sap_settings settings = coulomb(1e-13);
  for (int32_t number = 0; number < SCENES; number += 2) { /* scenes without groups */
    make(number);
    REQUIRE(solve(&settings, NULL, &outputs, &solution) == SAP_OK);
    memcpy(v, outputs.v, sizeof v);
    /* contacts from the last to the first */
    static struct scene reversed;
    const int32_t n = scene.problem.n_contacts;
    double *J = reversed.J;
    for (int32_t i = 0; i < n; ++i) {
      const int32_t from = n - 1 - i;
      int64_t first = 0, size = 0;
      for (int32_t k = 0; k <= from; ++k) {
        const int32_t b = scene.tree_b[k];
        first += size;
        size = 3 * (scene.tree_nv[scene.tree_a[k]] + (b < 0 ? 0 : scene.tree_nv[b]));
      }
      memcpy(J, scene.J + first, (size_t)size * sizeof *J);
      J += size;
      reversed.tree_a[i] = scene.tree_a[from];
      reversed.tree_b[i] = scene.tree_b[from];
      reversed.mu[i] = scene.mu[from];
      reversed.R_t[i] = scene.R_t[from];
      reversed.R_n[i] = scene.R_n[from];
      reversed.v_hat_n[i] = scene.v_hat_n[from];
      memcpy(reversed.v_hat_t + 2 * i, scene.v_hat_t + 2 * from, 2 * sizeof(double));
    }
    sap_problem problem = scene.problem;
    problem.tree_a = reversed.tree_a;
    problem.tree_b = reversed.tree_b;
    problem.J = reversed.J;
    problem.mu = reversed.mu;
    problem.R_t = reversed.R_t;
    problem.R_n = reversed.R_n;
    problem.v_hat_n = reversed.v_hat_n;
    problem.v_hat_t = reversed.v_hat_t;
    const sap_problem given = scene.problem;
    scene.problem = problem;
    REQUIRE(solve(&settings, NULL, &others, &solution) == SAP_OK);
    scene.problem = given;
    CHECK(friction_distance(v, others.v) <= 1e-9);
  }
}

static void multiply(double *x, size_t n, double factor) {
  for (size_t i = 0; i < n; ++i) {
    x[i] *= factor;
  }
}

/* Masses and speeds in other units, powers of four, give the same bits. */
static void units_do_not_matter(void) {
  const double mass = 0x1p20, speed = 0x1p-14;
  sap_solution solution, scaled;
  sap_settings settings = coulomb(1e-8);
  settings.absolute_tolerance = 0;
  for (int32_t number = 0; number < SCENES; number += 2) {
    make(number);
    REQUIRE(solve(&settings, NULL, &outputs, &solution) == SAP_OK);
    multiply(scene.A, CHECK_COUNT(scene.A), mass);
    multiply(scene.R_t, SCENE_CONTACTS, 1 / mass);
    multiply(scene.R_n, SCENE_CONTACTS, 1 / mass);
    multiply(scene.v_star, CHECK_COUNT(scene.v_star), speed);
    multiply(scene.v_hat_n, SCENE_CONTACTS, speed);
    multiply(scene.v_hat_t, CHECK_COUNT(scene.v_hat_t), speed);
    REQUIRE(solve(&settings, NULL, &others, &scaled) == SAP_OK);
    multiply(outputs.v, (size_t)scene.sizes.nv, speed);
    multiply(outputs.gamma, 3 * (size_t)scene.problem.n_contacts, mass * speed);
    CHECK_ALL_CLOSE(others.v, outputs.v, scene.sizes.nv, 0);
    CHECK_ALL_CLOSE(others.gamma, outputs.gamma, 3 * scene.problem.n_contacts, 0);
    CHECK_EQUAL(scaled.total_iterations, solution.total_iterations);
    CHECK(scaled.coulomb_error == solution.coulomb_error);
  }
}

/* Memory that was never written has these bytes. */
static unsigned char fill;

static void *allocate_filled(size_t bytes, void *context) {
  void *memory = malloc(bytes);
  (void)context;
  return memory ? memset(memory, fill, bytes) : NULL;
}

static void release(void *memory, void *context) {
  (void)context;
  free(memory);
}

static int same(const sap_solution *a, const sap_solution *b) {
  return memcmp(outputs.v, others.v, (size_t)scene.sizes.nv * sizeof(double)) == 0 &&
         memcmp(outputs.gamma, others.gamma,
                3 * (size_t)scene.problem.n_contacts * sizeof(double)) == 0 &&
         a->outcome == b->outcome && a->total_iterations == b->total_iterations &&
         memcmp(&a->coulomb_error, &b->coulomb_error, sizeof(double)) == 0 &&
         a->velocity_error_bound == b->velocity_error_bound;
}

/* No bit depends on earlier solves or on the memory, if a solve converges, ends early, overflows or
 * is interrupted. */
static void no_bit_depends_on_what_was_before(void) {
  const sap_allocator allocator = {allocate_filled, release, NULL};
  int32_t outcomes[SAP_NON_FINITE + 1] = {0};
  for (int32_t number = 0; number < SCENES; ++number) {
    sap_settings settings = coulomb(1e-6);
    settings.max_iterations = number % 3 == 1 ? number % 5 : 100;
    settings.friction = number % 7 == 6 ? SAP_FRICTION_LAGGED : SAP_FRICTION_COULOMB;
    struct scene_outputs *const to[2] = {&outputs, &others};
    sap_solution solution[2];
    for (int k = 0; k < 2; ++k) {
      sap_solver *solver = NULL;
      fill = k ? 0x3f : 0xff;
      REQUIRE(sap_solver_create(&solver, &settings, &allocator, NULL) == SAP_OK);
      if (k) {
        make(number + 1);
        solution[k] = scene_solution(to[k]);
        REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution[k], NULL) == SAP_OK);
      }
      make(number);
      if (number % 3 == 2) {
        scene.v_star[0] = 1e200;
        scene.R_n[0] = 1e-300;
      }
      solution[k] = scene_solution(to[k]);
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution[k], NULL) == SAP_OK);
      sap_solver_destroy(solver);
    }
    CHECK(same(&solution[0], &solution[1]));
    ++outcomes[solution[0].outcome];
  }
  CHECK(outcomes[SAP_CONVERGED] > 0 && outcomes[SAP_FRICTION_LIMIT] > 0);
  CHECK(outcomes[SAP_NON_FINITE] > 0);
}

/* ---- guesses --------------------------------------------------------------------------------- */

static void any_guess_will_do(void) {
  static double guess[FRICTION_NV];
  sap_solution solution;
  for (int32_t number = 0; number < SCENES; ++number) {
    uint64_t seed = (uint64_t)number;
    make(number);
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      guess[i] = pow(10, number % 5) * check_random(&seed, -1, 1);
    }
    sap_settings settings = coulomb(1e-10);
    REQUIRE(solve(&settings, guess, &outputs, &solution) == SAP_OK);
    CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
    friction_evaluate(&at, outputs.v, NULL);
    CHECK(at.error <= 1.01e-10L);
    /* From the solution no iteration is needed; dense storage begins at v* all the same. */
    memcpy(guess, outputs.v, sizeof guess);
    settings = coulomb(1e-9);
    settings.max_iterations = number % 2;
    REQUIRE(solve(&settings, guess, &outputs, &solution) == SAP_OK);
    CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
    CHECK(solution.total_iterations <= (number % 2) * solution.n_islands);
    CHECK_ALL_CLOSE(outputs.v, guess, scene.sizes.nv, number % 2 ? 1e-7 : 1e-12);
  }
}

/* ---- where nothing is found ------------------------------------------------------------------ */

/* Have no bounds been held? An iteration that begins anew has a record without a step. */
static int is_simple(sap_solver *solver) {
  int32_t n, restarts = 0;
  const sap_iteration *records = sap_solver_history(solver, &n);
  for (int32_t k = 1; k < n; ++k) {
    restarts += records[k].step == 0;
  }
  return restarts == 0;
}

/* Iterations are the same for any limit: a larger one leaves no larger e_c. */
static void the_limit_leaves_the_best_iterate(void) {
  int32_t limited = 0, compared = 0, kept = 0;
  for (int32_t number = 0; number < SCENES; ++number) {
    long double before = INFINITY;
    make(number);
    for (int32_t limit = 0; limit < 12; ++limit) {
      sap_settings settings = coulomb(1e-12);
      settings.absolute_tolerance = 0;
      settings.max_iterations = limit;
      settings.record_history = 1;
      settings.islands = 0;
      sap_solver *solver = NULL;
      sap_solution solution = scene_solution(&outputs);
      REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
      CHECK(solution.iterations <= limit);
      friction_evaluate(&at, outputs.v, NULL);
      CHECK_CLOSE(solution.coulomb_error, (double)at.error, 1e-12);
      CHECK(isfinite(solution.velocity_error_bound));
      if (solution.outcome != SAP_CONVERGED) {
        CHECK_EQUAL(solution.outcome, SAP_FRICTION_LIMIT);
        CHECK_EQUAL(solution.iterations, limit);
        ++limited;
      }
      if (is_simple(solver)) {
        CHECK(at.error <= (1 + 1e-9L) * before);
        compared += isfinite(before);
        kept += at.error >= (1 - 1e-9L) * before;
        before = at.error;
      } else {
        before = INFINITY;
      }
      sap_solver_destroy(solver);
    }
  }
  CHECK(limited > SCENES && compared > SCENES && kept > 0);
}

/* Convex solves with bounds held may come between. The records of an island count its iterations,
 * and so does its limit. */
static void histories_count_all_parts(void) {
  int32_t limited = 0;
  for (int32_t number = 0; number < 3 * SCENES; ++number) {
    make(number);
    stiffen();
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) { /* few of them are rigid */
      scene.R_t[i] *= 30;
      scene.R_n[i] *= 30;
    }
    sap_settings settings = coulomb(1e-9);
    settings.record_history = 1;
    settings.max_iterations = number % 2 ? 1 + number % 5 : 100;
    sap_solver *solver = NULL;
    sap_solution solution = scene_solution(&outputs);
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    CHECK(solution.iterations <= settings.max_iterations);
    CHECK(isfinite(solution.velocity_error_bound));
    limited += solution.outcome == SAP_FRICTION_LIMIT;
    int32_t n, total = 0;
    const sap_iteration *records = sap_solver_history(solver, &n);
    for (int32_t k = 0; k < n; ++k) {
      const sap_iteration *before =
          k > 0 && records[k - 1].island == records[k].island ? &records[k - 1] : NULL;
      CHECK(before || records[k].iteration == 0);
      CHECK(!before || records[k].iteration - before->iteration == 1 || records[k].step == 0);
      CHECK(!before || records[k].iteration >= before->iteration);
      CHECK(records[k].iteration <= settings.max_iterations);
      total += before ? records[k].iteration - before->iteration : 0;
    }
    /* the history of proximal solves is that of the last one */
    CHECK(solution.proximal_solves > 1 ? total <= solution.total_iterations
                                       : total == solution.total_iterations);
    sap_solver_destroy(solver);
  }
  CHECK(limited > 0);
}

/* An interrupt callback that says stop after so many calls. */
struct patience {
  int32_t left;
};

static int is_over(void *context) { return --((struct patience *)context)->left < 0; }

static void interrupted_solves_leave_the_solver_whole(void) {
  int32_t interrupted = 0;
  sap_settings settings = coulomb(1e-10);
  settings.max_iterations = 100;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    uint64_t state = seed;
    friction_make(SCENE_TREES, SCENE_CONTACTS, 4, &state);
    stiffen();
    sap_solution solution, again;
    REQUIRE(solve(&settings, NULL, &outputs, &solution) == SAP_OK);
    sap_solver *solver = NULL;
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    for (int32_t times = 0;; ++times) {
      struct patience patience = {times};
      const sap_interrupt interrupt = {is_over, &patience, 0};
      sap_solver_set_interrupt(solver, &interrupt);
      again = scene_solution(&others);
      const sap_status status = sap_solver_solve(solver, &scene.problem, NULL, &again, NULL);
      if (status == SAP_OK) {
        break;
      }
      CHECK_EQUAL(status, SAP_INTERRUPTED);
      ++interrupted;
    }
    CHECK(same(&solution, &again));
    sap_solver_destroy(solver);
  }
  CHECK(interrupted > 10);
}

/* Numbers that overflow give an outcome that says so, an error, or a result of finite numbers. */
static void overflow_is_an_outcome(void) {
  static const double sizes[] = {1e80, 1e155, 1e200, 1e300, DBL_MAX};
  double *const arrays[] = {scene.v_star, scene.v_hat_n, scene.v_hat_t, scene.mu,
                            scene.R_t,    scene.R_n,     scene.J};
  static double guess[FRICTION_NV];
  int32_t outcomes[SAP_NON_FINITE + 1] = {0};
  for (int32_t number = 0; number < SCENES; ++number) {
    for (size_t a = 0; a <= CHECK_COUNT(arrays); ++a) {
      const double size = sizes[(size_t)number % CHECK_COUNT(sizes)];
      make(number);
      memset(guess, 0, sizeof guess);
      if (a == CHECK_COUNT(arrays)) {
        guess[0] = size;
      } else {
        arrays[a][0] = number % 4 == 3 ? 1 / size : size;
      }
      sap_settings settings = coulomb(1e-6);
      settings.friction = number % 6 ? SAP_FRICTION_COULOMB : SAP_FRICTION_LAGGED;
      sap_solution solution;
      const sap_status status = solve(&settings, guess, &outputs, &solution);
      CHECK(status == SAP_OK || status == SAP_INVALID_ARGUMENT);
      for (int64_t i = 0; status == SAP_OK && i < scene.sizes.nv; ++i) {
        CHECK(isfinite(outputs.v[i]));
      }
      if (status == SAP_OK) {
        ++outcomes[solution.outcome];
        CHECK(solution.velocity_error_bound >= 0);
        CHECK(solution.outcome != SAP_CONVERGED || isfinite(solution.coulomb_error));
      }
    }
  }
  CHECK(outcomes[SAP_NON_FINITE] > 0 && outcomes[SAP_CONVERGED] > 0);
}

static const check_test tests[] = {
    CHECK_TEST(solutions_obey_coulombs_law),
    CHECK_TEST(without_friction_it_is_the_convex_solution),
    CHECK_TEST(the_certificate_is_of_the_bounds_it_ended_with),
    CHECK_TEST(order_does_not_matter),
    CHECK_TEST(units_do_not_matter),
    CHECK_TEST(no_bit_depends_on_what_was_before),
    CHECK_TEST(any_guess_will_do),
    CHECK_TEST(the_limit_leaves_the_best_iterate),
    CHECK_TEST(histories_count_all_parts),
    CHECK_TEST(interrupted_solves_leave_the_solver_whole),
    CHECK_TEST(overflow_is_an_outcome),
};
CHECK_FILE(test_coulomb, tests);
