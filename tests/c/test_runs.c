/* Runs of many steps, and of many worlds. */

#include "engine.h"
#include "mujoco/rollout.h"

/* locked, left, and how often it was asked whether to stop */
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

static void a_run_is_its_steps(void) {
  struct setting s, other;
  sap_mujoco_world world;
  sap_step_record records[10];
  struct watch watch = {.stop_at = 3};
  make(&other);
  open_world(&other, &world);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  }
  make(&s);
  open_world(&s, &world);
  world.hooks = (sap_step_hooks){&watch, lock, leave, stop};
  int64_t unconverged = -1;
  CHECK_EQUAL(sap_mujoco_run(&world, 10, records, &unconverged), 3);
  CHECK_EQUAL(unconverged, 0);
  CHECK_EQUAL(sap_mujoco_run(&world, 7, records + 3, NULL), 7);
  /* not asked after the last step */
  CHECK(watch.locked == 10 && watch.left == 10 && watch.asked == 3 + 6);
  CHECK(memcmp(s.m.qvel, other.m.qvel, sizeof s.m.qvel) == 0);
  for (int i = 0; i < 10; ++i) {
    CHECK_CLOSE(records[i].time, 0.01 * (i + 1), 1e-15);
  }
  engine.error = "at once";
  CHECK_EQUAL(sap_mujoco_run(&world, 5, NULL, NULL), 0);
  CHECK_EQUAL(world.failure, SAP_STEP_MUJOCO);
  sap_stepper_destroy(s.stepper);
  sap_stepper_destroy(other.stepper);
}

/* every world starts from its own state, whatever the one before it left */
static void worlds_do_not_know_each_other(void) {
  enum { WORLDS = 3, STEPS = 4 };
  struct setting s;
  struct sap_rollout r = {.neutral_spec = 1, .state_spec = 2, .control_spec = 4};
  make(&s);
  open_world(&s, &r.world);
  double initial[WORLDS][NV], state[WORLDS][STEPS][NV], once[WORLDS][STEPS][NV];
  int64_t taken[WORLDS] = {0};
  volatile uint8_t stopped = 0;
  for (int w = 0; w < WORLDS; ++w) {
    for (int i = 0; i < NV; ++i) {
      initial[w][i] = (w == 2 ? 0 : w) + 0.1 * i;
    }
  }
  int lengths[3];
  CHECK_EQUAL(sap_rollout_lengths(&r, &lengths[0], &lengths[1], &lengths[2]), 0);
  CHECK(lengths[0] == NV && lengths[1] == NV && lengths[2] == NV);
  r.neutral = s.qpos;
  r.initial = (struct sap_plane){initial[0], NV, 0};
  r.state = (struct sap_plane){state[0][0], STEPS * NV, NV};
  r.taken = taken;
  r.stop = &stopped;
  r.last = WORLDS;
  r.steps = STEPS;
  CHECK(sap_rollout_run(&r) && r.current == WORLDS);
  CHECK(taken[0] == STEPS && taken[1] == STEPS && taken[2] == STEPS);
  CHECK(memcmp(state[0], state[2], sizeof state[0]) == 0);
  CHECK(memcmp(state[0], state[1], sizeof state[0]) != 0);

  /* one world at a time, and a failure says which */
  r.state.base = once[0][0];
  r.first = 1;
  r.last = 2;
  CHECK(sap_rollout_run(&r));
  CHECK(memcmp(once[1], state[1], sizeof once[1]) == 0);
  initial[1][4] = INFINITY;
  CHECK(!sap_rollout_run(&r));
  CHECK(r.current == 1 && r.world.failure == SAP_STEP_STATE && r.world.index == 4);
  stopped = 1;
  CHECK(sap_rollout_run(&r) && r.current == 1);
  sap_stepper_destroy(s.stepper);
}

int main(int argc, char **argv) {
  const check_test tests[] = {
      CHECK_TEST(a_run_is_its_steps),
      CHECK_TEST(worlds_do_not_know_each_other),
  };
  return check_run(tests, CHECK_COUNT(tests), argc, argv);
}
