/* Tests the loop over worlds of a batch, with one worker. */

#include "engine.h"
#include "sapwood/batch.h"

enum { WORLDS = 3, STEPS = 4 };

/* A batch needs these objects, and reports through them. */
struct bench {
  struct setting s;
  sap_batch *batch;
  double state[WORLDS][NV];
  uint8_t status[WORLDS];
  sap_batch_call call;
  int entered, left, stops, n_failed, solved;
  int64_t position, step;
};

static void open_bench(struct bench *b) {
  memset(b, 0, sizeof *b);
  make(&b->s);
  const sap_batch_worker worker = {
      .stepper = b->s.stepper, .model = &b->s.model, .data = &b->s.data};
  REQUIRE(sap_batch_open(&b->batch, &b->s.api, &worker, 1, NULL) == SAP_OK);
  for (int w = 0; w < WORLDS; ++w) {
    for (int i = 0; i < NV; ++i) {
      b->state[w][i] = (w == 2 ? 0 : w) + 0.1 * i;
    }
  }
  b->call = (sap_batch_call){.n_worlds = WORLDS,
                             .chunk = 2,
                             .state = b->state[0],
                             .state_stride = NV,
                             .state_spec = 1,
                             .status = b->status};
}

static void close_bench(struct bench *b) {
  sap_batch_close(b->batch);
  sap_stepper_destroy(b->s.stepper);
}

static void enter(void *context, int32_t worker) {
  CHECK_EQUAL(worker, 0);
  ((struct bench *)context)->entered++;
}

static void leave(void *context, int32_t worker) {
  CHECK_EQUAL(worker, 0);
  ((struct bench *)context)->left++;
}

static int stop(void *context, int32_t worker, double now) {
  struct bench *b = context;
  CHECK(worker == 0 && now > 0);
  return --b->stops == 0;
}

static int fail(void *context, int32_t worker, int64_t position, int64_t step,
                const sap_mujoco_world *world) {
  struct bench *b = context;
  CHECK(worker == 0 && sap_mujoco_end(world)->failure == SAP_STEP_STATE);
  b->position = position;
  b->step = step;
  return ++b->n_failed == 2;
}

static void note_solved(void *context, int32_t worker, int64_t world) {
  struct bench *b = context;
  CHECK_EQUAL(worker, 0);
  b->solved |= 1 << world;
}

static sap_batch_hooks hooks_of(struct bench *b) {
  return (sap_batch_hooks){b, enter, leave, stop, note_solved, fail, NULL};
}

/* every world starts from its own state, whatever the one before it left */
static void worlds_do_not_know_each_other(void) {
  struct bench b;
  double initial[WORLDS][NV], recorded[WORLDS][STEPS][NV], once[1][STEPS][NV];
  sap_step_record records[WORLDS][STEPS];
  int64_t taken[WORLDS] = {0};
  open_bench(&b);
  memcpy(initial, b.state, sizeof initial);
  CHECK_EQUAL(sap_batch_state_size(b.batch, 1), NV);
  sap_batch_record record = {.spec = 2, .base = (char *)recorded, .bytes = sizeof recorded[0][0]};
  b.call.steps = STEPS;
  b.call.records = &record;
  b.call.n_records = 1;
  b.call.step_records = records[0];
  b.call.taken = taken;
  sap_batch_end end = sap_batch_run(b.batch, &b.call, NULL);
  CHECK(end.failed == 0 && end.notable == 0 && !end.stopped);
  CHECK(taken[0] == STEPS && taken[1] == STEPS && taken[2] == STEPS);
  CHECK(memcmp(recorded[0], recorded[2], sizeof recorded[0]) == 0);
  CHECK(memcmp(recorded[0], recorded[1], sizeof recorded[0]) != 0);
  for (int w = 0; w < WORLDS; ++w) {
    CHECK(memcmp(b.state[w], recorded[w][STEPS - 1], sizeof b.state[w]) == 0);
    CHECK(records[w][STEPS - 1].time > records[w][0].time);
  }
  /* one world of them, from a state that overlays a common start, with its row left alone */
  const int32_t ids[] = {1};
  record.base = (char *)once;
  b.call.ids = ids;
  b.call.n_worlds = 1;
  b.call.state = NULL;
  b.call.start = b.s.qpos;
  b.call.overlay = (sap_plane){initial[1], NV, 0};
  b.call.overlay_spec = 2;
  (void)sap_batch_run(b.batch, &b.call, NULL);
  CHECK(memcmp(once[0], recorded[1], sizeof once[0]) == 0);
  CHECK(memcmp(b.state[1], recorded[1][STEPS - 1], sizeof b.state[1]) == 0);
  close_bench(&b);
}

/* a world that fails keeps its row and its outputs, and the others go on */
static void failures_stay_with_their_worlds(void) {
  struct bench b;
  double before[WORLDS][NV], rows[WORLDS][NV] = {{0}};
  open_bench(&b);
  const sap_batch_hooks hooks = hooks_of(&b);
  void *const places[] = {b.s.m.qvel};
  const sap_batch_field field = {places, rows, sizeof rows[0], sizeof rows[0], SAP_BATCH_OUT, 0};
  CHECK_EQUAL(sap_batch_bind(b.batch, &field, 1), SAP_OK);
  b.state[1][4] = INFINITY;
  memcpy(before, b.state, sizeof before);
  b.call.steps = 2;
  const sap_batch_end end = sap_batch_run(b.batch, &b.call, &hooks);
  CHECK(end.failed == 1 && !end.stopped && b.n_failed == 1 && b.position == 1 && b.step == 0);
  CHECK(b.entered == 2 && b.left == 2 && b.solved == 5);
  CHECK(b.status[0] == 0 && b.status[1] == SAP_STEP_STATE && b.status[2] == 0);
  CHECK(memcmp(b.state[1], before[1], sizeof before[1]) == 0 && rows[1][0] == 0.0);
  CHECK(memcmp(b.state[2], before[2], sizeof before[2]) != 0);
  CHECK(memcmp(b.state[0], rows[0], sizeof rows[0]) == 0);
  /* a hook may end the call: the next world stays where it is */
  memcpy(before, b.state, sizeof before);
  CHECK(sap_batch_run(b.batch, &b.call, &hooks).stopped && b.n_failed == 2);
  CHECK(memcmp(b.state[0], before[0], sizeof before[0]) != 0);
  CHECK(memcmp(b.state[2], before[2], sizeof before[2]) == 0);
  /* so may the one between steps, where the world keeps its row too */
  b.stops = 1;
  memcpy(before, b.state, sizeof before);
  CHECK(sap_batch_run(b.batch, &b.call, &hooks).stopped);
  CHECK(memcmp(b.state, before, sizeof before) == 0);
  close_bench(&b);
}

static void fields_go_both_ways(void) {
  struct bench b;
  double gravity[WORLDS][3], counted[WORLDS] = {7, 8, 9}, counter[1] = {0};
  float rounded[WORLDS][NV + 1] = {{0}};
  open_bench(&b);
  void *const in[] = {b.s.model.gravity}, *const both[] = {counter}, *const out[] = {b.s.m.qvel};
  for (int w = 0; w < WORLDS; ++w) {
    gravity[w][0] = gravity[w][1] = 0.0;
    gravity[w][2] = w;
  }
  const sap_batch_field fields[] = {
      {in, gravity, sizeof gravity[0], sizeof gravity[0], SAP_BATCH_IN, 0},
      {both, counted, sizeof counted[0], sizeof counted[0], SAP_BATCH_BOTH, 0},
      {out, &rounded[0][1], sizeof rounded[0], sizeof b.state[0], SAP_BATCH_FLOAT, 0}};
  CHECK_EQUAL(sap_batch_bind(b.batch, fields, 3), SAP_OK);
  (void)sap_batch_run(b.batch, &b.call, NULL);
  CHECK(b.s.model.gravity[2] == WORLDS - 1.0 && counter[0] == 9.0);
  CHECK(counted[0] == 7.0 && counted[2] == 9.0);
  for (int w = 0; w < WORLDS; ++w) {
    CHECK(rounded[w][0] == 0.0f);
    for (int i = 0; i < NV; ++i) {
      CHECK(rounded[w][1 + i] == (float)b.state[w][i]);
    }
  }
  close_bench(&b);
}

/* stages of a step after it, and of a reset; all but integration */
static void stages_follow(void) {
  static const char *const expected[] = {"", "kmfprtq", "kmfprtqvw", "kmfprtqvwuas"};
  for (int stage = SAP_STAGE_NONE; stage <= SAP_STAGE_ACC; ++stage) {
    struct bench b;
    char text[64];
    const int32_t keys[] = {-1}, ids[] = {2};
    open_bench(&b);
    b.call.n_worlds = 1;
    b.call.ids = ids;
    b.call.keys = keys;
    b.call.stage = (sap_batch_stage)stage;
    (void)sap_batch_run(b.batch, &b.call, NULL);
    (void)snprintf(text, sizeof text, "R%s", expected[stage]);
    CHECK_STRING(engine.stages, text);
    for (int i = 0; i < NV; ++i) {
      CHECK(b.state[2][i] == -1.0);
    }
    close_bench(&b);
  }
}

static void workers_are_checked(void) {
  sap_batch *batch;
  struct setting s;
  sap_error error;
  make(&s);
  const sap_batch_worker worker = {.stepper = s.stepper, .model = &s.model, .data = &s.data};
  CHECK_EQUAL(sap_batch_open(&batch, &s.api, &worker, 0, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "n_workers");
  s.model.cone = 0;
  CHECK_EQUAL(sap_batch_open(&batch, &s.api, &worker, 1, &error), SAP_INVALID_ARGUMENT);
  CHECK(batch == NULL);
  sap_batch_close(NULL);
  s.model.cone = ELLIPTIC;
  CHECK_EQUAL(sap_batch_open(&batch, &s.api, &worker, 1, &error), SAP_OK);
  engine.size_error = "no such state";
  CHECK_EQUAL(sap_batch_state_size(batch, 1 << 30), -1);
  engine.size_error = NULL;
  s.model.cone = 0;
  CHECK_EQUAL(sap_batch_accept_options(batch, &error), SAP_INVALID_ARGUMENT);
  sap_batch_close(batch);
  sap_stepper_destroy(s.stepper);
}

static const check_test tests[] = {
    CHECK_TEST(worlds_do_not_know_each_other), CHECK_TEST(failures_stay_with_their_worlds),
    CHECK_TEST(fields_go_both_ways),           CHECK_TEST(stages_follow),
    CHECK_TEST(workers_are_checked),
};
CHECK_FILE(test_batch_worlds, tests);
