/* Tests quadratic programs: optimality, degenerate programs, programs without a solution. */
#include "check.h"
#include "counter.h"
#include "lcp/normal_equations.h"
#include "lcp/optimality.h"
#include "sapwood.h"

enum { MOST = 24, ROWS = 30 };

static struct {
  double H[MOST * MOST], g[MOST], A[ROWS * MOST], b[ROWS], C[ROWS * MOST], d[ROWS];
  double lower[MOST], upper[MOST];
  double x[MOST], y[ROWS], lambda[ROWS], bounds[MOST];
  qp_problem problem;
  qp_solution solution;
} at;

/* Loads H of this rank and random rows. The point x_0 is feasible, and multipliers exist. */
static void load(int32_t n, int32_t rank, int32_t n_equalities, int32_t n_inequalities,
                 int has_bounds, uint64_t *seed) {
  static double G[MOST * MOST];
  double x_0[MOST], u[MOST];
  for (int32_t i = 0; i < n * rank; ++i) {
    G[i] = check_random(seed, -1, 1);
  }
  for (int32_t i = 0; i < n; ++i) {
    x_0[i] = check_random(seed, -1, 1);
    u[i] = check_random(seed, -2, 2);
  }
  for (int32_t i = 0; i < n; ++i) {
    at.g[i] = 0;
    for (int32_t j = 0; j < n; ++j) {
      at.H[i * n + j] = 0;
      for (int32_t k = 0; k < rank; ++k) {
        at.H[i * n + j] += G[i * rank + k] * G[j * rank + k];
      }
      at.g[i] += at.H[i * n + j] * u[j];
    }
  }
  for (int32_t i = 0; i < n_equalities; ++i) {
    at.b[i] = 0;
    for (int32_t j = 0; j < n; ++j) {
      at.A[i * n + j] = check_random(seed, -1, 1);
      at.b[i] += at.A[i * n + j] * x_0[j];
    }
  }
  for (int32_t i = 0; i < n_inequalities; ++i) {
    at.d[i] = i % 3 ? -check_random(seed, 0, 1) : 0;
    const double l = check_random(seed, 0, 1);
    for (int32_t j = 0; j < n; ++j) {
      at.C[i * n + j] = i % 2 && j % 3 ? 0 : check_random(seed, -1, 1);
      at.d[i] += at.C[i * n + j] * x_0[j];
      at.g[j] += i % 3 ? 0 : l * at.C[i * n + j];
    }
  }
  for (int32_t j = 0; j < n; ++j) {
    at.lower[j] = j % 2 ? x_0[j] - check_random(seed, 0, 1) : -INFINITY;
    at.upper[j] = j % 3 ? INFINITY : x_0[j] + check_random(seed, 0, 1);
  }
  at.problem =
      (qp_problem){n, n_equalities, n_inequalities, at.H, at.g, at.A, at.b, at.C, at.d, NULL, NULL};
  if (has_bounds) {
    at.problem.lower = at.lower;
    at.problem.upper = at.upper;
  }
}

static void solve(void) {
  qp_solver *solver;
  sap_error error;
  const qp_settings settings = qp_settings_default();
  at.solution = (qp_solution){
      .x = at.x, .y = at.y, .lambda = at.lambda, .bounds = at.bounds, .outcome = (qp_outcome)-1};
  if (CHECK_EQUAL(qp_create(&solver, MOST, ROWS, ROWS, NULL, &error), SAP_OK)) {
    CHECK_EQUAL(qp_solve(solver, &settings, &at.problem, NULL, &at.solution, &error), SAP_OK);
    qp_destroy(solver);
  }
}

static double row(const double *matrix, int32_t i) {
  double sum = 0;
  for (int32_t j = 0; j < at.problem.n; ++j) {
    sum += matrix[i * at.problem.n + j] * at.x[j];
  }
  return sum;
}

/* Checks the conditions of Karush, Kuhn and Tucker. */
static void check_optimal(double tolerance) {
  const qp_problem *p = &at.problem;
  for (int32_t i = 0; i < p->n; ++i) {
    double r = at.g[i] + row(p->H, i) - at.bounds[i];
    for (int32_t k = 0; k < p->n_equalities; ++k) {
      r -= p->A[k * p->n + i] * at.y[k];
    }
    for (int32_t k = 0; k < p->n_inequalities; ++k) {
      r -= p->C[k * p->n + i] * at.lambda[k];
    }
    CHECK_CLOSE(r, 0, tolerance);
    const double lower = p->lower ? p->lower[i] : -INFINITY;
    const double upper = p->upper ? p->upper[i] : INFINITY;
    CHECK(at.x[i] >= lower - tolerance && at.x[i] <= upper + tolerance);
    CHECK(at.bounds[i] <= tolerance || at.x[i] - lower <= 1e-5);
    CHECK(at.bounds[i] >= -tolerance || upper - at.x[i] <= 1e-5);
  }
  for (int32_t k = 0; k < p->n_equalities; ++k) {
    CHECK_CLOSE(row(p->A, k), p->b[k], tolerance);
  }
  for (int32_t k = 0; k < p->n_inequalities; ++k) {
    const double slack = row(p->C, k) - p->d[k];
    CHECK(slack >= -tolerance && at.lambda[k] >= 0);
    CHECK_CLOSE(slack * at.lambda[k], 0, tolerance);
  }
}

static void solve_to_the_optimum(void) {
  solve();
  CHECK_EQUAL(at.solution.outcome, QP_SOLVED);
  check_optimal(1e-6);
}

static void optimal_points(void) {
  uint64_t seed = 1;
  for (int trial = 0; trial < 400; ++trial) {
    const int32_t n = 1 + (int32_t)(check_random_bits(&seed) % MOST);
    const int32_t rank = (int32_t)(check_random_bits(&seed) % (uint64_t)(n + 1));
    const int32_t n_equalities = (int32_t)(check_random_bits(&seed) % (uint64_t)n) / 3;
    const int32_t n_inequalities = (int32_t)(check_random_bits(&seed) % ROWS);
    load(n, rank, n_equalities, n_inequalities, trial % 2, &seed);
    solve_to_the_optimum();
  }
}

/* The solver stores rows of few entries apart from dense ones. x = 0 obeys all rows here. */
static void rows_of_few_entries(void) {
  uint64_t seed = 13;
  for (int trial = 0; trial < 100; ++trial) {
    load(MOST, MOST, 2, 20, trial % 2, &seed);
    at.problem.lower = at.problem.upper = NULL;
    for (int32_t i = 0; i < 20; ++i) {
      at.d[i] = -check_random(&seed, 0, 0.1);
      for (int32_t j = 0; i % 2 && j < MOST; ++j) {
        at.C[i * MOST + j] = (i + j) % 5 ? 0 : check_random(&seed, -1, 1);
      }
    }
    at.b[0] = at.b[1] = 0;
    solve_to_the_optimum();
  }
}

/* Each row is there twice, and bounds leave no room. */
static void dependent_rows(void) {
  uint64_t seed = 2;
  for (int trial = 0; trial < 100; ++trial) {
    const int32_t n = 12;
    load(n, 6, 3, 8, 1, &seed);
    memcpy(at.A + 36, at.A, 36 * sizeof(double));
    memcpy(at.b + 3, at.b, 3 * sizeof(double));
    memcpy(at.C + 96, at.C, 96 * sizeof(double));
    memcpy(at.d + 8, at.d, 8 * sizeof(double));
    at.problem.n_equalities = 6;
    at.problem.n_inequalities = 16;
    solve_to_the_optimum();
    at.lower[1] = at.upper[1] = at.x[1];
    solve();
    CHECK_EQUAL(at.solution.outcome, QP_SOLVED);
    CHECK_CLOSE(at.x[1], at.lower[1], 1e-8);
  }
}

/* Returns the optimality of a row 2 x beside r with multiplier l, without other terms. */
static double of_row(int8_t equality, double x, double r, double l) {
  double g = 0, R = 2;
  struct qp_program p = {.n = 1, .ld = 1, .g = &g, .n_rows = 1, .n_dense = 1};
  p.dense = &R;
  p.r = &r;
  p.equality = &equality;
  const double Hx = 0, Rl = 0, rows = R * x;
  return qp_optimality(&p, &x, &l, &Hx, &Rl, &rows);
}

/* The sum is over |r| + |2 x|, of which no more than |r| counts, and all where r is 0. */
static void rows_that_do_not_hold_are_told(void) {
  CHECK_CLOSE(of_row(1, 1, 2, 7), 0, 0);
  CHECK_CLOSE(of_row(1, 1, 5, 0), 3.0 / 7, 1e-13);
  CHECK_CLOSE(of_row(1, 1, -1, 0), 3.0 / 2, 1e-13);
  CHECK_CLOSE(of_row(1, -1, 0, 0), 1, 1e-13);
  CHECK_CLOSE(of_row(0, 1, 5, 0), 3.0 / 7, 1e-13);
  CHECK_CLOSE(of_row(0, 1, -1, 0), 0, 0);
  CHECK_CLOSE(of_row(0, -1e6, 1, 0), 2000001.0 / 2, 1e-6);
  CHECK_CLOSE(of_row(0, 1, -1, 4), 3, 1e-13); /* a multiplier of a row with slack */
  CHECK(isinf(of_row(1, 1, NAN, 0)));
}

/* The sum g - R^T l is over |g| + |R^T l|, of which no more than |g| counts. */
static void gradients_that_are_left_are_told(void) {
  const struct {
    double g, Rl, expected;
  } cases[] = {{2, 2, 0}, {2, 1, 1.0 / 3}, {2, -1, 1}, {2, 10, 2}, {0, 5, 1}, {2, NAN, INFINITY}};
  for (size_t i = 0; i < CHECK_COUNT(cases); ++i) {
    double g = cases[i].g;
    const struct qp_program p = {.n = 1, .ld = 1, .g = &g};
    const double x = 0, Hx = 0;
    CHECK_CLOSE(qp_optimality(&p, &x, NULL, &Hx, &cases[i].Rl, NULL), cases[i].expected, 1e-13);
  }
}

/* The rows x >= 1 and x <= -1 stand beside a cost from a quadratic one to one that is all but
 * linear; then 1 solves x <= 1. */
static void a_linear_cost_hides_no_rows(void) {
  for (int e = 0; e <= 15; ++e) {
    for (int feasible = 0; feasible < 2; ++feasible) {
      for (int k = 0; k < 2; ++k) {
        at.problem = (qp_problem){.n = 1, .n_inequalities = 2, .H = at.H, .g = at.g};
        at.problem.C = at.C;
        at.problem.d = at.d;
        at.H[0] = k ? pow(10, -e) : 1;
        at.g[0] = k ? 1 : pow(10, e);
        at.C[0] = at.d[0] = 1;
        at.C[1] = -1;
        at.d[1] = feasible ? -1 : 1;
        solve();
        if (feasible) {
          CHECK(at.solution.outcome == QP_SOLVED || e > 9);
          CHECK(at.solution.outcome != QP_INFEASIBLE);
          CHECK(at.solution.outcome != QP_SOLVED || fabs(at.x[0] - 1) <= 2e-9);
        } else if (CHECK_EQUAL(at.solution.outcome, QP_INFEASIBLE)) {
          CHECK_CLOSE(at.lambda[0] - at.lambda[1], 0, 1e-6);
          CHECK_CLOSE(at.lambda[0] + at.lambda[1], 1, 1e-9);
          CHECK_CLOSE(at.solution.dual_residual, fabs(at.lambda[0] - at.lambda[1]), 1e-15);
          CHECK_CLOSE(at.x[0], 0, 0);
        }
      }
    }
  }
}

/* Bounds from both sides: a variable has one multiplier, and the proof is 1 with it. */
static void proofs_with_bounds(void) {
  uint64_t seed = 8;
  for (int trial = 0; trial < 100; ++trial) {
    const int32_t n = 6;
    load(n, 3, 0, 6, 1, &seed);
    for (int32_t j = 0; j < n; ++j) {
      at.lower[j] = -1 - check_random(&seed, 0, 1);
      at.upper[j] = 1 + check_random(&seed, 0, 1);
    }
    at.d[2] = 1;
    for (int32_t j = 0; j < n; ++j) {
      at.d[2] += 2 * fabs(at.C[2 * n + j]);
    }
    solve();
    CHECK_EQUAL(at.solution.outcome, QP_INFEASIBLE);
    double value = 0;
    for (int32_t k = 0; k < 6; ++k) {
      CHECK(at.lambda[k] >= 0);
      value += at.d[k] * at.lambda[k];
    }
    for (int32_t j = 0; j < n; ++j) {
      value += at.lower[j] * fmax(at.bounds[j], 0) + at.upper[j] * fmin(at.bounds[j], 0);
      double sum = at.bounds[j];
      for (int32_t k = 0; k < 6; ++k) {
        sum += at.C[k * n + j] * at.lambda[k];
      }
      CHECK_CLOSE(sum, 0, 1e-6);
    }
    CHECK_CLOSE(value, 1, 1e-12);
  }
}

/* The cost x^T H x is that of (H + H^T)/2 = [2, 1; 1, 2]. */
static void of_H_the_symmetric_part_counts(void) {
  const double H[] = {2, 3, -1, 2}, g[] = {-2, -5};
  at.problem = (qp_problem){.n = 2, .H = H, .g = g};
  solve();
  CHECK_EQUAL(at.solution.outcome, QP_SOLVED);
  CHECK_CLOSE(at.x[0], -1.0 / 3, 1e-12);
  CHECK_CLOSE(at.x[1], 8.0 / 3, 1e-12);
  CHECK_CLOSE(at.solution.objective, -19.0 / 3, 1e-12);
}

/* There are no variables, and nothing else. */
static void empty_programs(void) {
  at.problem = (qp_problem){0};
  solve();
  CHECK_EQUAL(at.solution.outcome, QP_SOLVED);
  at.problem.n_equalities = 1;
  at.problem.b = at.b;
  at.problem.A = at.A;
  at.b[0] = 1;
  solve();
  CHECK_EQUAL(at.solution.outcome, QP_INFEASIBLE);
}

static void rules(void) {
  qp_solver *solver;
  sap_error error;
  const qp_settings settings = qp_settings_default();
  CHECK_EQUAL(qp_create(&solver, 1, -1, 0, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "n_equalities_max");
  REQUIRE(qp_create(&solver, 2, 1, 1, NULL, &error) == SAP_OK);
  double H[] = {1, 0, 0, 1}, two[] = {1, NAN}, inf[] = {-INFINITY, INFINITY};
  double zero[] = {0, 0}, one[] = {1, 1};
  qp_solution solution = {.x = at.x};
  const struct {
    qp_problem problem;
    const char *argument;
    int64_t index;
  } wrong[] = {
      {{.n = 3, .H = H, .g = zero}, "n", -1},
      {{.n = 2, .n_inequalities = 2, .H = H, .g = zero}, "n_inequalities", -1},
      {{.n = 2, .g = zero}, "H", -1},
      {{.n = 2, .H = H, .g = two}, "g", 1},
      {{.n = 2, .H = H, .g = zero, .n_inequalities = 1, .C = one}, "d", -1},
      {{.n = 2, .H = H, .g = zero, .n_inequalities = 1, .C = one, .d = inf + 1}, "d", 0},
      {{.n = 2, .H = H, .g = zero, .lower = inf}, "lower", 1},
      {{.n = 2, .H = H, .g = zero, .upper = inf}, "upper", 0},
      {{.n = 2, .H = H, .g = zero, .lower = one, .upper = zero}, "upper", 0},
  };
  for (size_t i = 0; i < CHECK_COUNT(wrong); ++i) {
    CHECK_EQUAL(qp_solve(solver, &settings, &wrong[i].problem, NULL, &solution, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, wrong[i].argument);
    CHECK_EQUAL(error.index, wrong[i].index);
  }
  qp_destroy(solver);
  qp_destroy(NULL);
  qp_settings bad = settings;
  bad.tolerance = 0;
  CHECK_EQUAL(qp_settings_check(&bad, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "tolerance");
}

static void carve_program(void *context, struct sap_arena *arena) {
  const struct qp_sizes most = {MOST, ROWS, ROWS};
  qp_program_carve(context, arena, &most);
}

/* Scaling brings the diagonal of H to about 1. */
static void unknowns_are_scaled(void) {
  struct sap_block block = {0};
  struct qp_program p = {.kernels = sap_kernels_best()};
  const sap_allocator memory = sap_allocator_or_default(NULL);
  uint64_t seed = 14;
  REQUIRE(sap_block_carve(&block, carve_program, &p, &memory));
  for (int trial = 0; trial < 50; ++trial) {
    load(MOST, 0, 0, 0, 0, &seed);
    for (int32_t j = 0; j < MOST; ++j) {
      at.H[j * (MOST + 1)] = pow(10, check_random(&seed, -12, 12));
    }
    qp_program_load(&p, &at.problem);
    for (int32_t j = 0; j < MOST; ++j) {
      const double scaled = p.H[j * (p.ld + 1)] / p.k;
      CHECK(scaled > 0.49 && scaled < 2.01);
      CHECK_CLOSE(scaled, p.E[j] * at.H[j * (MOST + 1)] * p.E[j], 0);
    }
  }
  sap_block_release(&block, &memory);
}

/* The factorization adds 1, 30, 900 or 27000 to the diagonal, the first that makes it positive. */
static void diagonals_grow_until_there_is_a_factor(void) {
  double H[8] = {0}, K[8], unused = 0;
  const struct qp_program p = {.kernels = sap_kernels_best(), .n = 1, .ld = 8, .H = H};
  struct qp_condensed c = {.K = K, .W = &unused, .cut = &unused, .scaled = &unused};
  for (int tries = 0; tries <= 4; ++tries) {
    H[0] = -0.9 * pow(30, tries);
    CHECK_EQUAL(qp_condensed_factor(&c, &p, 1), tries < 4);
  }
}

/* The program has as many rows and bounds as its solver has room for. */
static void programs_may_fill_their_solver(void) {
  enum { n = 8 };
  uint64_t seed = 15;
  for (int trial = 0; trial < 50; ++trial) {
    qp_solver *solver;
    const qp_settings settings = qp_settings_default();
    load(n, n, 0, n, 1, &seed);
    for (int32_t j = 0; j < n; ++j) {
      at.lower[j] = -10;
      at.upper[j] = 10;
    }
    at.solution = (qp_solution){.x = at.x, .y = at.y, .lambda = at.lambda, .bounds = at.bounds};
    REQUIRE(qp_create(&solver, n, 0, n, NULL, NULL) == SAP_OK);
    CHECK_EQUAL(qp_solve(solver, &settings, &at.problem, NULL, &at.solution, NULL), SAP_OK);
    CHECK_EQUAL(at.solution.outcome, QP_SOLVED);
    check_optimal(1e-6);
    qp_destroy(solver);
  }
}

static void defaults_are_those_of_the_header(void) {
  const qp_settings settings = qp_settings_default();
  CHECK_CLOSE(settings.tolerance, 1e-9, 0);
  CHECK_EQUAL(settings.max_iterations, 100);
  CHECK_EQUAL(settings.polish, 1);
  CHECK_EQUAL(settings.check_convex, 1);
}

/* Multipliers alone are a start from x = 0: of x >= 0 with g > 0, the solution itself. */
static void starts_without_x_begin_at_zero(void) {
  const qp_settings settings = qp_settings_default();
  double multipliers[MOST];
  uint64_t seed = 12;
  qp_solver *solver;
  REQUIRE(qp_create(&solver, MOST, 0, 0, NULL, NULL) == SAP_OK);
  for (int trial = 0; trial < 100; ++trial) {
    load(MOST, MOST, 0, 0, 1, &seed);
    for (int32_t i = 0; i < MOST; ++i) {
      multipliers[i] = at.g[i] = pow(10, check_random(&seed, -6, 0));
      at.lower[i] = 0;
      at.upper[i] = INFINITY;
    }
    const qp_start start = {.bounds = multipliers};
    at.solution = (qp_solution){.x = at.x};
    CHECK_EQUAL(qp_solve(solver, &settings, &at.problem, &start, &at.solution, NULL), SAP_OK);
    CHECK_EQUAL(at.solution.outcome, QP_SOLVED);
    CHECK_EQUAL(at.solution.iterations, 0);
    for (int32_t i = 0; i < MOST; ++i) {
      CHECK_CLOSE(at.x[i], 0, 1e-12);
    }
  }
  qp_destroy(solver);
}

static void starts(void) {
  uint64_t seed = 7;
  qp_solver *solver;
  sap_error error;
  qp_settings settings = qp_settings_default();
  REQUIRE(qp_create(&solver, MOST, ROWS, ROWS, NULL, &error) == SAP_OK);
  for (int trial = 0; trial < 50; ++trial) {
    load(12, 12, 2, 8, trial % 2, &seed);
    solve();
    double x[MOST], y[ROWS], lambda[ROWS], bounds[MOST], garbage[ROWS];
    memcpy(x, at.x, sizeof x);
    memcpy(y, at.y, sizeof y);
    memcpy(lambda, at.lambda, sizeof lambda);
    memcpy(bounds, at.bounds, sizeof bounds);
    const double objective = at.solution.objective;
    const int32_t iterations = at.solution.iterations;
    const qp_start start = {x, y, lambda, bounds};
    CHECK_EQUAL(qp_solve(solver, &settings, &at.problem, &start, &at.solution, &error), SAP_OK);
    CHECK_EQUAL(at.solution.outcome, QP_SOLVED);
    CHECK_EQUAL(at.solution.iterations, 0);
    CHECK_CLOSE(at.solution.objective, objective, 1e-9 * (1 + fabs(objective)));
    check_optimal(1e-6);
    for (int32_t i = 0; i < ROWS; ++i) {
      garbage[i] = check_random(&seed, -1e6, 1e6);
    }
    const qp_start wrong = {garbage, garbage, garbage, garbage};
    CHECK_EQUAL(qp_solve(solver, &settings, &at.problem, &wrong, &at.solution, &error), SAP_OK);
    CHECK_EQUAL(at.solution.outcome, QP_SOLVED);
    check_optimal(1e-6);
    settings.polish = 0;
    CHECK_EQUAL(qp_solve(solver, &settings, &at.problem, &start, &at.solution, &error), SAP_OK);
    CHECK(at.solution.iterations >= iterations && at.solution.iterations > 0);
    settings.polish = 1;
  }
  const double bad[MOST] = {0, INFINITY};
  const qp_start not_finite = {.lambda = bad};
  CHECK_EQUAL(qp_solve(solver, &settings, &at.problem, &not_finite, &at.solution, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "start.lambda");
  CHECK_EQUAL(error.index, 1);
  qp_destroy(solver);
}

static sap_status make_and_solve(const sap_allocator *allocator, struct counter *counter) {
  const qp_settings settings = qp_settings_default();
  qp_solver *solver;
  uint64_t seed = 6;
  const sap_status status = qp_create(&solver, MOST, ROWS, ROWS, allocator, NULL);
  CHECK((status == SAP_OK) == (solver != NULL));
  if (solver) {
    const long before = counter->allocations;
    load(MOST, 6, 2, ROWS, 1, &seed);
    qp_solution solution = {.x = at.x};
    CHECK_EQUAL(qp_solve(solver, &settings, &at.problem, NULL, &solution, NULL), SAP_OK);
    CHECK_EQUAL(counter->allocations, before);
  }
  qp_destroy(solver);
  return status;
}

/* A solver makes two allocations, either of which may fail, and none in a solve. */
static void memory(void) { CHECK_EQUAL(fail_allocations(make_and_solve), 2); }

static const check_test tests[] = {
    CHECK_TEST(optimal_points),
    CHECK_TEST(rows_of_few_entries),
    CHECK_TEST(dependent_rows),
    CHECK_TEST(empty_programs),
    CHECK_TEST(rows_that_do_not_hold_are_told),
    CHECK_TEST(gradients_that_are_left_are_told),
    CHECK_TEST(a_linear_cost_hides_no_rows),
    CHECK_TEST(proofs_with_bounds),
    CHECK_TEST(of_H_the_symmetric_part_counts),
    CHECK_TEST(rules),
    CHECK_TEST(unknowns_are_scaled),
    CHECK_TEST(diagonals_grow_until_there_is_a_factor),
    CHECK_TEST(programs_may_fill_their_solver),
    CHECK_TEST(defaults_are_those_of_the_header),
    CHECK_TEST(starts_without_x_begin_at_zero),
    CHECK_TEST(starts),
    CHECK_TEST(memory),
};
CHECK_FILE(test_qp, tests);
