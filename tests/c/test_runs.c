/* Tests runs of many steps. */

#include "engine.h"
#include "mujoco/stages/open_contacts.h"

/* It knows whether it is locked, was left, and how often it was asked whether to stop. */
struct watch {
  int locked, left, asked, stop_at;
};

static void lock(void *context) {
  struct watch *w = context;
  CHECK(w->locked == w->left);
  w->locked++;
}

static void leave(void *context) { ((struct watch *)context)->left++; }

static int stop(void *context, double now) {
  struct watch *w = context;
  CHECK(now > 0);
  return ++w->asked == w->stop_at;
}

/* Makes contacts so shallow that the engine's rows say nothing of how fast they may come apart. */
static void make_shallow(struct setting *s) {
  make(s);
  for (int i = 0; i < s->l.list.count; ++i) {
    s->l.contacts[i].dist = -1e-4;
  }
}

static void a_run_is_its_steps(void) {
  struct setting s, other;
  sap_mujoco_world world;
  sap_step_record records[10];
  struct watch watch = {.stop_at = 3};
  make_shallow(&other);
  open_world(&other, &world);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  }
  make_shallow(&s);
  open_world(&s, &world);
  world.hooks = (sap_step_hooks){&watch, lock, leave, stop};
  int64_t notable = -1;
  /* told to stop, it takes one more step, which leaves all */
  CHECK_EQUAL(sap_mujoco_run(&world, 10, records, &notable), 4);
  CHECK_EQUAL(notable, 0);
  CHECK_EQUAL(sap_mujoco_run(&world, 6, records + 4, NULL), 6);
  /* not asked after the last step */
  CHECK(watch.locked == 10 && watch.left == 10 && watch.asked == 3 + 5);
  CHECK(memcmp(s.m.qvel, other.m.qvel, sizeof s.m.qvel) == 0);
  for (int i = 0; i < 10; ++i) {
    CHECK_CLOSE(records[i].time, 0.01 * (i + 1), 1e-15);
  }
  engine.error = "at once";
  CHECK_EQUAL(sap_mujoco_run(&world, 5, NULL, NULL), 0);
  CHECK_EQUAL(world.end.failure, SAP_STEP_MUJOCO);
  sap_stepper_destroy(s.stepper);
  sap_stepper_destroy(other.stepper);
}

static const char full[] = "kmfprtqvwuase", lean[] = "iolmfptvuae";

/* All stages run in the last step, and where it is told to stop; else those run that the next one
 * needs. */
static void only_the_last_step_leaves_all(void) {
  struct setting s;
  sap_mujoco_world world;
  struct watch watch = {.stop_at = 1};
  char expected[64];
  make_shallow(&s);
  open_world(&s, &world);
  CHECK_EQUAL(sap_mujoco_run(&world, 3, NULL, NULL), 3);
  (void)snprintf(expected, sizeof expected, "%s%s%s", lean, lean, full);
  CHECK_STRING(engine.stages, expected);
  engine.n_stages = 0;
  world.hooks = (sap_step_hooks){&watch, NULL, NULL, stop};
  CHECK_EQUAL(sap_mujoco_run(&world, 3, NULL, NULL), 2);
  (void)snprintf(expected, sizeof expected, "%s%s", lean, full);
  CHECK_STRING(engine.stages, expected);
  engine.n_stages = 0;
  watch.asked = 0;
  other_callback = s.api.mj_Euler;
  CHECK_EQUAL(sap_mujoco_run(&world, 3, NULL, NULL), 1);
  CHECK_STRING(engine.stages, full);
  other_callback = NULL;
  sap_stepper_destroy(s.stepper);
}

enum {
  LEAN,
  PLUGIN,
  HISTORY,
  FLEX,
  ENABLED,
  UNKNOWN_FRICTION,
  UNKNOWN_EQUALITY,
  UNKNOWN_LIMIT,
  STICKS,
  ON_BODY,
  LITTLE_MEMORY,
  CASES
};

static void what_needs_all_gets_it(void) {
  for (int c = 0; c < CASES; ++c) {
    struct setting s;
    sap_mujoco_world world;
    make_shallow(&s);
    s.model.enableflags = c == ENABLED ? 1 << 5 : 1 << 0;
    open_world(&s, &world);
    s.model.nplugin = c == PLUGIN;
    s.model.nhistory = c == HISTORY;
    s.model.nflex = c == FLEX;
    s.model.neq = c == UNKNOWN_EQUALITY;
    s.model.njnt = s.model.nactuator = 1;
    s.jnt_limited[0] = c == UNKNOWN_LIMIT;
    s.actuator_trntype[0] = c == ON_BODY ? 5 : 4;
    s.geom_adhesion[GEOMS - 1] = c == STICKS;
    s.dof_frictionloss[NV - 1] = c == UNKNOWN_FRICTION;
    s.data.narena = c == LITTLE_MEMORY ? 1 << 10 : 1 << 20;
    CHECK_EQUAL(sap_mujoco_run(&world, 2, NULL, NULL), 2);
    char expected[64];
    const char *first = c == LEAN ? lean : c == LITTLE_MEMORY ? "iolmfprtvuae" : full;
    (void)snprintf(expected, sizeof expected, "%s%s", first, full);
    CHECK_STRING(engine.stages, expected);
    sap_stepper_destroy(s.stepper);
  }
}

/* A lean step that fails is repeated in full, and leaves the state of a failing step. */
static void a_lean_step_that_fails_leaves_all(void) {
  struct setting s;
  sap_mujoco_world world;
  make_shallow(&s);
  open_world(&s, &world);
  s.l.contacts[0].dist = NAN;
  CHECK_EQUAL(sap_mujoco_run(&world, 3, NULL, NULL), 0);
  CHECK(world.end.failure == SAP_STEP_FAULT && world.end.code == SAP_FAULT_CONTACT &&
        world.end.index == 0);
  CHECK_STRING(engine.stages, "iolmfptvuakmfprtqvwua");
  sap_stepper_destroy(s.stepper);
  /* the engine counts what it had no room for once */
  make_shallow(&s);
  open_world(&s, &world);
  engine.full = 1;
  CHECK_EQUAL(sap_mujoco_run(&world, 3, NULL, NULL), 0);
  CHECK(world.end.failure == SAP_STEP_MEMORY && s.data.contacts_full == 1);
  sap_stepper_destroy(s.stepper);
}

/* A rigid contact that is far too deep is corrected at the rate of the engine, without its rows. */
static void deep_contacts_need_no_rows(void) {
  struct setting s;
  sap_mujoco_world world;
  make_shallow(&s);
  open_world(&s, &world);
  for (int g = 0; g < GEOMS; ++g) {
    s.m.stiffness[g] = INFINITY;
    s.m.barrier[g] = SAP_BARRIER_NONE;
  }
  s.l.contacts[0].dist = s.l.contacts[1].dist = -10.0;
  CHECK_EQUAL(sap_mujoco_run(&world, 2, NULL, NULL), 2);
  CHECK(s.stepper->gather.release[0] < INFINITY);
  char expected[64];
  (void)snprintf(expected, sizeof expected, "%s%s", lean, full);
  CHECK_STRING(engine.stages, expected);
  sap_stepper_destroy(s.stepper);
}

/* An open contact without force goes behind the list; rows and contacts refer to their place. */
static void open_contacts_leave_the_list(void) {
  struct setting s;
  sap_mujoco_world world;
  make_shallow(&s);
  s.l.contacts[0].dist = 1.0;
  const int row = s.l.contacts[1].row;
  open_world(&s, &world);
  s.stepper->settings.speculative = 0; /* the list is that of the engine, which moves nothing */
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_EQUAL(s.data.ncon, 2);
  s.stepper->settings.speculative = 1;
  CHECK_EQUAL(sap_mujoco_remove_open_contacts(&world, 1), 1);
  CHECK_EQUAL(s.data.ncon, 1);
  CHECK(s.l.contacts[0].dist == -1e-4 && s.l.contacts[1].dist == 1.0);
  for (int r = 0; r < 3; ++r) {
    CHECK_EQUAL(s.efc_id[row + r], 0);
    CHECK_EQUAL(s.efc_id[s.l.contacts[1].row + r], 1);
  }
  const struct sap_gather *gather = &s.stepper->gather;
  for (int32_t c = 0; c < gather->problem.n_contacts; ++c) {
    CHECK_EQUAL(gather->contacts[c].index, gather->phi0[c] > 0.0 ? -1 : 0);
  }
  /* once more there is nothing to remove */
  CHECK_EQUAL(sap_mujoco_remove_open_contacts(&world, 0), 0);
  sap_stepper_destroy(s.stepper);
}

static const check_test tests[] = {
    CHECK_TEST(a_run_is_its_steps),         CHECK_TEST(only_the_last_step_leaves_all),
    CHECK_TEST(what_needs_all_gets_it),     CHECK_TEST(a_lean_step_that_fails_leaves_all),
    CHECK_TEST(deep_contacts_need_no_rows), CHECK_TEST(open_contacts_leave_the_list),
};
CHECK_FILE(test_runs, tests);
