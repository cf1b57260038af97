/* Tests that a run records the values of steps taken one by one, and nothing of a step that was not
 * taken. */

#include "counter.h"
#include "engine.h"
#include "mujoco/stages/recording.h"

enum { STEPS = 5, SENSED = 2 };

struct kept {
  double qvel[STEPS][NV], qacc[STEPS][NV], force[STEPS][NV], sensors[STEPS][SENSED];
  double state[STEPS][NV], body_force[STEPS][BODIES][3];
  struct counter counter;
  struct sap_contact_log log;
  struct sap_recording recording;
};

static void make_recorded(struct setting *s, sap_mujoco_world *world, struct kept *k) {
  static double sensors[SENSED] = {3.0, 4.0};
  make(s);
  s->model.nsensordata = SENSED;
  s->data.sensordata = sensors;
  open_world(s, world);
  memset(k, 0, sizeof *k);
  k->counter.fail_at = -1;
  k->log.allocator = (sap_allocator){counting_allocate, counting_release, &k->counter};
  struct sap_recording *r = &k->recording;
  r->arrays[SAP_RECORDED_qvel] = k->qvel[0];
  r->arrays[SAP_RECORDED_qacc] = k->qacc[0];
  r->arrays[SAP_RECORDED_qfrc_constraint] = k->force[0];
  r->arrays[SAP_RECORDED_sensordata] = k->sensors[0];
  r->state = k->state[0];
  r->force = k->body_force[0][0];
  r->contacts = &k->log;
  CHECK_EQUAL(sap_recording_open(r, world), 0);
  world->recording = r;
}

static void release(struct setting *s, struct kept *k) {
  sap_contact_log_release(&k->log);
  CHECK_EQUAL(k->counter.live, 0);
  sap_stepper_destroy(s->stepper);
}

static void lengths_are_those_of_the_model(void) {
  struct setting s;
  sap_mujoco_world world;
  struct kept k;
  make_recorded(&s, &world, &k);
  const int64_t expected[SAP_N_RECORDED] = {[SAP_RECORDED_qpos] = NV,
                                            [SAP_RECORDED_qvel] = NV,
                                            [SAP_RECORDED_qacc] = NV,
                                            [SAP_RECORDED_qfrc_constraint] = NV,
                                            [SAP_RECORDED_sensordata] = SENSED};
  for (int i = 0; i < SAP_N_RECORDED; ++i) {
    CHECK_EQUAL(k.recording.lengths[i], expected[i]);
  }
  CHECK_EQUAL(k.recording.n_state, NV);

  engine.size_error = "no such state";
  CHECK_EQUAL(sap_recording_open(&k.recording, &world), -1);
  CHECK_EQUAL(world.end.failure, SAP_STEP_MUJOCO);
  CHECK_STRING(world.end.message, "no such state");
  release(&s, &k);
}

static void a_run_keeps_what_its_steps_show(void) {
  struct setting s, other;
  sap_mujoco_world world, dense;
  struct kept k;
  make_recorded(&s, &world, &k);
  REQUIRE(sap_mujoco_run(&world, STEPS, NULL, NULL) == STEPS);
  CHECK_EQUAL(k.recording.steps, STEPS);

  make(&other);
  open_world(&other, &dense);
  int64_t told = 0;
  for (int t = 0; t < STEPS; ++t) {
    double force[BODIES][3], sum = 0.0;
    sap_contact_record contacts[MOST];
    REQUIRE(sap_mujoco_step(&dense) == SAP_STEP_TAKEN);
    CHECK(memcmp(k.qvel[t], other.m.qvel, sizeof k.qvel[t]) == 0);
    CHECK(memcmp(k.state[t], other.m.qvel, sizeof k.state[t]) == 0);
    CHECK(memcmp(k.qacc[t], other.qacc, sizeof k.qacc[t]) == 0);
    CHECK(memcmp(k.force[t], other.force, sizeof k.force[t]) == 0);
    CHECK_ALL_CLOSE(k.sensors[t], ((const double[]){3, 4}), SENSED, 0.0);

    /* action and reaction */
    sap_stepper_body_forces(other.stepper, force[0]);
    CHECK(memcmp(k.body_force[t], force, sizeof force) == 0);
    for (int b = 0; b < BODIES; ++b) {
      sum += force[b][0];
    }
    CHECK_CLOSE(sum, 0.0, 1e-12);

    sap_stepper_contacts(other.stepper, contacts);
    for (int c = 0; c < sap_stepper_problem(other.stepper)->n_contacts; ++c, ++told) {
      REQUIRE(told < k.log.n);
      const sap_contact_record *one = k.log.records + told;
      CHECK_ALL_CLOSE(one->force, contacts[c].force, 3, 0.0);
      CHECK_ALL_CLOSE(one->frame, contacts[c].frame, 9, 0.0);
      CHECK_CLOSE(one->distance, contacts[c].distance, 0.0);
      CHECK(one->geom[0] == contacts[c].geom[0] && one->geom[1] == contacts[c].geom[1]);
    }
  }
  CHECK(told > 0);
  CHECK_EQUAL(k.log.n, told);
  release(&s, &k);
  sap_stepper_destroy(other.stepper);
}

/* Contacts are recorded before the end of the step is certain. */
static void a_step_that_is_not_taken_counts_for_nothing(void) {
  struct setting s;
  sap_mujoco_world world;
  struct kept k;
  make_recorded(&s, &world, &k);
  REQUIRE(sap_mujoco_run(&world, 2, NULL, NULL) == 2);
  const int64_t told = k.log.n;
  engine.late_error = "a sensor is broken";
  CHECK_EQUAL(sap_mujoco_run(&world, 2, NULL, NULL), 0);
  CHECK(k.recording.steps == 2 && k.log.n == told && k.recording.n_contacts > 0);
  engine.late_error = NULL;
  CHECK_EQUAL(sap_mujoco_run(&world, 1, NULL, NULL), 1);
  CHECK(k.recording.steps == 3 && k.log.n > told);
  CHECK(memcmp(k.qvel[2], s.m.qvel, sizeof k.qvel[2]) == 0);
  release(&s, &k);
}

static void without_memory_a_step_fails(void) {
  struct setting s;
  sap_mujoco_world world;
  struct kept k;
  make_recorded(&s, &world, &k);
  k.counter.fail_at = 0;
  CHECK_EQUAL(sap_mujoco_run(&world, STEPS, NULL, NULL), 0);
  CHECK_EQUAL(world.end.failure, SAP_STEP_ARGUMENT);
  CHECK_EQUAL(world.end.status, SAP_OUT_OF_MEMORY);
  CHECK(k.recording.steps == 0 && k.log.n == 0);
  CHECK_EQUAL(sap_mujoco_run(&world, STEPS, NULL, NULL), STEPS);
  release(&s, &k);
}

/* Nothing that is not asked for is written. */
static void arrays_may_be_missing(void) {
  struct setting s;
  sap_mujoco_world world;
  struct sap_recording none = {0};
  make(&s);
  open_world(&s, &world);
  REQUIRE(sap_recording_open(&none, &world) == 0);
  world.recording = &none;
  CHECK_EQUAL(sap_mujoco_run(&world, STEPS, NULL, NULL), STEPS);
  CHECK_EQUAL(none.steps, STEPS);
  sap_stepper_destroy(s.stepper);
}

static const check_test tests[] = {
    CHECK_TEST(lengths_are_those_of_the_model),
    CHECK_TEST(a_run_keeps_what_its_steps_show),
    CHECK_TEST(a_step_that_is_not_taken_counts_for_nothing),
    CHECK_TEST(without_memory_a_step_fails),
    CHECK_TEST(arrays_may_be_missing),
};
CHECK_FILE(test_recording, tests);
