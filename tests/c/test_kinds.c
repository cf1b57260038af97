/* Tests the table of kinds of clamped rows: parameters become R, v_hat and bounds by the formulas
 * of sapwood.h, and every kind obeys its cost. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "constraints/kinds/kinds.h"

/* The rows belong to a mass of 2 kg on a line. */
static void parameters_become_rows(void) {
  const int32_t one = 1, zero = 0, world = -1;
  const double A = 2, J = 1, v_star = 0;
  const sap_problem problem = {.n_trees = 1, .tree_nv = &one, .A = &A, .v_star = &v_star};
  const double dt = 0.01, sigma = 1e-3, w = 0.5;
  const double R_nr = 0.01 * w / (4 * 9.869604401089358);
  const struct {
    sap_kind kind;
    double parameter[7], R, v_hat, lower, upper, release, most;
  } cases[] = {
      {SAP_LIMIT, {-0.02, 100, 0.03}, 1 / (dt * 100 * 0.04), 0.5, 0, INFINITY, 0, 0},
      {SAP_LIMIT, {0.02, INFINITY, 0}, R_nr, -2, 0, INFINITY, 0, 0},
      {SAP_BILATERAL,
       {0.04, 100, 0.03, -5, INFINITY},
       1 / (dt * 100 * 0.04),
       -1,
       -0.05,
       INFINITY,
       0,
       0},
      {SAP_CONTROLLER,
       {100, 4, 0.1, 0.2, 0.5, 3, 7},
       1 / (dt * 5),
       (100 * 0.1 + 4 * 0.5 + 3) / 5,
       -0.07,
       0.07,
       0,
       0},
      /* gains scaled by R_nr^-1/(dt 1e9 (dt + 2)), at Kp/Kd as given */
      {SAP_CONTROLLER,
       {1e9, 2e9, 0.1, 0.2, 0.5, 3, INFINITY},
       R_nr,
       (0.1 + 2 * 0.5) / 2.01 + 3 * dt * R_nr,
       -INFINITY,
       INFINITY,
       0,
       0},
      {SAP_DRY_FRICTION, {6, INFINITY}, sigma * w, 0, -0.06, 0.06, 1e-9, 0},
      /* slow: in proportion to the slip, but no less than the least sigma */
      {SAP_DRY_FRICTION, {6, 1}, sigma * w, 0, -0.06, 0.06, 0, 0},
      {SAP_DRY_FRICTION, {6, 0.25}, 0.25 * sigma * w, 0, -0.06, 0.06, 0, 0},
      {SAP_DRY_FRICTION, {6, 1e-4}, 1e-6 * w, 0, -0.06, 0.06, 0, 0},
      {SAP_DRY_FRICTION, {6, 0}, 1e-6 * w, 0, -0.06, 0.06, 0, 0},
      /* rigid and violated: held back, softer, at rest with the impulse of before */
      {SAP_LIMIT, {-0.02, INFINITY, 0}, R_nr * 0.1 / 2, 0.1, 0, INFINITY, 0.1, 0},
      {SAP_LIMIT, {-0.004, INFINITY, 0}, R_nr * 0.1 / 0.4, 0.1, 0, INFINITY, 0.1, 0},
      {SAP_BILATERAL,
       {0.02, INFINITY, 0.01, -INFINITY, INFINITY},
       R_nr * 0.1 / 1,
       -0.1,
       -INFINITY,
       INFINITY,
       0.1,
       0},
      /* or with the one that is given, where that is less, of what is held back alone */
      {SAP_LIMIT, {-0.02, INFINITY, 0}, R_nr * 0.1 / 2, 0.1, 0, INFINITY, 0.1, 3 / R_nr},
      {SAP_LIMIT, {-0.02, INFINITY, 0}, R_nr * 0.1 / 1.5, 0.1, 0, INFINITY, 0.1, 1.5 / R_nr},
      {SAP_LIMIT, {-0.0005, INFINITY, 0}, R_nr, 0.05, 0, INFINITY, 0.1, 1e-9},
      /* open, slow and compliant rows are not held back */
      {SAP_LIMIT, {0.02, INFINITY, 0}, R_nr, -2, 0, INFINITY, 0.1, 0},
      {SAP_LIMIT, {-0.0005, INFINITY, 0}, R_nr, 0.05, 0, INFINITY, 0.1, 0},
      {SAP_LIMIT, {-0.02, 100, 0.03}, 1 / (dt * 100 * 0.04), 0.5, 0, INFINITY, 0.1, 0},
      /* nor a stiffness that was given, where the time step is too long for it */
      {SAP_LIMIT, {-0.02, 1e12, 0}, R_nr, 2, 0, INFINITY, 0.1, 0},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    const sap_constraints row = {
        .kind = cases[k].kind, .n = 1, .tree_a = &zero, .tree_b = &world, .J = &J};
    const double *values[7];
    for (int p = 0; p < 7; ++p) {
      values[p] = &cases[k].parameter[p];
    }
    const double *release = cases[k].release > 0 ? &cases[k].release : NULL;
    const double *most = cases[k].most > 0 ? &cases[k].most : NULL;
    const sap_group_parameters parameters = {dt,     sigma,   0.1,  SAP_DELASSUS_BLOCK,
                                             values, release, most, NULL};
    double R, v_hat, lower, upper;
    REQUIRE(sap_regularize_group(&problem, &row, &parameters, &R, &v_hat, &lower, &upper, NULL,
                                 NULL) == SAP_OK);
    CHECK_CLOSE(R, cases[k].R, 1e-14 * R);
    CHECK_CLOSE(v_hat, cases[k].v_hat, 1e-14);
    CHECK(lower == cases[k].lower && upper == cases[k].upper);
    CHECK(sap_kind_parameters(cases[k].kind) >= 1);
  }
  CHECK(strcmp(sap_kind_name(SAP_CONTROLLER), "controller") == 0);
  CHECK(strcmp(sap_kind_parameter(SAP_BILATERAL, 2), "tau_d") == 0);
  CHECK_EQUAL(sap_kind_parameters(SAP_N_KINDS), 0);
}

/* Makes random parameters that obey the rules of a kind. */
static void random_parameters(const struct sap_kind_entry *kind, double *parameter,
                              uint64_t *seed) {
  double bound = check_random(seed, -20, -10); /* the lower one comes first */
  for (int32_t p = 0; p < kind->n_parameters; ++p) {
    const enum sap_rule rule = kind->parameter[p].rule;
    const int is_bound = rule == SAP_LOWER_BOUND || rule == SAP_UPPER_BOUND;
    bound += is_bound ? check_random(seed, 0, 15) : 0;
    parameter[p] = rule == SAP_FINITE     ? check_random(seed, -0.1, 0.1)
                   : is_bound             ? bound
                   : rule == SAP_POSITIVE ? pow(10, check_random(seed, 2, 6))
                                          : check_random(seed, 0.01, 30);
  }
}

/* Checks gamma = -dl/dv_c, G = -dgamma/dv_c and convexity for every kind of the table. */
static void every_kind_obeys_its_cost(void) {
  const int32_t one = 1, zero = 0, world = -1;
  const double A = 2, J = 1, v_star = 0, dt = 0.01;
  const sap_problem problem = {.n_trees = 1, .tree_nv = &one, .A = &A, .v_star = &v_star};
  uint64_t seed = 86;
  for (int kind = 0; kind < SAP_N_KINDS; ++kind) {
    const sap_constraints row = {
        .kind = (sap_kind)kind, .n = 1, .tree_a = &zero, .tree_b = &world, .J = &J};
    int within = 0, beyond = 0;
    for (int trial = 0; trial < 200; ++trial) {
      double parameter[SAP_MOST_PARAMETERS];
      const double *values[SAP_MOST_PARAMETERS];
      random_parameters(sap_kinds[kind], parameter, &seed);
      for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
        values[p] = &parameter[p];
      }
      const sap_group_parameters given = {dt,     1e-3, 0.1,  SAP_DELASSUS_BLOCK,
                                          values, NULL, NULL, NULL};
      double R, v_hat, lower, upper, gamma[3], G[3], cost[3];
      REQUIRE(sap_regularize_group(&problem, &row, &given, &R, &v_hat, &lower, &upper, NULL,
                                   NULL) == SAP_OK);
      /* a velocity at which y is of the size of the bounds, and two beside it */
      const double reach = fmin(fmax(fabs(lower), upper), 1);
      const double v_c = v_hat - R * check_random(&seed, -3, 3) * reach, h = 1e-5 * R * reach;
      for (int k = 0; k < 3; ++k) {
        const double y = (v_hat - (v_c + (k - 1) * h)) / R;
        sap_clamp(1, &y, &R, &lower, &upper, &gamma[k], &G[k], &cost[k]);
      }
      const double size = reach * fabs(gamma[1]) + reach * reach;
      CHECK_CLOSE((cost[0] - cost[2]) / (2 * h), gamma[1], 1e-4 * size / reach);
      CHECK_CLOSE(cost[0] + cost[2] - 2 * cost[1], h * h * G[1], 1e-9 * R * size + h * h / R);
      CHECK(cost[0] + cost[2] >= 2 * cost[1] - 1e-9 * R * size);
      if (G[0] == G[2]) {
        CHECK_CLOSE((gamma[0] - gamma[2]) / (2 * h), G[1], 1e-6 / R);
      }
      within += G[1] > 0;
      beyond += G[1] == 0;
    }
    CHECK(within > 20 && beyond > 20);
  }
}

/* A rule lets some of these values through, by its text. */
static const double samples[] = {NAN, -INFINITY, -1, 0, 1, INFINITY};
static const struct {
  const char *rule, *allowed;
} rules[] = {{"must be finite", "--+++-"},
             {"must be finite and >= 0", "---++-"},
             {"must be > 0", "----++"},
             {"must be below infinity", "-++++-"},
             {"must be above -infinity", "--++++"},
             {"must be >= 0", "---+++"}};

static const char *allowed_by(const char *rule) {
  for (size_t k = 0; k < CHECK_COUNT(rules); ++k) {
    if (strcmp(rules[k].rule, rule) == 0) {
      return rules[k].allowed;
    }
  }
  return "a rule that this test does not know";
}

/* Every parameter of every kind is refused by name where it breaks its rule, and nowhere else. */
static void every_parameter_obeys_its_rule(void) {
  const int32_t one = 1, zero = 0, world = -1;
  const double A = 2, J = 1, v_star = 0;
  const sap_problem problem = {.n_trees = 1, .tree_nv = &one, .A = &A, .v_star = &v_star};
  uint64_t seed = 87;
  for (int kind = 0; kind < SAP_N_KINDS; ++kind) {
    const sap_constraints row = {
        .kind = (sap_kind)kind, .n = 1, .tree_a = &zero, .tree_b = &world, .J = &J};
    double parameter[SAP_MOST_PARAMETERS];
    const double *values[SAP_MOST_PARAMETERS];
    for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
      values[p] = &parameter[p];
    }
    const sap_group_parameters given = {0.01,   1e-3, 0.1,  SAP_DELASSUS_BLOCK,
                                        values, NULL, NULL, NULL};
    for (int32_t p = 0; p < sap_kind_parameters((sap_kind)kind); ++p) {
      const char *rule = sap_kind_rule((sap_kind)kind, p), *allowed = allowed_by(rule);
      REQUIRE(strlen(allowed) == CHECK_COUNT(samples));
      for (size_t k = 0; k < CHECK_COUNT(samples); ++k) {
        sap_error error = {.rule = ""};
        double R, v_hat, lower, upper;
        random_parameters(sap_kinds[kind], parameter, &seed);
        parameter[p] = samples[k];
        const sap_status status =
            sap_regularize_group(&problem, &row, &given, &R, &v_hat, &lower, &upper, NULL, &error);
        CHECK_EQUAL(strcmp(error.rule, rule) == 0, allowed[k] == '-');
        if (allowed[k] == '-') {
          CHECK_EQUAL(status, SAP_INVALID_ARGUMENT);
          CHECK_STRING(error.argument, sap_kind_parameter((sap_kind)kind, p));
          CHECK_EQUAL(error.kind, SAP_ERROR_ENTRY);
          CHECK_EQUAL(error.index, 0);
        }
      }
    }
  }
  CHECK_STRING(sap_kind_rule(SAP_LIMIT, 3), "unknown parameter");
}

static const check_test tests[] = {
    CHECK_TEST(parameters_become_rows),
    CHECK_TEST(every_kind_obeys_its_cost),
    CHECK_TEST(every_parameter_obeys_its_rule),
};
CHECK_FILE(test_kinds, tests);
