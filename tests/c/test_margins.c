/* Tests margins of speculative contacts by hand, and which of these contacts leave the list. */

#include "engine.h"

static void margins_stay_where_they_are_not_asked_for(void) {
  struct setting s;
  sap_mujoco_world world;
  make(&s);
  open_world(&s, &world);
  filter_callback = control;
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  filter_callback = NULL;
  s.stepper->settings.speculative = 0;
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_STRING(engine.stages, "kmfnrtqvwuasekmfnrtqvwuase");
  sap_stepper_destroy(s.stepper);
}

/* Makes a setting that says that its pairs are too many to be looked at one by one. */
static void make_crowd(struct setting *s) {
  make(s);
  s->api.model.pair_dim = -1;
}

/* Margins are found by hand, for 5/4 of a step of 10 ms under a gravity of 5 m/s^2. */
static void margins_hold_what_geoms_travel(void) {
  const double time = 0.0125, fall = 0.01 * 5.0;
  struct setting s;
  sap_mujoco_world world;
  make_crowd(&s);
  open_world(&s, &world);
  const double v[NV] = {3, 4, -12, -2, 5};
  memcpy(s.m.qvel, v, sizeof v);
  s.geom_xpos[3 * 4] = 0.3;
  s.geom_type[1] = 2;      /* a sphere */
  s.geom_margin[2] = 7.0;  /* the larger margin counts */
  s.geom_margin[3] = -0.1; /* on purpose */
  s.geom_gap[4] = 0.01;
  s.body_margin[5] = 0.6;
  s.pair_margin[0] = 0.01;
  s.pair_geom1[0] = 1;
  s.pair_geom2[0] = 4;
  double of_four[3];
  velocity(&s.m, 4, s.geom_xpos + 3 * 4, of_four);
  const double speed =
      sqrt(of_four[0] * of_four[0] + of_four[1] * of_four[1] + of_four[2] * of_four[2]);
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);

  const double one = time * (13 + fall), four = time * (speed + 3 * 0.1 + fall);
  const double expected[GEOMS] = {0, one, 7.0, -0.1, four, 0};
  for (int g = 0; g < GEOMS; ++g) {
    CHECK_CLOSE(engine.geom_margin[g], expected[g], 1e-14);
  }
  CHECK_CLOSE(engine.body_margin[4], four + 0.01, 1e-14);
  CHECK_CLOSE(engine.body_margin[5], 0.6, 0);
  CHECK_CLOSE(engine.pair[0].margin, one + four, 1e-14);
  CHECK(s.geom_margin[1] == 0 && s.pair_margin[0] == 0.01);

  /* at rest, and at a hundredth of what a step of gravity makes */
  memset(s.m.qvel, 0, sizeof s.m.qvel);
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_CLOSE(engine.geom_margin[1], time * 0.1 * fall, 1e-14);
  memset(s.m.qvel, 0, sizeof s.m.qvel);
  s.m.qvel[1] = 0.01 * fall;
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_CLOSE(engine.geom_margin[1], time * (0.01 + 0.1 + 0.04) * fall, 1e-14);
  sap_stepper_destroy(s.stepper);
}

/* Geoms that meet no other have none, unless there are explicit pairs. */
static void what_meets_nothing_needs_no_margin(void) {
  for (int n_pairs = 0; n_pairs < 2; ++n_pairs) {
    struct setting s;
    sap_mujoco_world world;
    make_crowd(&s);
    s.model.npair = n_pairs;
    open_world(&s, &world);
    s.m.qvel[0] = 1.0;
    s.m.qvel[4] = 1.0;
    s.geom_contype[1] = s.geom_conaffinity[1] = 0;
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
    CHECK_EQUAL(engine.geom_margin[1] > 0.0, n_pairs);
    CHECK(engine.geom_margin[2] > 0.0 && engine.geom_margin[3] > 0.0);
    sap_stepper_destroy(s.stepper);
  }
}

/* A sphere moves along the normal of its only contact, at 1 m/s. */
static void what_cannot_close_leaves_the_list(void) {
  static const struct {
    double speed, dist, margin;
    int kept;
  } cases[] = {{-1, 0.0125 * 2.04, 0, 1}, {-1, 0.0125 * 2.06, 0, 0}, {1, 0.0125 * 0.04, 0, 1},
               {1, 0.0125 * 0.06, 0, 0},  {1, 0.01, 0.02, 1},        {1, -0.01, 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct setting s;
    sap_mujoco_world world;
    make(&s);
    open_world(&s, &world);
    s.geom_type[1] = 2;
    s.geom_margin[1] = cases[i].margin;
    struct engine_contact *contact = s.l.contacts;
    contact->dist = cases[i].dist;
    for (int j = 0; j < 3; ++j) {
      s.m.qvel[j] = cases[i].speed * contact->frame[j];
    }
    CHECK_EQUAL(sap_mujoco_start(&world), SAP_STEP_TAKEN);
    CHECK_EQUAL(s.data.ncon, 1 + cases[i].kept);
    CHECK_EQUAL(s.l.contacts[s.data.ncon - 1].geom[1], 4);
    sap_stepper_destroy(s.stepper);
  }
}

/* A capsule of radius 0.1 that turns at 10 rad/s about its only contact, whose point rests: its far
 * end may close at 1 m/s. A sphere has none. */
static void the_far_end_of_what_turns_is_seen(void) {
  static const struct {
    int type, kept;
    double dist, normal[3];
  } cases[] = {{3, 1, 0.0125 * 2.04, {0, 0, 1}},
               {3, 0, 0.0125 * 2.06, {0, 0, 1}},
               {2, 1, 0.0125 * 0.04, {0, 0, 1}},
               {2, 0, 0.0125 * 0.06, {0, 0, 1}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct setting s;
    sap_mujoco_world world;
    make(&s);
    open_world(&s, &world);
    s.geom_type[4] = cases[i].type;
    struct engine_contact *contact = s.l.contacts;
    contact->dist = cases[i].dist;
    contact->geom[1] = 4;
    memcpy(contact->pos, s.m.q1, sizeof contact->pos);
    memcpy(contact->frame, cases[i].normal, sizeof cases[i].normal);
    memset(s.m.qvel, 0, sizeof s.m.qvel);
    s.m.qvel[3] = 10.0;
    CHECK_EQUAL(sap_mujoco_start(&world), SAP_STEP_TAKEN);
    CHECK_EQUAL(s.data.ncon, 1 + cases[i].kept);
    CHECK_EQUAL(s.l.contacts[s.data.ncon - 1].geom[0], 1);
    sap_stepper_destroy(s.stepper);
  }
}

/* Speculative contacts need more room than the model's own ones. */
static void without_room_margins_are_the_models(void) {
  struct setting s;
  sap_mujoco_world world;
  make(&s);
  open_world(&s, &world);
  engine.full_of_margins = 1;
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_STRING(engine.stages, "kmfprnrtqvwuase");
  CHECK_EQUAL(s.data.contacts_full, 0);
  CHECK_EQUAL(world.record.contacts, 2);
  CHECK(world.record.fallbacks & SAP_FALLBACK_MODEL_CONTACTS);
  engine.full_of_margins = 0;
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK(!(world.record.fallbacks & SAP_FALLBACK_MODEL_CONTACTS));
  sap_stepper_destroy(s.stepper);
}

static const check_test tests[] = {
    CHECK_TEST(margins_stay_where_they_are_not_asked_for),
    CHECK_TEST(margins_hold_what_geoms_travel),
    CHECK_TEST(what_meets_nothing_needs_no_margin),
    CHECK_TEST(what_cannot_close_leaves_the_list),
    CHECK_TEST(the_far_end_of_what_turns_is_seen),
    CHECK_TEST(without_room_margins_are_the_models),
};
CHECK_FILE(test_margins, tests);
