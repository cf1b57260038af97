/* Tests the errors of derivatives of solutions: they name wrong arguments and missing arrays. */
#include "physical.h"

static struct numbers gradient;
static struct answer solution, bar;

static void wrong_arguments_are_named(void) {
  uint64_t seed = 8;
  make(4, 8, &seed);
  solve(SAP_FRICTION_CONVEX, &solution);
  sap_sensitivity *s;
  sap_linear_point at;
  sap_coupling coupling;
  sap_error error;
  REQUIRE(sap_sensitivity_create(&s, NULL, NULL, NULL) == SAP_OK);
  point(&gradient);
  const sap_response bars = {.v = bar.v};
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "sensitivity");
  bar.v[1] = NAN;
  CHECK_EQUAL(sap_sensitivity_linearize(s, &physical.problem, &physical.parameters, bar.v, NULL,
                                        &at, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "v");
  sap_parameters released = physical.parameters;
  released.release = scene.R_n;
  CHECK_EQUAL(
      sap_sensitivity_linearize(s, &physical.problem, &released, solution.v, NULL, &at, &error),
      SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "release");
  REQUIRE(sap_sensitivity_linearize(s, &physical.problem, &physical.parameters, solution.v, NULL,
                                    &at, &error) == SAP_OK);
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "v_bar");
  CHECK_EQUAL(error.index, 1);
  bar.v[1] = 0;
  gradient.all.tau_d = NULL;
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "gradient");
  /* A and J may be left out */
  point(&gradient);
  gradient.all.A = gradient.all.J = NULL;
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, &error), SAP_OK);
  scene.R_n[3] = -1;
  CHECK_EQUAL(sap_sensitivity_linearize(s, &physical.problem, NULL, solution.v, NULL, &at, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "R_n");
  CHECK_EQUAL(error.index, 3);
  sap_sensitivity_destroy(s);
  sap_sensitivity_destroy(NULL);
}

/* The gradient with respect to R of a single constraint needs an array. */
static void arrays_of_one_constraint_are_missed(void) {
  uint64_t seed = 8;
  make(4, 8, &seed);
  constraints[1].n = 1;
  REQUIRE(sap_problem_sizes(&physical.problem, &scene.sizes, NULL) == SAP_OK);
  solve(SAP_FRICTION_CONVEX, &solution);
  sap_sensitivity *s = linearize(SAP_FRICTION_CONVEX, solution.v, NULL);
  sap_coupling coupling;
  sap_error error = {0};
  REQUIRE(s);
  fill(bar.v, scene.sizes.nv, &seed);
  const sap_response bars = {.v = bar.v};
  point(&gradient);
  gradient.groups[1].R = NULL;
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "gradient");
  sap_sensitivity_destroy(s);
}

static const check_test tests[] = {
    CHECK_TEST(wrong_arguments_are_named),
    CHECK_TEST(arrays_of_one_constraint_are_missed),
};
CHECK_FILE(test_sensitivity_faults, tests);
