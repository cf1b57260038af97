/* Tests inverse dynamics: a table on four legs in closed form, bad input, memory. */
#include "check.h"
#include "counter.h"
#include "invdyn/invdyn_check.h"
#include "invdyn/warm_start.h"
#include "sapwood/invdyn.h"

/* A base that moves in a plane, x z and the turn about y, over two feet with a vertical and a
 * horizontal slider each: mass m, inertia 1, feet at x = -1 and 1, everything at rest. */
enum { M = 7, Q = 4, N = 2 };
static const double mass = 10.0, gravity = 9.81, dt = 1e-3;

struct table {
  double A[M * M], h[M], v[M], qdd[Q], J_n[N * M], J_t[N * 2 * M], mu[N], limit[Q];
  double tau[Q], forces[3 * N], v_plus[M], slack[Q];
  int8_t states[N];
  int32_t actuated[Q];
  int64_t ids[N];
  invdyn_problem problem;
  invdyn_solution solution;
};

static void set_table(struct table *t) {
  memset(t, 0, sizeof *t);
  t->A[0] = t->A[M + 1] = mass;
  t->A[2 * M + 2] = 1.0;
  t->h[1] = mass * gravity;
  for (int i = 0; i < N; ++i) {
    const double x = i ? 1.0 : -1.0;
    t->J_n[i * M + 1] = 1.0;
    t->J_n[i * M + 2] = -x;
    t->J_n[i * M + 3 + 2 * i] = -1.0; /* a leg that grows pushes its foot down */
    t->J_t[2 * i * M] = 1.0;
    t->J_t[2 * i * M + 2] = -1.0;
    t->J_t[2 * i * M + 4 + 2 * i] = 1.0;
    t->mu[i] = 0.5;
    t->ids[i] = 10 + i;
  }
  for (int i = 0; i < Q; ++i) {
    t->actuated[i] = 3 + i;
    t->A[(3 + i) * (M + 1)] = 0.1;
    t->limit[i] = 1e3;
  }
  t->problem = (invdyn_problem){.m = M,
                                .n_q = Q,
                                .n = N,
                                .dt = dt,
                                .actuated = t->actuated,
                                .M = t->A,
                                .h = t->h,
                                .v = t->v,
                                .qdd = t->qdd,
                                .J_n = t->J_n,
                                .J_t = t->J_t,
                                .mu = t->mu,
                                .ids = t->ids};
  t->solution = (invdyn_solution){.tau = t->tau,
                                  .forces = t->forces,
                                  .v_plus = t->v_plus,
                                  .slack = t->slack,
                                  .states = t->states};
}

static const invdyn_controller all[] = {INVDYN_LCP_NOSLIP, INVDYN_LCP_COULOMB, INVDYN_QP_NOSLIP,
                                        INVDYN_QP_COULOMB, INVDYN_ONE_STAGE,   INVDYN_LCP_NEAREST};

static struct table table;

static sap_status solve(const invdyn_settings *settings, const sap_allocator *allocator,
                        sap_error *error) {
  invdyn_solver *solver = NULL;
  sap_status status = invdyn_create(&solver, allocator, error);
  if (status == SAP_OK) {
    status = invdyn_solve(solver, settings, &table.problem, &table.solution, error);
    invdyn_destroy(solver);
  }
  return status;
}

/* ---- closed forms ---------------------------------------------------------------------------- */

static void every_controller_carries_the_weight(void) {
  set_table(&table);
  invdyn_settings settings = invdyn_settings_default();
  for (size_t c = 0; c < CHECK_COUNT(all); ++c) {
    settings.controller = all[c];
    REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
    CHECK_STRING(invdyn_outcome_text(table.solution.outcome), "solved");
    for (int i = 0; i < N; ++i) {
      CHECK_CLOSE(table.forces[3 * i + 2], 0.5 * mass * gravity, 1e-6);
      CHECK_CLOSE(table.tau[2 * i], 0.5 * mass * gravity, 1e-6);
      CHECK_EQUAL(table.states[i], INVDYN_STICK);
    }
    CHECK_CLOSE(table.solution.residuals.dynamics, 0.0, 1e-12);
    for (int i = 0; i < M; ++i) {
      CHECK_CLOSE(table.v_plus[i], 0.0, 1e-10);
    }
  }
}

/* The tangents of these feet may squeeze the ground with any force: the second stage leaves them
 * alone. */
static void least_torques_squeeze_nothing(void) {
  set_table(&table);
  const invdyn_settings settings = invdyn_settings_default();
  REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
  CHECK_CLOSE(table.tau[1], 0.0, 1e-6);
  CHECK_CLOSE(table.tau[3], 0.0, 1e-6);
}

/* The feet slide apart, as far as friction lets the horizontal sliders. */
static void sliding_feet_feel_friction(void) {
  set_table(&table);
  table.qdd[1] = -1.0;
  table.qdd[3] = 1.0;
  invdyn_settings settings = invdyn_settings_default();
  for (size_t c = 0; c < CHECK_COUNT(all); ++c) {
    settings.controller = all[c];
    REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
    const int holds = all[c] == INVDYN_LCP_NOSLIP || all[c] == INVDYN_QP_NOSLIP;
    CHECK_EQUAL(table.solution.outcome, holds ? INVDYN_INCONSISTENT_ACCELERATIONS : INVDYN_SOLVED);
    if (holds) { /* the nearest accelerations part the feet not at all */
      CHECK_CLOSE(table.qdd[3] + table.slack[3], table.qdd[1] + table.slack[1], 1e-6);
    } else if (all[c] == INVDYN_LCP_COULOMB || all[c] == INVDYN_LCP_NEAREST) {
      CHECK_CLOSE(table.forces[0], 0.5 * table.forces[2], 1e-9);
      CHECK_CLOSE(table.forces[3], -0.5 * table.forces[5], 1e-9);
      CHECK_EQUAL(table.states[0], INVDYN_SLIP);
    }
  }
}

/* The leg shortens faster than the base falls on it, and its foot slides meanwhile. */
static void a_lifted_foot_holds_nothing(void) {
  set_table(&table);
  table.qdd[0] = -50.0;
  table.qdd[1] = 20.0;
  invdyn_settings settings = invdyn_settings_default();
  settings.controller = INVDYN_LCP_NOSLIP;
  REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
  CHECK_STRING(invdyn_outcome_text(table.solution.outcome), "solved");
  CHECK_EQUAL(table.states[0], INVDYN_SEPARATE);
  for (int i = 0; i < 3; ++i) {
    CHECK_CLOSE(table.forces[i], 0.0, 0.0);
  }
  CHECK(table.forces[5] > 0.0);
  CHECK_CLOSE(table.solution.residuals.slip, 0.0, 1e-12);
}

/* Held, the foot that slides off turns the base, which lifts the other foot too, more slowly than
 * its own leg lifts it. Once it is let go, the base falls about the other foot, at (1, -1). */
static void a_lifted_foot_alone_lets_go(void) {
  set_table(&table);
  table.qdd[0] = -100.0;
  table.qdd[1] = -50.0;
  invdyn_settings settings = invdyn_settings_default();
  settings.controller = INVDYN_LCP_NOSLIP;
  REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
  CHECK_STRING(invdyn_outcome_text(table.solution.outcome), "solved");
  CHECK_EQUAL(table.states[0], INVDYN_SEPARATE);
  CHECK_EQUAL(table.states[1], INVDYN_STICK);
  const double turn = -dt * mass * gravity / (1.0 + 2.0 * mass);
  CHECK_CLOSE(table.v_plus[0], turn, 1e-12);
  CHECK_CLOSE(table.v_plus[1], turn, 1e-12);
  CHECK_CLOSE(table.v_plus[2], turn, 1e-12);
}

/* Both feet stand 0.1 beside the base, one 1e-4 lower: forces of 1000 times the weight could hold
 * its turn. It falls about them as if they were as low. */
static void feet_of_nearly_equal_heights_hold_no_turn(void) {
  const double beside = 0.1, lower = 1e-4;
  invdyn_settings settings = invdyn_settings_default();
  settings.rank_tolerance = 1e-3;
  const invdyn_controller holding[] = {INVDYN_LCP_NOSLIP, INVDYN_QP_NOSLIP};
  for (size_t c = 0; c < CHECK_COUNT(holding); ++c) {
    settings.controller = holding[c];
    set_table(&table);
    for (int i = 0; i < N; ++i) {
      table.J_n[i * M + 2] = -beside;
      table.J_t[2 * i * M + 2] = -1.0 - i * lower;
    }
    REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
    CHECK_STRING(invdyn_outcome_text(table.solution.outcome), "solved");
    const double inertia = 1.0 + mass * (1.0 + beside * beside);
    const double turn = -dt * mass * gravity * beside / inertia;
    CHECK_CLOSE(table.v_plus[2], turn, 1e-3 * fabs(turn));
    CHECK(fabs(table.forces[0]) < mass * gravity);
  }
}

/* The base is pushed by 30 N, which the least torques share evenly between two horizontal sliders.
 * Within 10 N the first leaves 20 N to the second; limits of others are too large to be reached. */
static void limits_are_held_without_slip(void) {
  const invdyn_controller convex[] = {INVDYN_QP_NOSLIP, INVDYN_QP_COULOMB};
  invdyn_settings settings = invdyn_settings_default();
  for (size_t c = 0; c < CHECK_COUNT(convex); ++c) {
    settings.controller = convex[c];
    set_table(&table);
    table.h[0] = -30.0;
    table.problem.torque_limit = table.limit;
    REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
    CHECK_CLOSE(table.tau[1], table.tau[3], 1e-6);
    const double direction = table.tau[1] > 0.0 ? 1.0 : -1.0;
    table.limit[0] = 1e9;
    table.limit[1] = 10.0;
    REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
    CHECK_STRING(invdyn_outcome_text(table.solution.outcome), "solved");
    CHECK_CLOSE(table.tau[1], 10.0 * direction, 1e-6);
    CHECK_CLOSE(table.tau[3], 20.0 * direction, 1e-6);
    CHECK_CLOSE(table.solution.residuals.slip, 0.0, 1e-12);
    table.limit[3] = 15.0; /* together less than the push */
    table.limit[0] = table.limit[2] = 40.0;
    REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
    CHECK_STRING(invdyn_outcome_text(table.solution.outcome), "torque_limited");
    CHECK(table.solution.residuals.torque > 0.0);
  }
}

/* The feet slide apart, which contacts that hold cannot do however weak the motors are. */
static void limits_hide_no_inconsistent_accelerations(void) {
  set_table(&table);
  table.qdd[1] = -1.0;
  table.qdd[3] = 1.0;
  table.problem.torque_limit = table.limit;
  invdyn_settings settings = invdyn_settings_default();
  settings.controller = INVDYN_QP_NOSLIP;
  REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
  CHECK_STRING(invdyn_outcome_text(table.solution.outcome), "inconsistent_accelerations");
  CHECK_CLOSE(table.qdd[3] + table.slack[3], table.qdd[1] + table.slack[1], 1e-6);
}

/* Normal impulses p of both feet minimise 1/2 m (2 p/m - g dt)^2 + rho p^2, so that
 * p = g dt/(2/m + rho). */
static void impulses_that_count_are_smaller(void) {
  invdyn_settings settings = invdyn_settings_default();
  settings.controller = INVDYN_ONE_STAGE;
  for (int k = 0; k < 3; ++k) {
    set_table(&table);
    settings.force_regularization = 0.1 * k;
    REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
    const double force = gravity / (2.0 / mass + settings.force_regularization);
    CHECK_CLOSE(table.forces[2], force, 1e-6 * force);
    CHECK_CLOSE(table.forces[5], force, 1e-6 * force);
  }
}

/* Returns the pivots of one more call, with contacts of these names. */
static int32_t pivots_of(invdyn_solver *solver, const invdyn_settings *settings, int64_t first,
                         int64_t second) {
  table.ids[0] = first;
  table.ids[1] = second;
  CHECK_EQUAL(invdyn_solve(solver, settings, &table.problem, &table.solution, NULL), SAP_OK);
  CHECK_EQUAL(table.solution.outcome, INVDYN_SOLVED);
  CHECK_CLOSE(table.forces[2] + table.forces[5], mass * gravity, 1e-6);
  return table.solution.pivots;
}

static void contacts_are_known_by_their_names(void) {
  for (size_t c = 0; c < CHECK_COUNT(all); ++c) {
    set_table(&table);
    table.h[0] = -1.0; /* pushed, so that friction has to hold */
    invdyn_settings settings = invdyn_settings_default();
    if (all[c] == INVDYN_LCP_NEAREST) {
      continue; /* it starts from torques, which have no names */
    }
    settings.controller = all[c];
    invdyn_solver *solver = NULL;
    REQUIRE(invdyn_create(&solver, NULL, NULL) == SAP_OK);
    const int32_t cold = pivots_of(solver, &settings, 10, 11);
    const int32_t warm = pivots_of(solver, &settings, 10, 11);
    CHECK(warm <= cold);
    if (all[c] == INVDYN_QP_COULOMB) { /* nothing is left to look for */
      CHECK(cold > 0);
      CHECK_EQUAL(warm, 0);
    }
    CHECK_EQUAL(pivots_of(solver, &settings, INT64_MAX, INT64_MIN), cold);
    pivots_of(solver, &settings, 7, 7);
    table.problem.ids = NULL;
    CHECK_EQUAL(pivots_of(solver, &settings, 0, 0), cold);
    table.problem.ids = table.ids;
    CHECK_EQUAL(pivots_of(solver, &settings, 7, 7), cold);
    invdyn_destroy(solver);
  }
}

/* All forces scale with the masses, and no mass is too small. */
static void the_unit_of_mass_does_not_matter(void) {
  const double unit = 1e-14;
  invdyn_settings settings = invdyn_settings_default();
  for (size_t c = 0; c < CHECK_COUNT(all); ++c) {
    settings.controller = all[c];
    set_table(&table);
    for (int i = 0; i < M * M; ++i) {
      table.A[i] *= unit;
    }
    table.h[1] *= unit;
    REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
    CHECK_STRING(invdyn_outcome_text(table.solution.outcome), "solved");
    CHECK_CLOSE(table.tau[0], 0.5 * mass * gravity * unit, 1e-6 * unit);
  }
}

/* ---- warm starts ---------------------------------------------------------------------------- */

static void carve_warm_start(void *context, struct sap_arena *arena) {
  const int32_t width[INVDYN_MOST_BLOCKS] = {2, 1, 0};
  invdyn_warm_start_carve(context, 3, width, 3, arena);
}

/* The first call has contacts 20 and 30. Of the three contacts of the second, 40 is new, and the
 * other two begin with the marks that they had. */
static void marks_follow_the_ids(void) {
  struct sap_block block = {0};
  struct invdyn_warm_start warm_start;
  const sap_allocator memory = sap_allocator_or_default(NULL);
  REQUIRE(sap_block_carve(&block, carve_warm_start, &warm_start, &memory));
  const int64_t before[] = {20, 30}, after[] = {40, 30, 20};
  const invdyn_problem two = {.n = 2, .ids = before}, three = {.n = 3, .ids = after};
  for (int32_t n_others = 1; n_others <= 3; ++n_others) {
    invdyn_warm_start_load(&warm_start, &two, 2);
    for (int8_t mark = 1; mark <= 8; ++mark) {
      warm_start.current[mark - 1] = mark;
    }
    invdyn_warm_start_store(&warm_start, &two);
    const int8_t *marks = invdyn_warm_start_load(&warm_start, &three, n_others);
    const int8_t expected[12] = {0, 0, 3, 4, 1, 2, 0, 6, 5};
    REQUIRE(marks != NULL);
    CHECK(memcmp(marks, expected, 9 + (size_t)n_others) == 0);
  }
  sap_block_release(&block, &memory);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void a_second_call_allocates_nothing(void) {
  for (size_t c = 0; c < CHECK_COUNT(all); ++c) {
    set_table(&table);
    invdyn_settings settings = invdyn_settings_default();
    settings.controller = all[c];
    struct counter counter = {.fail_at = -1};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    invdyn_solver *solver = NULL;
    REQUIRE(invdyn_create(&solver, &allocator, NULL) == SAP_OK);
    CHECK_EQUAL(invdyn_reserve(solver, &settings, &table.problem, NULL), SAP_OK);
    const long reserved = counter.allocations;
    for (int32_t n = N; n >= 0; --n) {
      table.problem.n = n;
      CHECK_EQUAL(invdyn_solve(solver, &settings, &table.problem, &table.solution, NULL), SAP_OK);
    }
    CHECK_EQUAL(counter.allocations, reserved);
    invdyn_destroy(solver);
    CHECK_EQUAL(counter.live, 0);
  }
}

static void every_allocation_may_fail(void) {
  for (size_t c = 0; c < CHECK_COUNT(all); ++c) {
    set_table(&table);
    invdyn_settings settings = invdyn_settings_default();
    settings.controller = all[c];
    sap_status status = SAP_OUT_OF_MEMORY;
    int32_t failures = -1;
    for (long at = 0; status != SAP_OK && at < 20; ++at) {
      struct counter counter = {.fail_at = at};
      const sap_allocator allocator = {counting_allocate, counting_release, &counter};
      status = solve(&settings, &allocator, NULL);
      CHECK(status == SAP_OK || status == SAP_OUT_OF_MEMORY);
      CHECK_EQUAL(counter.live, 0);
      ++failures;
    }
    CHECK_EQUAL(status, SAP_OK);
    CHECK(failures >= 2);
  }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refuses(const char *argument, int64_t index) {
  sap_error error = {0};
  const invdyn_settings settings = invdyn_settings_default();
  CHECK_EQUAL(solve(&settings, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, argument);
  CHECK_EQUAL(error.index, index);
  set_table(&table);
}

static void wrong_problems_are_named(void) {
  set_table(&table);
  table.A[3] = NAN;
  refuses("M", 3);
  table.mu[1] = -1.0;
  refuses("mu", 1);
  table.problem.dt = 0.0;
  refuses("dt", -1);
  table.actuated[2] = M;
  refuses("actuated", 2);
  table.actuated[2] = table.actuated[0];
  refuses("actuated", 2);
  table.problem.n_q = M + 1;
  refuses("n_q", -1);
  table.problem.m = -1;
  refuses("m", -1);
  table.problem.n = INT32_MAX;
  refuses("n", -1);
  table.problem.torque_limit = table.limit;
  table.limit[1] = 0.0;
  refuses("torque_limit", 1);
}

static void wrong_settings_are_named(void) {
  const struct {
    const char *name;
    invdyn_settings settings;
  } cases[] = {{"edges", {.edges = 5}},
               {"edges", {.edges = 2}},
               {"torque_regularization", {.edges = 4, .torque_regularization = -1.0}},
               {"force_regularization", {.edges = 4, .force_regularization = NAN}},
               {"rank_tolerance", {.edges = 4, .rank_tolerance = 1.0}},
               {"rank_tolerance", {.edges = 4, .rank_tolerance = NAN}}};
  set_table(&table);
  for (size_t i = 0; i < CHECK_COUNT(cases); ++i) {
    sap_error error = {0};
    CHECK_EQUAL(solve(&cases[i].settings, NULL, &error), SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, cases[i].name);
  }
  invdyn_settings settings = invdyn_settings_default();
  sap_error error = {0};
  const int none = 99;
  memcpy(&settings.controller, &none, sizeof none);
  CHECK_EQUAL(solve(&settings, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "controller");
  settings = invdyn_settings_default();
  memcpy(&settings.stage_one, &none, sizeof none);
  CHECK_EQUAL(solve(&settings, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "stage_one");
  settings = invdyn_settings_default();
  settings.controller = INVDYN_LCP_COULOMB;
  table.problem.torque_limit = table.limit;
  CHECK_EQUAL(solve(&settings, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "torque_limit");
  CHECK_STRING(invdyn_outcome_text(INVDYN_NON_FINITE), "non_finite");
  CHECK_STRING(invdyn_outcome_text((invdyn_outcome)(INVDYN_NON_FINITE + 1)), "unknown outcome");
}

static void overflow_leaves_zeros(void) {
  set_table(&table);
  invdyn_settings settings = invdyn_settings_default();
  for (size_t c = 0; c < CHECK_COUNT(all); ++c) {
    settings.controller = all[c];
    for (int i = 0; i < M; ++i) {
      table.h[i] = 1e308;
      table.v[i] = -1e308;
    }
    const struct {
      double *x;
      size_t n;
    } written[] = {{table.tau, Q}, {table.forces, 3 * N}, {table.v_plus, M}, {table.slack, Q}};
    for (size_t k = 0; k < CHECK_COUNT(written); ++k) {
      memset(written[k].x, 0x55, written[k].n * sizeof(double));
    }
    REQUIRE(solve(&settings, NULL, NULL) == SAP_OK);
    CHECK_EQUAL(table.solution.outcome, INVDYN_NON_FINITE);
    for (size_t k = 0; k < CHECK_COUNT(written); ++k) {
      for (size_t i = 0; i < written[k].n; ++i) {
        CHECK(written[k].x[i] == 0.0);
      }
    }
    CHECK(table.states[0] == INVDYN_SEPARATE && table.states[1] == INVDYN_SEPARATE);
    const invdyn_residuals none = {0};
    CHECK(memcmp(&table.solution.residuals, &none, sizeof none) == 0);
  }
}

static void limits_of_sizes_are_allowed_themselves(void) {
  const invdyn_settings settings = invdyn_settings_default();
  const int32_t most = 200000 / settings.edges;
  for (int32_t beyond = 0; beyond < 2; ++beyond) {
    const invdyn_problem problems[] = {
        {.m = 10000 + beyond}, {.m = 5, .n_q = 5 + beyond}, {.n = most + beyond}};
    for (size_t k = 0; k < CHECK_COUNT(problems); ++k) {
      CHECK_EQUAL(invdyn_check_sizes(&settings, &problems[k], NULL),
                  beyond ? SAP_INVALID_ARGUMENT : SAP_OK);
    }
  }
}

static const check_test tests[] = {
    CHECK_TEST(every_controller_carries_the_weight),
    CHECK_TEST(least_torques_squeeze_nothing),
    CHECK_TEST(sliding_feet_feel_friction),
    CHECK_TEST(a_lifted_foot_holds_nothing),
    CHECK_TEST(a_lifted_foot_alone_lets_go),
    CHECK_TEST(feet_of_nearly_equal_heights_hold_no_turn),
    CHECK_TEST(limits_are_held_without_slip),
    CHECK_TEST(limits_hide_no_inconsistent_accelerations),
    CHECK_TEST(impulses_that_count_are_smaller),
    CHECK_TEST(contacts_are_known_by_their_names),
    CHECK_TEST(the_unit_of_mass_does_not_matter),
    CHECK_TEST(marks_follow_the_ids),
    CHECK_TEST(a_second_call_allocates_nothing),
    CHECK_TEST(every_allocation_may_fail),
    CHECK_TEST(wrong_problems_are_named),
    CHECK_TEST(wrong_settings_are_named),
    CHECK_TEST(overflow_leaves_zeros),
    CHECK_TEST(limits_of_sizes_are_allowed_themselves),
};
CHECK_FILE(test_invdyn, tests);
