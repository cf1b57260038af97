/* Tests complementarity problems: Lemke's method, the principal pivoting method, and their
 * callers. */
#include "check.h"
#include "counter.h"
#include "lcp/pivoting.h"
#include "lcp/scaling.h"
#include "sapwood.h"

enum { MOST = 40 };

static struct {
  double M[MOST * MOST], q[MOST], z[MOST], w[MOST];
  int8_t basis[MOST], start[MOST];
} at;

static const lcp_method methods[] = {LCP_LEMKE, LCP_PPM, LCP_AUTO};

/* Solves with a new solver. The outcome is -1 for a status other than SAP_OK. */
static lcp_solution solve(int32_t n, const lcp_settings *settings, const int8_t *start) {
  lcp_solver *solver;
  sap_error error;
  lcp_solution solution = {.z = at.z, .w = at.w, .basis = at.basis, .outcome = (lcp_outcome)-1};
  if (CHECK_EQUAL(lcp_create(&solver, n, NULL, &error), SAP_OK)) {
    const lcp_problem problem = {n, at.M, at.q};
    CHECK_EQUAL(lcp_solve(solver, settings, &problem, start, &solution, &error), SAP_OK);
    lcp_destroy(solver);
  }
  return solution;
}

static lcp_settings by(lcp_method method) {
  lcp_settings settings = lcp_settings_default();
  settings.method = method;
  return settings;
}

/* Checks w = M z + q, with w and z >= 0 and complementary. */
static void check_solution(int32_t n, double tolerance) {
  for (int32_t i = 0; i < n; ++i) {
    double w = at.q[i];
    for (int32_t j = 0; j < n; ++j) {
      w += at.M[i * n + j] * at.z[j];
    }
    CHECK_CLOSE(at.w[i], w, tolerance);
    CHECK(at.z[i] >= 0);
    CHECK_CLOSE(fmin(at.z[i], w), 0, tolerance);
  }
}

/* Loads Murty's problem: a unit lower triangle with 2 below the diagonal. */
static void load_murty(int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      at.M[i * n + j] = i == j ? 1 : i > j ? 2 : 0;
    }
    at.q[i] = -1;
  }
}

/* Loads M = G G^T of rank r and q = G u + s with s >= 0, for which a solution exists. */
static void load_solvable(int32_t n, int32_t r, uint64_t *seed) {
  static double G[MOST * MOST];
  double u[MOST];
  for (int32_t i = 0; i < n * r; ++i) {
    G[i] = check_random(seed, -1, 1);
  }
  for (int32_t k = 0; k < r; ++k) {
    u[k] = check_random(seed, -1, 1);
  }
  for (int32_t i = 0; i < n; ++i) {
    at.q[i] = check_random_bits(seed) % 2 ? 0 : check_random(seed, 0, 1);
    for (int32_t k = 0; k < r; ++k) {
      at.q[i] += G[i * r + k] * u[k];
    }
    for (int32_t j = 0; j < n; ++j) {
      at.M[i * n + j] = 0;
      for (int32_t k = 0; k < r; ++k) {
        at.M[i * n + j] += G[i * r + k] * G[j * r + k];
      }
    }
  }
}

static void solutions_of_murty(void) {
  for (size_t k = 0; k < CHECK_COUNT(methods); ++k) {
    load_murty(8);
    const lcp_settings settings = by(methods[k]);
    const lcp_solution solution = solve(8, &settings, NULL);
    CHECK_EQUAL(solution.outcome, LCP_SOLVED);
    CHECK_CLOSE(at.z[0], 1, 1e-12);
    for (int32_t i = 1; i < 8; ++i) {
      CHECK_CLOSE(at.z[i], 0, 1e-12);
    }
    check_solution(8, 1e-12);
  }
}

static void semidefinite_problems(void) {
  uint64_t seed = 1;
  for (int trial = 0; trial < 300; ++trial) {
    const int32_t n = 1 + (int32_t)(check_random_bits(&seed) % MOST);
    const int32_t rank = 1 + (int32_t)(check_random_bits(&seed) % 6);
    load_solvable(n, rank, &seed);
    for (size_t k = 0; k < CHECK_COUNT(methods); ++k) {
      const lcp_settings settings = by(methods[k]);
      const lcp_solution solution = solve(n, &settings, NULL);
      CHECK_EQUAL(solution.outcome, LCP_SOLVED);
      CHECK(solution.relative_residual <= settings.tolerance);
      check_solution(n, 1e-6);
    }
  }
}

/* A problem takes no more than the pivots that enter the basis of its own solution. */
static void starts(void) {
  uint64_t seed = 2;
  for (int trial = 0; trial < 100; ++trial) {
    load_solvable(20, 6, &seed);
    for (size_t k = 0; k < 2; ++k) {
      const lcp_settings settings = by(methods[k]);
      solve(20, &settings, NULL);
      int32_t basic = 0;
      for (int32_t i = 0; i < 20; ++i) {
        at.start[i] = at.basis[i];
        basic += at.basis[i];
      }
      const lcp_solution again = solve(20, &settings, at.start);
      CHECK_EQUAL(again.outcome, LCP_SOLVED);
      CHECK(again.pivots <= basic + 1);
    }
  }
}

/* These are positive costs of two players: only from a strategy and its answer leads a path to a
 * solution. */
static void games_of_two(void) {
  static const double costs[4][4] = {
      {0, 0, 10, 30}, {0, 0, 20, 15}, {10, 30, 0, 0}, {20, 15, 0, 0}};
  memcpy(at.M, costs, sizeof costs);
  for (int32_t i = 0; i < 4; ++i) {
    at.q[i] = -1;
  }
  const lcp_outcome outcome[] = {LCP_RAY, LCP_SINGULAR, LCP_SOLVED};
  for (size_t k = 0; k < CHECK_COUNT(methods); ++k) {
    const lcp_settings settings = by(methods[k]);
    CHECK_EQUAL(solve(4, &settings, NULL).outcome, outcome[k]);
  }
  check_solution(4, 1e-12);
}

static int32_t random_digit(uint64_t *seed) { return (int32_t)(check_random_bits(seed) % 3) - 1; }

/* Loads contacts of a point in space, with two edges of friction each. z is (f_n; f_1, f_2 each;
 * lambda). Returns n. */
static int32_t load_friction(int32_t contacts, uint64_t *seed) {
  double J[9][3], c[3];
  const int32_t lambda = 3 * contacts, n = 4 * contacts;
  for (int32_t k = 0; k < 3; ++k) {
    c[k] = 2 * random_digit(seed);
    for (int32_t i = 0; i < contacts; ++i) {
      J[i][k] = random_digit(seed);
      J[contacts + 2 * i][k] = random_digit(seed);
      J[contacts + 2 * i + 1][k] = -J[contacts + 2 * i][k];
    }
  }
  memset(at.M, 0, sizeof at.M);
  memset(at.q, 0, sizeof at.q);
  for (int32_t i = 0; i < lambda; ++i) {
    for (int32_t k = 0; k < 3; ++k) {
      at.q[i] += J[i][k] * c[k];
      for (int32_t j = 0; j < lambda; ++j) {
        at.M[i * n + j] += J[i][k] * J[j][k];
      }
    }
  }
  for (int32_t i = 0; i < contacts; ++i) {
    at.M[(lambda + i) * n + i] = 0.5;
    for (int32_t edge = contacts + 2 * i; edge < contacts + 2 * i + 2; ++edge) {
      at.M[(lambda + i) * n + edge] = -1;
      at.M[edge * n + lambda + i] = 1;
    }
  }
  return n;
}

/* Any start will do, also one whose block of M is singular. */
static void starts_of_singular_blocks(void) {
  uint64_t seed = 3;
  for (int trial = 0; trial < 1000; ++trial) {
    const int32_t n = load_friction(1 + trial / 3 % 3, &seed);
    for (int32_t i = 0; i < n; ++i) {
      at.start[i] = check_random_bits(&seed) % 2;
    }
    const lcp_settings settings = by(methods[trial % 3]);
    const lcp_outcome outcome = solve(n, &settings, at.start).outcome;
    CHECK(outcome != LCP_NON_FINITE);
    if (outcome == LCP_SOLVED) {
      check_solution(n, 1e-8);
    }
    if (settings.method != LCP_PPM) {
      CHECK_EQUAL(solve(n, &settings, NULL).outcome, outcome);
    }
  }
}

static void carve_two(void *context, struct sap_arena *arena) {
  lcp_tableau_carve(context, arena, 2);
}

/* The ratios of both rows are equal for any w in z_i = d_i (w_0 + w_1 - 1) + d_i z_a. The
 * artificial variable z_a enters at the row of the larger pivot. */
static void the_larger_pivot_leaves_among_equal_ratios(void) {
  for (int32_t cover = 1; cover <= 2; ++cover) {
    struct sap_block block = {0};
    struct lcp_tableau t = {.kernels = sap_kernels_best()};
    const sap_allocator memory = sap_allocator_or_default(NULL);
    REQUIRE(sap_block_carve(&block, carve_two, &t, &memory));
    const double zeros[4] = {0};
    lcp_tableau_load(&t, 2, zeros, zeros);
    lcp_tableau_add_artificial(&t, cover);
    const double *d = lcp_column(&t, 2);
    for (int32_t i = 0; i < 2; ++i) {
      t.q[i] = -d[i];
      lcp_column(&t, 0)[i] = lcp_column(&t, 1)[i] = d[i];
      t.basic[i] = lcp_z(&t, i);
      t.nonbasic[i] = lcp_w(i);
      t.row[lcp_z(&t, i)] = t.column[lcp_w(i)] = i;
      t.row[lcp_w(i)] = t.column[lcp_z(&t, i)] = -1;
    }
    const int32_t larger = d[1] > d[0];
    CHECK_EQUAL(larger, cover - 1);
    const struct lcp_limits limits = {.max_pivots = 1, .cover = cover};
    int32_t pivots = 0;
    lcp_lemke(&t, &limits, &pivots);
    CHECK_EQUAL(pivots, 1);
    CHECK_EQUAL(t.basic[larger], lcp_artificial(&t));
    sap_block_release(&block, &memory);
  }
}

/* If q >= 0 to the tolerance, w = q is the solution without a pivot. */
static void lemke_leaves_what_is_solved(void) {
  struct sap_block block = {0};
  struct lcp_tableau t = {.kernels = sap_kernels_best()};
  const sap_allocator memory = sap_allocator_or_default(NULL);
  REQUIRE(sap_block_carve(&block, carve_two, &t, &memory));
  const double M[] = {1, 0, 0, 1}, feasible[] = {0, 1e-9};
  for (int k = 0; k < 2; ++k) {
    const double q[] = {-feasible[k], 1};
    const struct lcp_limits limits = {.max_pivots = 9, .feasible = feasible[k]};
    int32_t pivots = 0;
    lcp_tableau_load(&t, 2, M, q);
    CHECK_EQUAL(lcp_lemke(&t, &limits, &pivots), LCP_SOLVED);
    CHECK_EQUAL(pivots, 0);
  }
  sap_block_release(&block, &memory);
}

/* Entries of D M D are about 1; rows and columns of zeros stay as they are. */
static void scales(void) {
  enum { n = 3 };
  const double M[n * n] = {4e8, 1, 0, 1, 3e-6, 0}, q[n] = {0, 0, 3}, zeros[n] = {0};
  double D[n], scaled[n * n], q_scaled[n];
  CHECK_CLOSE(lcp_scale(n, M, q, D, scaled, q_scaled), 2, 0);
  CHECK_CLOSE(D[2], 1, 0);
  CHECK_CLOSE(q_scaled[2], 1.5, 0);
  for (int i = 0; i < 2; ++i) {
    const double largest = fmax(fabs(scaled[i * n]), fabs(scaled[i * n + 1]));
    CHECK(largest >= 0.25 && largest <= 4);
  }
  for (int i = 0; i < n * n; ++i) {
    CHECK_CLOSE(scaled[i], M[i] * D[i / n] * D[i % n], 0);
  }
  CHECK_CLOSE(lcp_scale(n, M, zeros, D, scaled, q_scaled), 1, 0);
}

/* The row -z_0 >= 1 has no solution. */
static void problems_without_solution(void) {
  const lcp_outcome outcome[] = {LCP_RAY, LCP_INFEASIBLE, LCP_INFEASIBLE};
  for (size_t k = 0; k < CHECK_COUNT(methods); ++k) {
    memset(at.M, 0, sizeof at.M);
    at.q[0] = -1;
    at.q[1] = 1;
    const lcp_settings settings = by(methods[k]);
    CHECK_EQUAL(solve(2, &settings, NULL).outcome, outcome[k]);
    CHECK_CLOSE(at.z[0], 0, 0);
  }
}

/* The solution is z_i = 1/M_ii, however far apart. Nothing makes the row of zeros >= 0. */
static void rows_of_every_size(void) {
  for (size_t k = 0; k < CHECK_COUNT(methods); ++k) {
    const lcp_settings settings = by(methods[k]);
    for (int e = 0; e <= 14; ++e) {
      memset(at.M, 0, sizeof at.M);
      at.M[0] = pow(10, -e);
      at.M[3] = pow(10, e);
      at.q[0] = at.q[1] = -1;
      const lcp_solution solution = solve(2, &settings, NULL);
      CHECK_EQUAL(solution.outcome, LCP_SOLVED);
      CHECK_CLOSE(at.M[0] * at.z[0], 1, 1e-9);
      CHECK_CLOSE(at.M[3] * at.z[1], 1, 1e-9);
      at.M[0] = 0;
      at.M[3] = pow(10, -e - 8);
      CHECK(solve(2, &settings, NULL).outcome != LCP_SOLVED);
    }
  }
}

/* Rows of a definite matrix times 1e-12 to 1e12: a solution there is, and no proof that there is
 * none; a status that says so may only be that of a path. */
static void badly_scaled_rows_are_not_infeasible(void) {
  uint64_t seed = 4;
  const lcp_settings settings = by(LCP_PPM);
  int solved = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int32_t n = 1 + trial % 9;
    load_solvable(n, n, &seed);
    for (int32_t i = 0; i < n; ++i) {
      const double scale = pow(10, check_random(&seed, -12, 12));
      at.q[i] = check_random(&seed, -1, 1) * pow(10, check_random(&seed, -8, 8));
      for (int32_t j = 0; j < n; ++j) {
        at.M[i * n + j] *= scale;
      }
    }
    const lcp_outcome outcome = solve(n, &settings, NULL).outcome;
    CHECK(outcome != LCP_INFEASIBLE);
    for (int32_t i = 0; i < n && outcome == LCP_SOLVED; ++i) {
      double terms = fabs(at.q[i]);
      for (int32_t j = 0; j < n; ++j) {
        terms += fabs(at.M[i * n + j]) * at.z[j];
      }
      CHECK(at.w[i] >= -1e-8 * terms);
    }
    solved += outcome == LCP_SOLVED;
  }
  CHECK(solved > 150);
}

/* The sum w_0 + w_1 = q_0 + q_1 is negative by little: a regularization makes up for it, and is
 * told. */
static void regularized(void) {
  for (size_t k = 0; k < CHECK_COUNT(methods); ++k) {
    const double M[] = {1, -1, -1, 1};
    memcpy(at.M, M, sizeof M);
    at.q[0] = -1;
    at.q[1] = 1 - 1e-7;
    lcp_settings settings = by(methods[k]);
    CHECK(solve(2, &settings, NULL).outcome != LCP_SOLVED);
    settings.regularization_first = 1e-10;
    const lcp_solution solution = solve(2, &settings, NULL);
    CHECK_EQUAL(solution.outcome, LCP_SOLVED);
    CHECK_CLOSE(solution.regularization, 1e-10, 1e-20);
    CHECK(solution.residual > 1e-9 && solution.residual < 1e-6);

    /* a problem far from any solution has none */
    at.q[1] = -1;
    CHECK(solve(2, &settings, NULL).outcome != LCP_SOLVED);
  }
}

/* The regularization lets z_i = 1e-7/1e-6 make up for what a row of zeros misses, in either row. */
static void every_row_is_regularized(void) {
  for (size_t k = 0; k < CHECK_COUNT(methods); ++k) {
    for (int32_t i = 0; i < 2; ++i) {
      memset(at.M, 0, sizeof at.M);
      at.M[3 - 3 * i] = 1;
      at.q[i] = -1e-7;
      at.q[1 - i] = -1;
      lcp_settings settings = by(methods[k]);
      CHECK(solve(2, &settings, NULL).outcome != LCP_SOLVED);
      settings.regularization_first = 1e-6;
      const lcp_solution solution = solve(2, &settings, NULL);
      CHECK_EQUAL(solution.outcome, LCP_SOLVED);
      CHECK_CLOSE(solution.regularization, 1e-6, 1e-16);
      CHECK_CLOSE(at.z[i], 0.1, 1e-9);
      CHECK_CLOSE(at.z[1 - i], 1, 1e-5);
    }
  }
}

static void rules(void) {
  lcp_solver *solver;
  sap_error error;
  const lcp_settings settings = lcp_settings_default();
  CHECK_EQUAL(lcp_create(&solver, -1, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "n_max");
  REQUIRE(lcp_create(&solver, 2, NULL, &error) == SAP_OK);
  double M[] = {1, 0, 0, 1}, q[] = {1, 2};
  lcp_solution solution = {.z = at.z, .w = at.w};
  const struct {
    lcp_problem problem;
    const char *argument;
    int64_t index;
  } wrong[] = {{{3, M, q}, "n", -1},
               {{-1, M, q}, "n", -1},
               {{2, NULL, q}, "M", -1},
               {{2, M, NULL}, "q", -1}};
  for (size_t i = 0; i < CHECK_COUNT(wrong); ++i) {
    CHECK_EQUAL(lcp_solve(solver, &settings, &wrong[i].problem, NULL, &solution, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, wrong[i].argument);
    CHECK_EQUAL(error.index, wrong[i].index);
  }
  M[2] = NAN;
  CHECK_EQUAL(lcp_solve(solver, &settings, &(lcp_problem){2, M, q}, NULL, &solution, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "M");
  CHECK_EQUAL(error.index, 2);
  lcp_destroy(solver);
  lcp_destroy(NULL);

  lcp_settings bad = settings;
  bad.tolerance = NAN;
  CHECK_EQUAL(lcp_settings_check(&bad, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "tolerance");
}

static sap_status make_and_solve(const sap_allocator *allocator, struct counter *counter) {
  const lcp_settings settings = lcp_settings_default();
  const lcp_problem problem = {MOST, at.M, at.q};
  lcp_solver *solver;
  uint64_t seed = 3;
  const sap_status status = lcp_create(&solver, MOST, allocator, NULL);
  CHECK((status == SAP_OK) == (solver != NULL));
  if (solver) {
    const long before = counter->allocations;
    load_solvable(MOST, 6, &seed);
    lcp_solution solution = {.z = at.z, .w = at.w};
    CHECK_EQUAL(lcp_solve(solver, &settings, &problem, NULL, &solution, NULL), SAP_OK);
    CHECK_EQUAL(counter->allocations, before);
  }
  lcp_destroy(solver);
  return status;
}

/* A solver makes two allocations, either of which may fail, and none in a solve. */
static void memory(void) { CHECK_EQUAL(fail_allocations(make_and_solve), 2); }

static const check_test tests[] = {
    CHECK_TEST(solutions_of_murty),
    CHECK_TEST(semidefinite_problems),
    CHECK_TEST(starts),
    CHECK_TEST(games_of_two),
    CHECK_TEST(starts_of_singular_blocks),
    CHECK_TEST(the_larger_pivot_leaves_among_equal_ratios),
    CHECK_TEST(lemke_leaves_what_is_solved),
    CHECK_TEST(scales),
    CHECK_TEST(problems_without_solution),
    CHECK_TEST(rows_of_every_size),
    CHECK_TEST(badly_scaled_rows_are_not_infeasible),
    CHECK_TEST(regularized),
    CHECK_TEST(every_row_is_regularized),
    CHECK_TEST(rules),
    CHECK_TEST(memory),
};
CHECK_FILE(test_lcp, tests);
