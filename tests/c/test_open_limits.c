/* Tests the inactive set of limits: which limits may enter it, and which become active. */
#include <math.h>

#include "check.h"
#include "step/inactive/open_limits.h"

enum { DOFS = 3, LIMITS = 3 };

static struct sap_limit_side limits[2 * LIMITS];
static double velocity[2 * LIMITS], v_0[DOFS], v_star[DOFS];
static uint8_t must_act[2 * LIMITS];

static struct sap_open_limits make(void) {
  memset(must_act, 0, sizeof must_act);
  return (struct sap_open_limits){.may_be_inactive = 1,
                                  .dt = 0.1,
                                  .v_0 = v_0,
                                  .v_star = v_star,
                                  .limits = limits,
                                  .velocity = velocity,
                                  .must_act = must_act};
}

static const int32_t columns[DOFS] = {0, 1, 2};
static const double entries[DOFS] = {1, 1, 1};

/* Takes a limit by its row, as the gathering of limits does. */
static int take(struct sap_open_limits *open, const struct sap_limit_side *side) {
  const double rate = sap_engine_product(&side->row, v_0);
  struct sap_limit_side *taken =
      sap_open_limits_take(open, side->side, side->sign, side->phi0, side->h, rate,
                           sap_engine_product(&side->row, v_star));
  if (taken) {
    taken->dof = side->dof;
    taken->row = side->row;
  }
  return taken != NULL;
}

static struct sap_limit_side side_of(int32_t dof, double sign, double phi0) {
  return (struct sap_limit_side){.side = 2 * dof + (sign < 0),
                                 .dof = dof,
                                 .row = {1, &columns[dof], &entries[dof]},
                                 .sign = sign,
                                 .phi0 = phi0,
                                 .h = 0.2};
}

/* A limit closes within twice 0.2 s at -1 or -1 + 0.1 (-10) m/s, or was closed 0.22 s ago at 1
 * m/s. */
static void those_that_are_far_from_closing_wait(void) {
  struct sap_open_limits open = make();
  const struct {
    double v, a, sign, phi0;
    int may_be_inactive;
  } cases[] = {
      {-1, 0, 1, 0.41, 1},   {-1, 0, 1, 0.39, 0},  {1, 0, 1, 0.23, 1},   {1, 0, 1, 0.21, 0},
      {1, 50, 1, 0.23, 1},   {1, 0, -1, 0.39, 0},  {1, 0, -1, 0.41, 1},  {-1, -10, 1, 0.79, 0},
      {-1, -10, 1, 0.81, 1}, {-1, 10, 1, 0.39, 0}, {1, -20, 1, 0.39, 0}, {0, 0, 1, 1e-9, 1},
      {0, 0, 1, 0, 0},       {1, 0, 1, -0.1, 0},   {NAN, 0, 1, 1, 0},    {0, NAN, 1, 1, 0},
      {0, 0, 1, NAN, 0},
  };
  for (size_t c = 0; c < CHECK_COUNT(cases); ++c) {
    v_0[1] = cases[c].v;
    v_star[1] = cases[c].v + open.dt * cases[c].a;
    const struct sap_limit_side side = side_of(1, cases[c].sign, cases[c].phi0);
    open.n = 0;
    CHECK_EQUAL(take(&open, &side), cases[c].may_be_inactive);
    CHECK_EQUAL(open.n, cases[c].may_be_inactive);
  }
  open.may_be_inactive = 0;
  v_0[1] = v_star[1] = 0;
  const struct sap_limit_side far = side_of(1, 1, 1);
  CHECK_EQUAL(take(&open, &far), 0);
}

static void those_that_close_at_the_velocity_found_must_act(void) {
  struct sap_open_limits open = make();
  memset(v_0, 0, sizeof v_0);
  memset(v_star, 0, sizeof v_star);
  for (int32_t dof = 0; dof < DOFS; ++dof) {
    for (int side = 0; side < 2; ++side) {
      const struct sap_limit_side limit = side_of(dof, side ? -1 : 1, 0.1);
      CHECK_EQUAL(take(&open, &limit), 1);
    }
  }
  /* 0.1 + 0.2 v: at -1/2 it is just not closed */
  CHECK_EQUAL(sap_open_limits_check(&open, (const double[]){-0.499, 0.501, -0.6}), 2);
  const uint8_t expected[] = {0, 0, 0, 1, 1, 0};
  for (int i = 0; i < 2 * LIMITS; ++i) {
    CHECK_EQUAL(must_act[i], expected[i]);
  }
  CHECK(velocity[2] == 0.501 && velocity[3] == -0.501);
  /* they do not wait again in this step */
  open.n = 0;
  const struct sap_limit_side upper = side_of(1, -1, 0.1), lower = side_of(1, 1, 0.1);
  CHECK_EQUAL(take(&open, &upper), 0);
  CHECK_EQUAL(take(&open, &lower), 1);
}

/* The distance phi grows by 2 v_0 - v_2. */
static void limits_of_tendons_wait_by_their_rows(void) {
  struct sap_open_limits open = make();
  const int32_t column[] = {0, 2};
  const double value[] = {2, -1};
  struct sap_limit_side side = {
      .side = 1, .dof = -1, .row = {2, column, value}, .sign = -1, .h = 0.2};
  memcpy(v_0, (const double[]){1, 5, 0.5}, sizeof v_0);
  memcpy(v_star, (const double[]){1.2, 5.9, 0.4}, sizeof v_star);
  side.phi0 = 0.79; /* 0.4 s at -1.5 - 0.1 (5) m/s */
  CHECK_EQUAL(take(&open, &side), 0);
  side.phi0 = 0.81;
  CHECK_EQUAL(take(&open, &side), 1);
  CHECK_EQUAL(sap_open_limits_check(&open, (const double[]){2, 9, -0.04}), 0);
  CHECK_CLOSE(velocity[0], -4.04, 1e-15);
  CHECK_EQUAL(sap_open_limits_check(&open, (const double[]){2, 9, -0.06}), 1);
  CHECK_EQUAL(must_act[1], 1);
}

static const check_test tests[] = {
    CHECK_TEST(those_that_are_far_from_closing_wait),
    CHECK_TEST(those_that_close_at_the_velocity_found_must_act),
    CHECK_TEST(limits_of_tendons_wait_by_their_rows),
};
CHECK_FILE(test_open_limits, tests);
