/* Tests task control: closed forms, exact limits, memory and checks. */
#include <math.h>

#include "check.h"
#include "invdyn/tasks/held_contacts.h"
#include "invdyn/tasks/motors.h"
#include "invdyn/tasks/task_rows.h"
#include "sapwood/tasks.h"

/* A weight of 2 kg on a motor, whose task is an acceleration of 3 m/s^2. */
static const double M = 2, h = 20, T = 1, target = 3, weight = 1;
static const int32_t motor = 0;

static tasks_problem lift(const double *lower, const double *upper) {
  return (tasks_problem){.m = 1,
                         .n_q = 1,
                         .n_T = 1,
                         .actuated = &motor,
                         .M = &M,
                         .h = &h,
                         .T = &T,
                         .t = &target,
                         .w = &weight,
                         .lower = lower,
                         .upper = upper};
}

/* tau = M a + h for the acceleration of the task, or the limit and the acceleration that it gives.
 */
static void a_motor_lifts_what_its_limit_allows(void) {
  tasks_solver *solver;
  const tasks_settings settings = tasks_settings_default();
  REQUIRE(tasks_create(&solver, NULL, NULL) == SAP_OK);
  const double upper[] = {INFINITY, 30, 26.1, 15}, lower = -1;
  for (int i = 0; i < 4; ++i) {
    double a, tau;
    int8_t active[2] = {0};
    const tasks_problem problem = lift(&lower, &upper[i]);
    tasks_solution solution = {.a = &a, .tau = &tau, .active = active};
    CHECK_EQUAL(tasks_solve(solver, &settings, &problem, &solution, NULL), SAP_OK);
    CHECK_EQUAL(solution.outcome, TASKS_SOLVED);
    CHECK(tau <= upper[i]);
    CHECK_CLOSE(tau, fmin(26, upper[i]), 1e-4);
    CHECK_CLOSE(a, (tau - h) / M, 1e-9);
    CHECK_EQUAL(active[1], upper[i] < 26);
  }
  tasks_destroy(solver);
  tasks_destroy(NULL);
}

/* A block of 2 kg that no motor moves falls onto a contact with friction: N = 20 N carries it. Its
 * task along the ground gets at most mu N. */
static void friction_gives_at_most_mu_times_the_load(void) {
  tasks_solver *solver;
  const tasks_settings settings = {.edges = 4, .force_weight = 1e-6, .acceleration_weight = 1e-6};
  const double inertia[] = {2, 0, 0, 2}, load[] = {0, 20}, rows[] = {1, 0, 0, 1}, w[] = {1, 1e4};
  const double J[] = {1, 0, 0, 0, 0, 1}, mu = 0.5;
  REQUIRE(tasks_create(&solver, NULL, NULL) == SAP_OK);
  for (int i = 0; i < 2; ++i) {
    double a[2], f[3];
    const double t[] = {i ? 3 : 9, 0};
    const tasks_problem problem = {.m = 2,
                                   .n = 1,
                                   .n_T = 2,
                                   .M = inertia,
                                   .h = load,
                                   .T = rows,
                                   .t = t,
                                   .w = w,
                                   .J = J,
                                   .mu = &mu};
    tasks_solution solution = {.a = a, .forces = f};
    CHECK_EQUAL(tasks_solve(solver, &settings, &problem, &solution, NULL), SAP_OK);
    CHECK_EQUAL(solution.outcome, TASKS_SOLVED);
    CHECK_CLOSE(f[0], i ? 6 : 10, 2e-2);
    CHECK_CLOSE(f[2], 20, 2e-2);
    CHECK(f[0] <= mu * f[2] + 1e-8);
    CHECK_CLOSE(a[0], f[0] / 2, 1e-9);
  }
  tasks_destroy(solver);
}

static void wrong_problems_are_told(void) {
  tasks_solver *solver;
  sap_error error;
  tasks_settings settings = tasks_settings_default();
  REQUIRE(tasks_create(&solver, NULL, &error) == SAP_OK);
  const double low = 1, high = 0;
  double a, tau;
  tasks_solution solution = {.a = &a, .tau = &tau};
  tasks_problem problem = lift(&low, &high);
  CHECK_EQUAL(tasks_solve(solver, &settings, &problem, &solution, &error), SAP_INVALID_ARGUMENT);
  problem = lift(NULL, NULL);
  problem.n_q = 2;
  CHECK_EQUAL(tasks_solve(solver, &settings, &problem, &solution, &error), SAP_INVALID_ARGUMENT);
  problem = lift(NULL, NULL);
  problem.m = -1;
  CHECK_EQUAL(tasks_solve(solver, &settings, &problem, &solution, &error), SAP_INVALID_ARGUMENT);
  settings.edges = 3;
  CHECK_EQUAL(tasks_settings_check(&settings, &error), SAP_INVALID_ARGUMENT);
  tasks_destroy(solver);
}

static void outcomes_have_texts(void) {
  CHECK_STRING(tasks_outcome_text(TASKS_SOLVED), "solved");
  CHECK_STRING(tasks_outcome_text((tasks_outcome)17), "unknown outcome");
}

/* A hinge about z at the origin, its tree's centre of mass at (1, 0, 0): a point at (2, 0, 0) moves
 * along y with 2 w, and is accelerated by -2 w^2. */
static void a_point_on_a_hinge_turns(void) {
  const int32_t last_dof[] = {-1, 0}, root[] = {0, 1}, parent[] = {-1};
  const double w = 3.0, com[] = {0, 0, 0, 1, 0, 0}, qvel[] = {w};
  /* at the centre of mass: its velocity, and the rate of that as the body turns */
  const double cdof[] = {0, 0, 1, 0, 1, 0}, cdof_dot[6] = {0};
  const struct tasks_mechanism mechanism = {.nv = 1,
                                            .n_bodies = 2,
                                            .last_dof = last_dof,
                                            .root = root,
                                            .dof_parent = parent,
                                            .cdof = cdof,
                                            .cdof_dot = cdof_dot,
                                            .qvel = qvel,
                                            .com = com};
  const double point[] = {2, 0, 0}, frame[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  double J[3] = {0}, u[3], bias[3], scratch[3];
  const int32_t bodies[] = {0, 1}, back[] = {1, 0};
  tasks_find_contact(&mechanism, bodies, point, frame, scratch, J, u, bias);
  CHECK(J[0] == 0.0 && J[1] == 2.0 && J[2] == 0.0);
  CHECK(u[1] == 2.0 * w && bias[0] == -2.0 * w * w && bias[1] == 0.0);
  tasks_find_contact(&mechanism, back, point, frame, scratch, J, u, bias);
  CHECK(J[1] == -2.0 && u[1] == -2.0 * w && bias[0] == 2.0 * w * w);
}

/* A slider at x = 2 m with 3 m/s that is to be at 5 m: k (5 - 2) + d (0 - 3) + 1. */
static void a_joint_is_drawn_to_its_target(void) {
  const double qpos[] = {9, 2}, qvel[] = {0, 3}, position = 5, velocity = 0, feedforward = 1;
  const int32_t at = 1;
  const struct tasks_mechanism mechanism = {.nv = 2, .qpos = qpos, .qvel = qvel};
  const struct tasks_task task = {.kind = TASKS_JOINTS,
                                  .n = 1,
                                  .at = &at,
                                  .place = &at,
                                  .k = 10,
                                  .d = 2,
                                  .position = &position,
                                  .velocity = &velocity,
                                  .feedforward = &feedforward};
  double row[2] = {7, 7}, t;
  CHECK_EQUAL(tasks_count_rows(&task), 1);
  tasks_write_rows(&mechanism, &task, NULL, row, &t);
  CHECK(row[0] == 0.0 && row[1] == 1.0);
  CHECK_CLOSE(t, 25, 1e-12);
}

/* A listed contact replaces the nearest of the two held ones of its pair; the other stays
 * while its gap is small. The listed contact of another pair is new. */
static void listed_contacts_replace_the_nearest_held_ones(void) {
  struct tasks_contact contacts[] = {{.geoms = {0, 1}, .position = {0, 0, 0}},
                                     {.geoms = {0, 1}, .position = {1, 0, 0}},
                                     {.geoms = {0, 2}, .position = {5, 0, 0}},
                                     {.geoms = {0, 1}, .position = {0.9, 0, 0}}};
  int8_t dropped[4];
  int32_t chosen[4];
  CHECK_EQUAL(tasks_merge_contacts(contacts, 2, 4, 1e-3, dropped, chosen), 3);
  CHECK(chosen[0] == 0 && chosen[1] == 3 && chosen[2] == 2);
  contacts[0].gap = 2e-3;
  CHECK_EQUAL(tasks_merge_contacts(contacts, 2, 4, 1e-3, dropped, chosen), 2);
  CHECK(chosen[0] == 3 && chosen[1] == 2);
}

/* A servo with b = -3 q at q = 2 and |c u| <= 10 gives -16 to 4 N m, of which -5 to 5 are allowed;
 * one whose range of forces no control reaches keeps the nearest end. */
static void a_servo_gives_what_its_range_allows(void) {
  const int32_t at[] = {0, 0};
  const double bias[] = {0, 0, -3, -3, 0, 0}, by_control[] = {-10, -1, 10, 1};
  const double by_force[] = {-5, 2, 5, 3}, q = 2, v = 7;
  const struct tasks_motors motors = {2, at, at, bias, by_control, by_force};
  double b[2], lower[2], upper[2];
  tasks_bound_torques(&motors, &q, &v, b, lower, upper);
  CHECK(b[0] == -6.0 && lower[0] == -5.0 && upper[0] == 4.0);
  CHECK(lower[1] == -5.0 && upper[1] == -5.0);
}

static void a_mass_matrix_is_filled_from_its_lower_triangle(void) {
  const double lower[] = {1, 2, 3}, expected[] = {1, 2, 2, 3};
  const int32_t count[] = {1, 2}, begin[] = {0, 1}, column[] = {0, 0, 1};
  double full[4];
  tasks_fill_mass(2, lower, count, begin, column, full);
  for (int i = 0; i < 4; ++i) {
    CHECK_EQUAL(full[i], expected[i]);
  }
}

static const check_test tests[] = {CHECK_TEST(a_motor_lifts_what_its_limit_allows),
                                   CHECK_TEST(friction_gives_at_most_mu_times_the_load),
                                   CHECK_TEST(wrong_problems_are_told),
                                   CHECK_TEST(outcomes_have_texts),
                                   CHECK_TEST(a_point_on_a_hinge_turns),
                                   CHECK_TEST(a_joint_is_drawn_to_its_target),
                                   CHECK_TEST(listed_contacts_replace_the_nearest_held_ones),
                                   CHECK_TEST(a_servo_gives_what_its_range_allows),
                                   CHECK_TEST(a_mass_matrix_is_filled_from_its_lower_triangle)};
CHECK_FILE(test_tasks, tests);
