/* Tests the speed at which violations are released: the rule by itself, and its use for rows of
 * contacts and elements. */
#include <math.h>

#include "check.h"
#include "model.h"
#include "step/joints/release.h"

enum { ROWS = 7 };

/* With K = 1/s^2 and B = 2/s, T = B/K + 1/sqrt(K) = 3 s; with constants 100 times as fast 30 ms. */
#define SLOW (1.0 / 3)
#define FAST (1.0 / 0.03)

static void the_rule_follows_depth_and_growth(void) {
  const struct {
    struct sap_violation row;
    double expected;
  } cases[] = {
      /* free: slow enough, or half of it grown since the step before */
      {{.depth = 0.01, .full = 0.1, .rate = FAST}, INFINITY},
      {{.depth = 0.01, .full = 4, .growth = 2, .rate = FAST}, INFINITY},
      /* contacts and limits part no faster than they have come */
      {{.depth = 0.01, .full = 2, .growth = 2, .one_sided = 1, .rate = FAST}, INFINITY},
      {{.depth = 0.01, .full = 4, .growth = 2, .one_sided = 1, .rate = FAST}, 2},
      {{.depth = 0.01, .full = 0.11, .growth = 0.06, .one_sided = 1, .rate = FAST}, 0.1},
      {{.depth = 0.01, .full = 4, .growth = 1.99, .one_sided = 1, .rate = FAST}, 1.0 / 3},
      {{.depth = 0.01, .full = 4, .growth = 2, .one_sided = 1, .driven = 1}, INFINITY},
      /* released: at V/2, or as the engine does */
      {{.depth = 0.01, .full = 0.11, .rate = SLOW}, 0.05},
      {{.depth = 0.01, .full = 4, .rate = FAST}, 1.0 / 3},
      {{.depth = 0.01, .full = 4, .growth = 1.99, .rate = FAST}, 1.0 / 3},
      {{.depth = 0.3, .full = 4, .rate = SLOW}, 0.1},
      /* a violation that opens by itself, without a drive, is not pushed */
      {{.depth = 0.01, .full = 4, .growth = -3, .rate = FAST}, 1.0 / 3},
      {{.depth = 0.01, .full = 4, .growth = -3, .driven = 1, .rate = FAST}, INFINITY},
      {{.depth = 0.01, .full = 0.35, .driven = 1, .rate = SLOW}, INFINITY},
      {{.depth = 0.01, .full = 0.36, .driven = 1, .rate = SLOW}, SAP_DRIVEN * 0.1 / 2},
      /* an engine that is not known, or that corrects nothing */
      {{.depth = 10, .full = 4}, 0.05},
  };
  for (size_t c = 0; c < CHECK_COUNT(cases); ++c) {
    CHECK_CLOSE(sap_release_of(&cases[c].row, 0.1), cases[c].expected, 1e-15);
    CHECK(sap_release_of(&cases[c].row, INFINITY) == INFINITY);
  }
  /* a speed above that of driven rows is theirs too */
  const struct sap_violation driven = {.depth = 0.01, .full = 1, .driven = 1};
  CHECK(sap_release_of(&driven, 1) == INFINITY);
  CHECK_CLOSE(sap_release_of(&driven, 0.2), 0.35, 1e-15);
}

/* The speed V = 0.1 m/s is that of the mass 1/w in a step, over the near-rigid R = w/(4 pi^2) of
 * a contact. */
static void a_driven_row_carries_what_a_contact_does(void) {
  const double w = 0.25, dt = 0.002, tau_d = 0.003, I = 0.9, V = 0.1;
  const double depth = V * (dt + tau_d), R = w / 39.478417604357434;
  CHECK_CLOSE(sap_driven_force(dt, V, I / ((1 - I) * w), I), depth / (dt + tau_d) / R / dt, 1e-9);
}

/* The blocks of A are those of M, and there are no forces. */
static const double A_of_M[9 + 4] = {2, 0, 0, 0, 2, 0, 0, 0, 2, 5, 1, 1, 3};
static const double no_change[NV];
static double row_motion[NV];

/* The engine corrects all rows alike: contact 1, and the elements 0. */
static double rate_of(const void *engine, sap_engine_row kind, int32_t index) {
  CHECK(engine == no_change);
  CHECK_EQUAL(index, kind == SAP_ROW_CONTACT);
  return FAST;
}

/* Returns a release of V = 0.1 m/s and rad/s in steps of 10 ms. */
static struct sap_release release_of(const struct model *m, const double *v) {
  return (struct sap_release){.forest = &m->forest,
                              .dt = 0.01,
                              .speed = 0.1,
                              .rate = 0.1,
                              .v = v,
                              .M = m->M,
                              .A = A_of_M,
                              .change = no_change,
                              .motion = row_motion,
                              .rate_of = rate_of,
                              .engine = no_change};
}

/* The contacts belong to one tree and to two, with velocities found by hand. */
static void contacts_are_judged_by_their_normal_velocity(void) {
  uint64_t seed = 71;
  struct model m;
  make_model(&m, &seed);
  const int8_t driven[GEOMS] = {0, 0, 0, 0, 0, 1};
  for (int trial = 0; trial < 20; ++trial) {
    double J[3 * NV], u = 0;
    for (int i = 0; i < 3 * NV; ++i) {
      J[i] = check_random(&seed, -1, 1);
    }
    for (int i = 0; i < NV; ++i) {
      m.qvel[i] = check_random(&seed, -1, 1);
      /* row 2 of the block of tree 0, 3 x 3, and of that of tree 1, 3 x 2 */
      u -= (i < 3 ? J[6 + i] : J[9 + 4 + i - 3]) * m.qvel[i];
    }
    const struct sap_release release = release_of(&m, m.qvel);
    const struct sap_listed_contact contact = {.index = 1, .geom = {1, 5}};
    const int32_t trees[2] = {0, 1};
    const double tau_d = 0.02, time = 0.01 + tau_d;
    /* just free, and just beyond */
    const double free = fmax(0.1, u), inside = free * (1 - 1e-9);
    const double V = fmax(0.1, 2 * u), outside = V * (1 + 1e-9);
    m.forest.geom_driven = NULL;
    CHECK(sap_release_contact(&release, &contact, trees, J, inside * time, tau_d) == INFINITY);
    CHECK(V == free ||
          fabs(sap_release_contact(&release, &contact, trees, J, V * 0.999 * time, tau_d) - free) <
              1e-14);
    CHECK_CLOSE(sap_release_contact(&release, &contact, trees, J, outside * time, tau_d),
                fmax(0.05, outside * time / 0.03), 1e-12);
    /* faces are no contacts of the engine */
    const struct sap_listed_contact face = {.index = -1, .geom = {1, 5}};
    CHECK_CLOSE(sap_release_contact(&release, &face, trees, J, outside * time, tau_d), 0.05, 1e-15);
    /* open ones are as they are */
    CHECK(sap_release_contact(&release, &contact, trees, J, -0.01, tau_d) == INFINITY);

    m.forest.geom_driven = driven;
    const double most = fmax(SAP_DRIVEN * 0.1, 2 * fabs(u)), beyond = most * (1 + 1e-9) * time;
    CHECK(sap_release_contact(&release, &contact, trees, J, most * 0.999 * time, tau_d) ==
          INFINITY);
    CHECK_CLOSE(sap_release_contact(&release, &contact, trees, J, beyond, tau_d),
                fmax(SAP_DRIVEN * 0.1 / 2, beyond / 0.03), 1e-12);

    /* a row of tree 1 only */
    const int32_t one[2] = {1, -1};
    const double dense = -(J[4] * m.qvel[3] + J[5] * m.qvel[4]);
    m.forest.geom_driven = NULL;
    const double at = fmax(0.1, dense) * time;
    CHECK(sap_release_contact(&release, &contact, one, J, at * 0.999, tau_d) == INFINITY);
    CHECK(sap_release_contact(&release, &contact, one, J, at * 1.001, tau_d) < INFINITY);
  }
}

/* Limits of one entry and of whole rows, an equality constraint of three rows in two trees, and a
 * group that is not released, in this order. */
static void rows_of_elements_are_judged_one_by_one(void) {
  uint64_t seed = 72;
  struct model m;
  make_model(&m, &seed);
  const double v[NV] = {0.5, -0.25, 0.125, 1, -2};
  double g[ROWS] = {-0.02, -0.02, 0.03, -0.03, 0.0005, -1, -1}, tau_d[ROWS] = {0}, k[ROWS];
  double released[ROWS], most[ROWS], lower[ROWS], upper[ROWS];
  double scale[ROWS] = {1, 1, 1, 2, 1, 1, 1};
  uint8_t is_angle[ROWS] = {0};
  struct sap_row_label label[ROWS] = {
      {.element = SAP_ELEMENT_JOINT, .index = 0, .row = -1},
      {.element = SAP_ELEMENT_TENDON, .index = 0, .row = 0},
      {.element = SAP_ELEMENT_EQUALITY, .index = 0, .row = 1},
      {.element = SAP_ELEMENT_EQUALITY, .index = 0, .row = 1},
      {.element = SAP_ELEMENT_EQUALITY, .index = 0, .row = 1},
      {.element = SAP_ELEMENT_DOF, .index = 0, .row = 0},
      {.element = SAP_ELEMENT_DOF, .index = 1, .row = 0},
  };
  const double KBIP[4 * 2] = {[6] = 0.5};

  /* the limit of dof 3 opens with 1 m/s; the second, of tree 1, closes with 0.5 (1) - 1 (-2) */
  const int32_t limit_size[2] = {1, 1}, limit_a[2] = {1, 1}, limit_b[2] = {-1, -1};
  const int32_t limit_dof[2] = {0, -1};
  const double limit_J[1 + 2] = {1, -0.5, 1};
  /* rows of tree 0, then of tree 1: rates 0.5 + 1, -0.25 - 2 and 0 */
  const int32_t point_size[1] = {3}, point_a[1] = {0}, point_b[1] = {1};
  const double point_J[9 + 6] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0};
  const int32_t friction_size[2] = {1, 1}, friction_a[2] = {0, 0}, friction_b[2] = {-1, -1};
  const int32_t friction_dof[2] = {0, 1};
  const double friction_J[2] = {1, 1};

  sap_elements elements = {.n_equalities = 1};
  struct sap_element_gather gather = {.groups = {{.kind = SAP_LIMIT,
                                                  .n = 2,
                                                  .size = limit_size,
                                                  .tree_a = limit_a,
                                                  .tree_b = limit_b,
                                                  .dof = limit_dof,
                                                  .J = limit_J},
                                                 {.kind = SAP_BILATERAL,
                                                  .n = 1,
                                                  .size = point_size,
                                                  .tree_a = point_a,
                                                  .tree_b = point_b,
                                                  .J = point_J},
                                                 {.kind = SAP_DRY_FRICTION,
                                                  .n = 2,
                                                  .size = friction_size,
                                                  .tree_a = friction_a,
                                                  .tree_b = friction_b,
                                                  .dof = friction_dof,
                                                  .J = friction_J}},
                                      .first_row = {0, 2, 5, 7},
                                      .n_groups = 3,
                                      .n_rows = ROWS,
                                      .label = label,
                                      .value = {g, k, tau_d, lower, upper},
                                      .scale = scale,
                                      .release = released,
                                      .release_impulse = most,
                                      .is_angle = is_angle,
                                      .elements = &elements};
  const struct sap_release release = release_of(&m, v);
  for (int i = 0; i < ROWS; ++i) {
    released[i] = most[i] = k[i] = upper[i] = INFINITY;
    lower[i] = -INFINITY;
  }
  sap_release_elements(&release, &gather);
  /* the second grew with 2.5 */
  const double expected[ROWS] = {0.02 / 0.03, INFINITY, INFINITY, INFINITY,
                                 INFINITY,    INFINITY, INFINITY};
  CHECK_ALL_CLOSE(released, expected, ROWS, 1e-15);
  /* nothing is damped: what they carry is not bounded */
  CHECK(most[0] == INFINITY);
  CHECK_EQUAL(gather.n_released, 1);

  /* against their motion each of the rows is a violation of the start */
  const double back[NV] = {-0.5, 0.25, -0.125, -1, 2};
  const struct sap_release against = release_of(&m, back);
  for (int i = 0; i < ROWS; ++i) {
    released[i] = INFINITY;
  }
  g[0] = -0.03; /* closes with 1, full correction is 3 */
  sap_release_elements(&against, &gather);
  const double reverse[ROWS] = {1, 0.02 / 0.03, 1, 1, INFINITY, INFINITY, INFINITY};
  CHECK_ALL_CLOSE(released, reverse, ROWS, 1e-12);
  for (int i = 0; i < ROWS; ++i) {
    CHECK(most[i] == INFINITY);
  }
  CHECK_EQUAL(gather.n_released, 4);

  /* rows of angles have a speed of their own */
  struct sap_release turns = against;
  turns.rate = 0.3;
  is_angle[0] = 1;
  sap_release_elements(&turns, &gather);
  CHECK_CLOSE(released[0], 1, 1e-12);
  turns.rate_of = NULL;
  sap_release_elements(&turns, &gather);
  CHECK_CLOSE(released[0], 0.15, 1e-15);
  is_angle[0] = 0;
  sap_release_elements(&against, &gather);

  /* a stiffness that was given is not touched */
  k[1] = 1e12;
  released[0] = released[1] = INFINITY;
  sap_release_elements(&against, &gather);
  CHECK(released[0] < INFINITY && released[1] == INFINITY);
  k[1] = INFINITY;

  /* an equality that a mocap body drives has no sign */
  const int32_t driven[1] = {1};
  elements.equality_driven = driven;
  for (int i = 0; i < ROWS; ++i) {
    released[i] = INFINITY;
  }
  sap_release_elements(&against, &gather);
  CHECK(released[2] == INFINITY && released[3] == INFINITY && released[1] < INFINITY);
  CHECK(lower[2] == -INFINITY && upper[2] == INFINITY);

  /* and pulls with no more than its force, on what a stiffness was not given to */
  const double D[2] = {NAN, 4};
  struct sap_release pulls = against;
  pulls.D = D;
  pulls.KBIP = KBIP;
  k[4] = 1e12;
  sap_release_elements(&pulls, &gather);
  CHECK_CLOSE(upper[2], sap_driven_force(0.01, 0.1, 4, 0.5), 1e-9);
  CHECK_CLOSE(upper[3], sap_driven_force(0.01, 0.1, 1, 0.5), 1e-9);
  CHECK(lower[2] == -upper[2] && upper[4] == INFINITY && upper[1] == INFINITY);

  /* and what is released with that at rest */
  const double still[NV] = {0};
  pulls.v = still;
  sap_release_elements(&pulls, &gather);
  CHECK(released[2] < INFINITY && released[3] < INFINITY);
  CHECK_CLOSE(most[2], 0.01 * upper[2], 1e-12);
  CHECK_CLOSE(most[3], 0.01 * upper[3], 1e-12);
  CHECK(most[0] == INFINITY);

  pulls.speed = INFINITY;
  upper[2] = INFINITY;
  sap_release_elements(&pulls, &gather);
  CHECK(upper[2] == INFINITY && gather.n_released == 0);
}

/* Tests limits with implicit damping: one with one entry and one with two, for velocities with M =
 * (5, 1; 1, 3), if the forces change the velocities by dv. */
static void what_is_damped_is_pressed_by_its_mass_or_its_load(void) {
  uint64_t seed = 73;
  struct model m;
  make_model(&m, &seed);
  const double still[NV] = {0}, D = 20;
  const int32_t size[2] = {1, 1}, tree_a[2] = {1, 1}, tree_b[2] = {-1, -1}, dof[2] = {0, -1};
  const double J[3] = {1, -0.5, 1};
  double g[2] = {-0.02, -0.02}, tau_d[2] = {0}, k[2] = {INFINITY, INFINITY}, released[2], most[2];
  uint8_t is_angle[2] = {0};
  struct sap_row_label label[2] = {{.element = SAP_ELEMENT_JOINT, .row = -1},
                                   {.element = SAP_ELEMENT_TENDON, .row = -1}};
  sap_elements elements = {0};
  struct sap_element_gather gather = {.groups = {{.kind = SAP_LIMIT,
                                                  .n = 2,
                                                  .size = size,
                                                  .tree_a = tree_a,
                                                  .tree_b = tree_b,
                                                  .dof = dof,
                                                  .J = J}},
                                      .first_row = {0, 2},
                                      .n_groups = 1,
                                      .n_rows = 2,
                                      .label = label,
                                      .value = {g, k, tau_d},
                                      .release = released,
                                      .release_impulse = most,
                                      .is_angle = is_angle,
                                      .elements = &elements};
  struct sap_release release = release_of(&m, still);
  double A[9 + 4], change[NV] = {0};
  memcpy(A, A_of_M, sizeof A);
  A[9] += D;
  A[12] += D;
  release.A = A;
  release.change = change;
  most[0] = most[1] = INFINITY;
  sap_release_elements(&release, &gather);
  /* by 4 pi^2 0.5 m/s of the mass without damping: y = (1/5, 0), and (-0.1, 1/3) */
  const double J_y = 0.05 + 1.0 / 3, yMy = 5 * 0.01 + 2 * (-0.1 / 3) + 3.0 / 9;
  const double per_mass = 39.478417604357434 * 0.5;
  CHECK_CLOSE(most[0], per_mass * 5, 1e-11);
  CHECK_CLOSE(most[1], per_mass * yMy / (J_y * J_y), 1e-11);
  /* less depth gives less, in proportion */
  g[0] = -0.003;
  most[0] = INFINITY;
  sap_release_elements(&release, &gather);
  CHECK_CLOSE(most[0], per_mass * 5 * 0.3 / 0.5, 1e-11);

  /* under a load twice the impulse that holds dof 3, or the motion y: f = A dv = (-1000, 0) */
  const double f = -1000, determinant = A[9] * A[12] - A[10] * A[11];
  change[3] = A[12] * f / determinant;
  change[4] = -A[11] * f / determinant;
  most[0] = most[1] = INFINITY;
  sap_release_elements(&release, &gather);
  CHECK_CLOSE(most[0], 2000, 1e-9);
  CHECK_CLOSE(most[1], per_mass * yMy / (J_y * J_y), 1e-11); /* the load pulls it out */
  change[3] *= -1;
  change[4] *= -1;
  sap_release_elements(&release, &gather);
  CHECK_CLOSE(most[0], per_mass * 5 * 0.3 / 0.5, 1e-11);
  CHECK_CLOSE(most[1], 2 * 0.1 * 1000 / J_y, 1e-9);
}

static const check_test tests[] = {
    CHECK_TEST(the_rule_follows_depth_and_growth),
    CHECK_TEST(a_driven_row_carries_what_a_contact_does),
    CHECK_TEST(contacts_are_judged_by_their_normal_velocity),
    CHECK_TEST(rows_of_elements_are_judged_one_by_one),
    CHECK_TEST(what_is_damped_is_pressed_by_its_mass_or_its_load),
};
CHECK_FILE(test_release, tests);
