/* Tests the barriers of a rigid core: their factors against long double, their limits, and their
 * law. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "constraints/laws/rigid_core.h"

/* Evaluates the formulas of rigid_core.h in long double. */
static void exact_log(double s, long double factors[3]) {
  const long double x = s, rest = 1 - x, log_rest = log1pl(-x);
  factors[0] = -log_rest / x;
  factors[1] = -log_rest / (2 * x) + 1 / (2 * rest);
  factors[2] = 1 / (2 * rest) + log_rest / (2 * x) + x / (2 * rest * rest);
}

static void exact_exp(double s, double lambda, long double factors[3]) {
  const long double x = (long double)lambda * s, e = expl(x);
  factors[0] = e;
  factors[1] = e * (1 + x / 2);
  factors[2] = s * e * (3 * (long double)lambda / 2 + (long double)lambda * x / 2);
}

static void check_factors(struct sap_barrier_factors f, const long double exact[3],
                          double tolerance) {
  CHECK(fabsl(f.beta - exact[0]) <= tolerance * exact[0]);
  CHECK(fabsl(f.phi - exact[1]) <= tolerance * exact[1]);
  CHECK(fabsl(f.rise - exact[2]) <= tolerance * exact[2]);
}

static void logarithm_is_accurate_to_round_off(void) {
  uint64_t seed = 71;
  for (int trial = 0; trial < 100000; ++trial) {
    /* from far below 1 to far up to 1; the long double formulas cancel below 1e-3 */
    const double s =
        trial % 2 ? pow(10, check_random(&seed, -3, 0)) : 1 - pow(10, check_random(&seed, -10, 0));
    if (!(s > 1e-3 && s < 1)) {
      continue;
    }
    long double exact[3];
    exact_log(s, exact);
    check_factors(sap_barrier_log(s), exact, 2e-15);
  }
}

/* The series equal the formulas for all s that the loops use. */
static void series_equal_the_formulas(void) {
  uint64_t seed = 74;
  for (int trial = 0; trial < 100000; ++trial) {
    const double s = SAP_BARRIER_SMALL * pow(10, check_random(&seed, -6, 0));
    const struct sap_barrier_factors pairs[2][2] = {{sap_barrier_log(s), sap_barrier_log_small(s)},
                                                    {sap_barrier_exp(s), sap_barrier_exp_small(s)}};
    for (int p = 0; p < 2; ++p) {
      CHECK_CLOSE(pairs[p][0].beta, pairs[p][1].beta, 1e-15);
      CHECK_CLOSE(pairs[p][0].phi, pairs[p][1].phi, 1e-15);
      CHECK_CLOSE(pairs[p][0].rise, pairs[p][1].rise, 2e-15 * pairs[p][0].rise);
    }
  }
}

static void exponential_is_accurate_to_round_off(void) {
  uint64_t seed = 72;
  for (int trial = 0; trial < 100000; ++trial) {
    const double lambda = pow(10, check_random(&seed, -1, 2));
    const double s = pow(10, check_random(&seed, -12, 1));
    if (lambda * s > SAP_BARRIER_MOST_EXPONENT) {
      continue;
    }
    long double exact[3];
    /* e^x has the relative error of x: the product lambda s is rounded */
    const double x = lambda * s;
    exact_exp(x, 1, exact);
    check_factors(sap_barrier_exp(x), exact, 2e-15);
  }
}

/* The series are phi = 1 + 3s/4 + 2s^2/3, s phi' = 3s/4 + 4s^2/3, and phi = 1 + 3x/2, s phi' =
 * 3x/2 + 2x^2. */
static void series_at_small_s(void) {
  for (double s = 1e-300; s < 1e-5; s *= 10) {
    const struct sap_barrier_factors f = sap_barrier_log(s), g = sap_barrier_exp(s);
    CHECK_CLOSE(f.beta, 1 + s / 2 + s * s / 3, 1e-15);
    CHECK_CLOSE(f.phi, 1 + 3 * s / 4 + 2 * s * s / 3, 1e-15);
    CHECK_CLOSE(f.rise, 3 * s / 4 + 4 * s * s / 3, s * (1e-15 + 2 * s * s));
    CHECK_CLOSE(g.beta, 1 + s + s * s / 2, 1e-15);
    CHECK_CLOSE(g.phi, 1 + 3 * s / 2 + s * s, 1e-15);
    CHECK_CLOSE(g.rise, 3 * s / 2 + 2 * s * s, s * (1e-15 + 2 * s * s));
  }
  const struct sap_barrier_factors f = sap_barrier_log(0), g = sap_barrier_exp(0);
  CHECK(f.beta == 1 && f.phi == 1 && f.rise == 0);
  CHECK(g.beta == 1 && g.phi == 1 && g.rise == 0);
}

/* The factors go to phi = 1/(2 (1-s)) and s phi' = 1/(2 (1-s)^2). */
static void logarithm_near_its_wall(void) {
  for (int k = 5; k <= 36; ++k) {
    const double rest = ldexp(1, -k);
    const struct sap_barrier_factors f = sap_barrier_log(1 - rest);
    CHECK_CLOSE(2 * rest * f.phi, 1, 2 * k * rest);
    CHECK_CLOSE(2 * rest * rest * f.rise, 1, 3 * rest);
  }
}

static void outside_of_the_domain_is_infinite(void) {
  const struct sap_barrier_shape hard = {SAP_BARRIER_LOG, 1, 0, NULL},
                                 soft = {SAP_BARRIER_EXP, 1, 3, NULL},
                                 none = {SAP_BARRIER_NONE, 0, 0, NULL};
  CHECK(isfinite(sap_barrier_at(&hard, SAP_BARRIER_MOST).phi));
  CHECK(isinf(sap_barrier_at(&hard, 1).beta) && isinf(sap_barrier_at(&hard, 1).phi));
  CHECK(isinf(sap_barrier_at(&hard, INFINITY).rise));
  CHECK(isnan(sap_barrier_at(&hard, NAN).phi) && isnan(sap_barrier_at(&soft, NAN).phi));
  CHECK(isfinite(sap_barrier_at(&soft, 6.6).rise) && isinf(sap_barrier_at(&soft, 6.7).rise));
  CHECK(sap_barrier_at(&none, 1e9).phi == 1 && isinf(sap_barrier_most(&none)));
  CHECK(isinf(sap_barrier_cost_difference(&hard, 0.1, 0.5, 0.4)));
  CHECK(isinf(sap_barrier_cost_difference(&soft, 0.1, 1e5, 1e5)));
  CHECK(isnan(sap_barrier_cost_difference(&hard, 0.1, NAN, NAN)));
}

enum { NODES = 6 };
static const double node[NODES] = {0, 0.05, 0.2, 0.21, 0.6, 1.5};
static const double curvature[NODES] = {0.4, 1, 30, 2, 2, 1e4};

/* Fills slope and value of the table of these nodes. */
static sap_barrier_table make_table(double slope[NODES], double value[NODES]) {
  sap_barrier_integrate(NODES, node, curvature, slope, value);
  return (sap_barrier_table){NODES, node, curvature, slope, value};
}

/* Finds beta, phi and s phi' by Simpson's rule between nodes, exact for polynomials of degree 3. */
static void exact_table(double s, long double factors[3]) {
  long double slope = 0, value = 0, c = curvature[0];
  for (int j = 0; j < NODES && node[j] < s; ++j) {
    const long double end = j < NODES - 1 && node[j + 1] < s ? node[j + 1] : s, h = end - node[j];
    const long double m = j < NODES - 1 ? ((long double)curvature[j + 1] - curvature[j]) /
                                              ((long double)node[j + 1] - node[j])
                                        : 0;
    const long double middle = slope + h / 2 * (curvature[j] + m * h / 4);
    c = curvature[j] + m * h;
    const long double next = slope + h * (curvature[j] + c) / 2;
    value += h * (slope + 4 * middle + next) / 6;
    slope = next;
  }
  factors[0] = 2 * value / ((long double)s * s);
  factors[1] = slope / s;
  factors[2] = c - factors[1];
}

static void table_is_the_integral_of_its_curvature(void) {
  double slope[NODES], value[NODES];
  const sap_barrier_table table = make_table(slope, value);
  uint64_t seed = 75;
  CHECK(sap_barrier_table_check(&table, NULL) == SAP_OK);
  for (int trial = 0; trial < 20000; ++trial) {
    const double s = trial < NODES - 1 ? node[trial + 1] : pow(10, check_random(&seed, -3, 1));
    const struct sap_barrier_factors f = sap_barrier_table_at(&table, s);
    long double exact[3];
    exact_table(s, exact);
    CHECK(fabsl(f.beta - exact[0]) <= 4e-15L * exact[0]);
    CHECK(fabsl(f.phi - exact[1]) <= 4e-15L * exact[1]);
    CHECK(fabsl(f.rise - exact[2]) <= 4e-15L * (exact[1] + fabsl(exact[1] + exact[2])));
    CHECK(sap_barrier_table_stiffest(&table, s) >= (double)(exact[1] + exact[2]) * (1 - 1e-14));
    CHECK(sap_barrier_table_stiffest(&table, s) >= f.phi);
  }
  const struct sap_barrier_factors at_rest = sap_barrier_table_at(&table, 0);
  CHECK(at_rest.beta == 0.4 && at_rest.phi == 0.4 && at_rest.rise == 0);
  CHECK(sap_barrier_table_stiffest(&table, 0.205) == 30);
  const struct sap_barrier_shape barrier = {SAP_BARRIER_TABLE, 1, -1, &table};
  CHECK(isfinite(sap_barrier_at(&barrier, 1e100).phi));
  CHECK(isinf(sap_barrier_at(&barrier, INFINITY).phi) && isnan(sap_barrier_at(&barrier, NAN).phi));
}

/* A difference from a short step across a node keeps the digits of the step. */
static void differences_across_a_node_keep_short_steps(void) {
  double slope[NODES], value[NODES];
  const sap_barrier_table table = make_table(slope, value);
  for (int j = 1; j < NODES; ++j) {
    const double ds = 3e-13, s_a = node[j] - 1e-13, s_b = node[j] + 2e-13;
    const double found = sap_barrier_table_difference(&table, s_a, s_b, ds);
    CHECK_CLOSE(found / (slope[j] * ds), 1, 1e-9);
    CHECK_CLOSE(sap_barrier_table_difference(&table, s_b, s_a, -ds) / -found, 1, 1e-15);
  }
}

/* Changes one entry of a good table. */
static void check_wrong_table(int row, int32_t j, double entry, const char *argument) {
  double rows[4][NODES];
  make_table(rows[2], rows[3]);
  memcpy(rows[0], node, sizeof node);
  memcpy(rows[1], curvature, sizeof curvature);
  rows[row][j] = entry;
  const sap_barrier_table table = {NODES, rows[0], rows[1], rows[2], rows[3]};
  sap_error error = {0};
  CHECK(sap_barrier_table_check(&table, &error) == SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, argument);
  CHECK_EQUAL(error.index, j);
}

static void wrong_tables_are_refused(void) {
  const double wrong[] = {0, -1, NAN, INFINITY};
  for (int k = 0; k < 4; ++k) {
    check_wrong_table(0, 3, wrong[k], "barrier_table.s");
    check_wrong_table(1, 2, wrong[k], "barrier_table.curvature");
    check_wrong_table(2, 4, wrong[k], "barrier_table.slope");
    check_wrong_table(3, 5, wrong[k], "barrier_table.value");
  }
  check_wrong_table(0, 0, 1e-3, "barrier_table.s");
  check_wrong_table(2, 0, 1e-30, "barrier_table.slope");
  double slope[NODES], value[NODES];
  sap_barrier_table table = make_table(slope, value);
  CHECK(sap_barrier_table_check(NULL, NULL) == SAP_INVALID_ARGUMENT);
  table.n = 1;
  CHECK(sap_barrier_table_check(&table, NULL) == SAP_INVALID_ARGUMENT);
  table.n = NODES;
  table.value = NULL;
  CHECK(sap_barrier_table_check(&table, NULL) == SAP_INVALID_ARGUMENT);
}

static void cost_difference_is_that_of_the_costs(void) {
  uint64_t seed = 73;
  double slopes[NODES], values[NODES];
  const sap_barrier_table table = make_table(slopes, values);
  for (int trial = 0; trial < 20000; ++trial) {
    const double kappa = pow(10, check_random(&seed, -6, 6));
    const struct sap_barrier_shape barrier = {(sap_barrier)(1 + trial % 3), 1 / kappa,
                                              pow(10, check_random(&seed, -1, 1)), &table};
    const double l_a = 0.5 * kappa * pow(check_random(&seed, 0, 0.999), 2);
    const double l_b = 0.5 * kappa * pow(check_random(&seed, 0, 0.999), 2);
    const double b_a = l_a * sap_barrier_at(&barrier, sqrt(2 * l_a / kappa)).beta;
    const double b_b = l_b * sap_barrier_at(&barrier, sqrt(2 * l_b / kappa)).beta;
    const double difference = sap_barrier_cost_difference(&barrier, l_a, l_b, l_b - l_a);
    CHECK_CLOSE(difference, b_b - b_a, 2e-13 * (b_a + b_b));

    /* a tiny move: phi dl_0, to first order; the costs themselves would differ by round-off
     * alone */
    const double dl = 1e-13 * l_a;
    const double slope = sap_barrier_at(&barrier, sqrt(2 * l_a / kappa)).phi;
    CHECK_CLOSE(sap_barrier_cost_difference(&barrier, l_a, l_a + dl, dl), slope * dl,
                1e-9 * slope * dl);
  }
}

/* A deep contact gets the delta that makes rest feasible, any other one keeps its own. */
static void deep_contacts_become_feasible_at_rest(void) {
  const double delta = 1e-3, t = 0.02, R_n = 0.3, kappa = delta * delta / (t * t) / R_n;
  const struct sap_barrier_shape barrier = {SAP_BARRIER_LOG, 1 / kappa, 0, NULL};
  CHECK_CLOSE(sap_barrier_rest(0.7e-3 / t, 1 / R_n, 1 / kappa), 0.7, 1e-14);
  CHECK(sap_barrier_rest(-1, 1 / R_n, 1 / kappa) == 0);
  CHECK_CLOSE(sap_barrier_deepened(&barrier, kappa, 0.999 * delta / t, R_n), kappa, 0);
  const double deeper = sap_barrier_deepened(&barrier, kappa, 3 * delta / t, R_n);
  CHECK_CLOSE(sap_barrier_rest(3 * delta / t, 1 / R_n, 1 / deeper), 1 / 1.01, 1e-14);
  /* barely too deep: hardly any room */
  const double barely = sap_barrier_deepened(&barrier, kappa, 1.001 * delta / t, R_n);
  CHECK_CLOSE(sap_barrier_rest(1.001 * delta / t, 1 / R_n, 1 / barely), 1 - 1e-4, 2e-7);
  const struct sap_barrier_shape soft = {SAP_BARRIER_EXP, 1 / kappa, 4, NULL};
  CHECK_CLOSE(sap_barrier_deepened(&soft, kappa, 4.9 * delta / t, R_n), kappa, 0);
  CHECK_CLOSE(sqrt(sap_barrier_deepened(&soft, kappa, 5 * delta / t, R_n) / kappa), 2, 1e-14);
}

static const check_test tests[] = {
    CHECK_TEST(logarithm_is_accurate_to_round_off),
    CHECK_TEST(series_equal_the_formulas),
    CHECK_TEST(exponential_is_accurate_to_round_off),
    CHECK_TEST(series_at_small_s),
    CHECK_TEST(logarithm_near_its_wall),
    CHECK_TEST(outside_of_the_domain_is_infinite),
    CHECK_TEST(table_is_the_integral_of_its_curvature),
    CHECK_TEST(differences_across_a_node_keep_short_steps),
    CHECK_TEST(wrong_tables_are_refused),
    CHECK_TEST(cost_difference_is_that_of_the_costs),
    CHECK_TEST(deep_contacts_become_feasible_at_rest),
};
CHECK_FILE(test_rigid_core, tests);
