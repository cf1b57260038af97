/* Tests the memory of lagged friction: which contact inherits from which, for how long, and who
 * owns the memory. */
#include "counter.h"
#include "model.h"
#include "step/contacts/memory_row.h"
#include "step/stepper_object.h"

enum { CONTACTS = 300, POINTS = 4 };

/* ---- contacts of a step --------------------------------------------------------------------- */

/* The arrays of a gather that a memory reads, and a list of contacts, all gathered. */
struct step {
  struct sap_listed_contact contacts[CONTACTS];
  double position[3 * CONTACTS], mu[CONTACTS], bound[CONTACTS], gamma[3 * CONTACTS];
  struct sap_forest forest;
  struct sap_gather gather;
};

static void begin(struct step *s, double dt) {
  s->forest.n_geoms = 1000;
  s->gather = (struct sap_gather){.forest = &s->forest,
                                  .dt = dt,
                                  .contacts = s->contacts,
                                  .position = s->position,
                                  .mu = s->mu,
                                  .gamma = s->gamma,
                                  .friction_bound = s->bound};
}

static void add(struct step *s, int32_t geom1, int32_t geom2, const double *p, double force) {
  const int32_t i = s->gather.problem.n_contacts++;
  s->contacts[i] = (struct sap_listed_contact){.index = i, .dim = 3, .geom = {geom1, geom2}};
  memcpy(s->position + 3 * (size_t)i, p, 3 * sizeof *p);
  s->mu[i] = 0.5;
  s->gamma[3 * i + 2] = s->gather.dt * force;
}

/* Returns corner k of a square of 1 m about (x, y, 0). */
static void corner(int k, double x, double y, double *p) {
  p[0] = x + (k % 2 ? 0.5 : -0.5);
  p[1] = y + (k / 2 ? 0.5 : -0.5);
  p[2] = 0;
}

static void add_square(struct step *s, int32_t geom1, int32_t geom2, double x, double y) {
  double p[3];
  for (int k = 0; k < POINTS; ++k) {
    corner(k, x, y, p);
    add(s, geom1, geom2, p, 10 + k);
  }
}

static sap_friction_memory *make_memory(void) {
  sap_friction_memory *memory;
  CHECK_EQUAL(sap_friction_memory_create(&memory, NULL), SAP_OK);
  return memory;
}

static void take_step(sap_friction_memory *memory, struct step *s) {
  REQUIRE(sap_friction_memory_recall(memory, &s->gather) == SAP_OK);
  sap_friction_memory_keep(memory, &s->gather);
}

static void recall(sap_friction_memory *memory, struct step *s) {
  REQUIRE(sap_friction_memory_recall(memory, &s->gather) == SAP_OK);
  CHECK(s->gather.problem.friction_bound == s->bound);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void bounds_follow_force_time_step_and_friction(void) {
  static struct step before, now;
  sap_friction_memory *memory = make_memory();
  const double p[3] = {1, 2, 3}, far[3] = {7, 8, 9};
  begin(&before, 0.01);
  add(&before, 3, 5, p, 40);
  add(&before, 4, 5, p, 50);
  recall(memory, &before);
  CHECK(isnan(before.bound[0]) && isnan(before.bound[1]));
  sap_friction_memory_keep(memory, &before.gather);

  /* the only contact of two geoms goes anywhere, in either order of these */
  begin(&now, 0.005);
  add(&now, 5, 4, far, 0);
  add(&now, 3, 5, p, 0);
  add(&now, 3, 6, p, 0);
  add(&now, 3, 7, p, 0);
  now.mu[1] = 0.25;
  now.mu[3] = 0;
  recall(memory, &now);
  CHECK_CLOSE(now.bound[0], 0.005 * 0.5 * 50, 1e-15);
  CHECK_CLOSE(now.bound[1], 0.005 * 0.25 * 40, 1e-15);
  CHECK(isnan(now.bound[2]) && now.bound[3] == 0);

  /* until the step is taken it may be tried again */
  recall(memory, &now);
  CHECK_CLOSE(now.bound[0], 0.005 * 0.5 * 50, 1e-15);
  sap_friction_memory_forget(memory);
  recall(memory, &now);
  CHECK(isnan(now.bound[0]));
  sap_friction_memory_destroy(memory);
}

static void contacts_of_a_pair_are_told_apart_by_position(void) {
  static struct step before, now;
  sap_friction_memory *memory = make_memory();
  double p[3];
  begin(&before, 1);
  add_square(&before, 1, 2, 0, 0);
  take_step(memory, &before);

  /* the square has moved and turned by a bit less than 20 degrees, and its corners are in another
   * order */
  begin(&now, 1);
  for (int k = POINTS - 1; k >= 0; --k) {
    corner(k, 0, 0, p);
    const double rotated[3] = {40 + 0.95 * p[0] - 0.31 * p[1], 0.31 * p[0] + 0.95 * p[1], 2};
    add(&now, 1, 2, rotated, 0);
  }
  recall(memory, &now);
  for (int k = 0; k < POINTS; ++k) {
    CHECK_CLOSE(now.bound[k], 0.5 * (10 + POINTS - 1 - k), 1e-12);
  }

  /* one corner more: its centre is that of the others, so that these find theirs, and it none */
  const double middle[3] = {0, 0, 0};
  begin(&now, 1);
  add_square(&now, 1, 2, 0, 0);
  add(&now, 1, 2, middle, 0);
  recall(memory, &now);
  for (int k = 0; k < POINTS; ++k) {
    CHECK_CLOSE(now.bound[k], 0.5 * (10 + k), 1e-12);
  }
  CHECK(isnan(now.bound[POINTS]));

  /* a remembered contact serves one new contact */
  begin(&now, 1);
  for (int k = 0; k < POINTS; ++k) {
    corner(k, 0, 0, p);
    add(&now, 1, 2, p, 0);
    add(&now, 1, 2, p, 0);
  }
  recall(memory, &now);
  for (int k = 0; k < POINTS; ++k) {
    CHECK_CLOSE(now.bound[2 * k], 0.5 * (10 + k), 1e-12);
    CHECK(isnan(now.bound[2 * k + 1]));
  }
  sap_friction_memory_destroy(memory);
}

/* Corners move outwards: a quarter of the diagonal of 1.414 m, 0.354 m, is the limit. */
static void what_lies_far_off_is_new(void) {
  static struct step before, now;
  sap_friction_memory *memory = make_memory();
  double p[3];
  begin(&before, 1);
  add_square(&before, 1, 2, 0, 0);
  take_step(memory, &before);
  for (int far = 0; far < 2; ++far) {
    const double stretch = 1 + (far ? 0.36 : 0.35) / sqrt(0.5);
    begin(&now, 1);
    for (int k = 0; k < POINTS; ++k) {
      corner(k, 0, 0, p);
      const double moved[3] = {stretch * p[0], stretch * p[1], 0};
      add(&now, 1, 2, moved, 0);
    }
    recall(memory, &now);
    for (int k = 0; k < POINTS; ++k) {
      CHECK((isnan(now.bound[k]) != 0) == far);
    }
  }
  sap_friction_memory_destroy(memory);
}

/* Many pairs, in another order in each step, of which some go. */
static void every_pair_is_found(void) {
  static struct step before, now;
  sap_friction_memory *memory = make_memory();
  const double p[3] = {0, 0, 0};
  uint64_t seed = 7;
  int32_t other[CONTACTS];
  begin(&before, 1);
  for (int32_t i = 0; i < CONTACTS; ++i) {
    other[i] = i;
    add(&before, i, i + 100, p, 1 + i);
  }
  take_step(memory, &before);
  for (int i = CONTACTS - 1; i > 0; --i) {
    const int j = (int)check_random(&seed, 0, i + 1);
    const int32_t swapped = other[i];
    other[i] = other[j];
    other[j] = swapped;
  }
  begin(&now, 1);
  for (int i = 0; i < CONTACTS; ++i) {
    add(&now, other[i], other[i] + (other[i] % 3 ? 100 : 101), p, 0);
  }
  recall(memory, &now);
  for (int i = 0; i < CONTACTS; ++i) {
    CHECK(other[i] % 3 ? now.bound[i] == 0.5 * (1 + other[i]) : isnan(now.bound[i]));
  }
  sap_friction_memory_destroy(memory);
}

static void it_holds_for_the_state_that_it_was_marked_with(void) {
  static struct step s;
  sap_friction_memory *memory = make_memory();
  double p[3] = {0, 0, 0}, time = 1, q[3] = {0.5, -0.0, 2};
  const struct sap_state_part parts[] = {{&time, 1}, {NULL, 0}, {q, 3}};
  begin(&s, 1);
  add(&s, 1, 2, p, 8);
  /* the entry to change, and whether that makes another state */
  static const struct {
    int entry;
    double value;
    int other;
  } changes[] = {{-1, 1, 0}, {-1, 1.5, 1}, {0, 0.5, 0}, {1, 0.0, 1}, {2, 2.0000000000000004, 1}};
  for (int i = 0; i < 5; ++i) {
    time = 1;
    q[0] = 0.5, q[1] = -0.0, q[2] = 2;
    take_step(memory, &s);
    sap_friction_memory_mark(memory, parts, 3);
    *(changes[i].entry < 0 ? &time : &q[changes[i].entry]) = changes[i].value;
    sap_friction_memory_check(memory, parts, 3);
    recall(memory, &s);
    CHECK((isnan(s.bound[0]) != 0) == changes[i].other);
  }

  /* states of another length, and a step that was taken but whose state is not known */
  q[0] = 0.5, q[1] = -0.0, q[2] = 2;
  for (int n = 2; n <= 3; ++n) {
    const struct sap_state_part shorter[] = {{&time, 1}, {q, n}};
    take_step(memory, &s);
    sap_friction_memory_mark(memory, shorter, 2);
    sap_friction_memory_check(memory, parts, 3);
    recall(memory, &s);
    CHECK((isnan(s.bound[0]) != 0) == (n == 2));
    sap_friction_memory_check(memory, shorter, 1);
    recall(memory, &s);
    CHECK(isnan(s.bound[0]));
  }
  take_step(memory, &s);
  sap_friction_memory_mark(memory, parts, 3);
  take_step(memory, &s);
  sap_friction_memory_check(memory, parts, 3);
  recall(memory, &s);
  CHECK(isnan(s.bound[0]));
  sap_friction_memory_destroy(memory);
}

/* A memory that was saved and loaded gives the bounds of the original one, and the same row. */
static void rows_keep_all_of_it(void) {
  enum { STATE = 3, ROOM = 2 * POINTS + 3 };
  static struct step before, now;
  static double row[1 + STATE + 6 * ROOM], again[1 + STATE + 6 * ROOM], bound[ROOM];
  const double state[STATE] = {1, -0.0, 3}, p[3] = {1, 2, 3};
  const struct sap_state_part part = {state, STATE};
  sap_friction_memory *memory = make_memory(), *other = make_memory();
  CHECK_EQUAL(sap_memory_row_size(STATE, ROOM), (int64_t)(sizeof row / sizeof *row));
  begin(&before, 0.01);
  add_square(&before, 1, 2, 0, 0);
  add_square(&before, 2, 1, 5, 0); /* another pair of the same key */
  add(&before, 3, 999, p, 7);
  take_step(memory, &before);
  CHECK_EQUAL(sap_memory_row_contacts(memory), 0); /* without a mark */
  sap_friction_memory_mark(memory, &part, 1);
  CHECK_EQUAL(sap_memory_row_contacts(memory), 2 * POINTS + 1);
  row[0] = NAN; /* the former contents do not matter */
  row[1 + STATE + 6 * (ROOM - 1)] = 5;
  sap_memory_row_save(memory, row, STATE, ROOM);
  CHECK_EQUAL(row[0], 2 * POINTS + 1);
  CHECK_EQUAL(row[1 + STATE + 6 * (ROOM - 1)], 0);
  CHECK_EQUAL(memcmp(row + 1, state, sizeof state), 0);

  REQUIRE(sap_memory_row_load(other, row, STATE, ROOM) == SAP_OK);
  sap_memory_row_save(other, again, STATE, ROOM);
  CHECK_EQUAL(memcmp(row, again, sizeof row), 0);
  begin(&now, 0.01);
  add_square(&now, 1, 2, 3, 3);
  add(&now, 999, 3, p, 0);
  recall(memory, &now);
  memcpy(bound, now.bound, (POINTS + 1) * sizeof *bound);
  sap_friction_memory_check(other, &part, 1);
  recall(other, &now);
  CHECK_EQUAL(memcmp(bound, now.bound, (POINTS + 1) * sizeof *bound), 0);
  CHECK_CLOSE(bound[POINTS], 0.01 * 0.5 * 7, 1e-15);

  /* contacts that are gone leave zeros, and an empty row remembers nothing */
  begin(&before, 0.01);
  add(&before, 1, 2, p, 4);
  take_step(memory, &before);
  sap_friction_memory_mark(memory, &part, 1);
  sap_memory_row_save(memory, row, STATE, ROOM);
  CHECK_EQUAL(row[0], 1);
  for (int i = 1 + STATE + 6; i < 1 + STATE + 6 * ROOM; ++i) {
    CHECK(row[i] == 0);
  }
  memset(row, 0, sizeof row);
  REQUIRE(sap_memory_row_load(other, row, STATE, ROOM) == SAP_OK);
  recall(other, &now);
  CHECK(isnan(now.bound[0]));
  sap_friction_memory_destroy(memory);
  sap_friction_memory_destroy(other);
}

static void impossible_rows_are_refused(void) {
  enum { ROOM = 2, LENGTH = 2 + 6 * ROOM };
  const double good[LENGTH] = {2, 9, 5, 0.1, 1, 2, 3, 4, 5, -1, 1, 2, 3, 4};
  static const struct {
    int column;
    double value;
  } faults[] = {{0, 3},   {0, -1},   {0, 1.5}, {0, NAN}, {2, -1},
                {2, 0.5}, {2, 1e16}, {3, -1},  {3, NAN}, {4, INFINITY},
                {7, NAN}, {8, 6},    {8, NAN}, {9, NAN}, {12, INFINITY}};
  sap_friction_memory *memory = make_memory();
  double row[LENGTH];
  CHECK_EQUAL(sap_memory_row_load(memory, good, 1, ROOM), SAP_OK);
  CHECK_EQUAL(sap_memory_row_contacts(memory), 2);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
    memcpy(row, good, sizeof row);
    row[faults[i].column] = faults[i].value;
    CHECK_EQUAL(sap_memory_row_load(memory, row, 1, ROOM), SAP_INVALID_ARGUMENT);
    CHECK_EQUAL(sap_memory_row_contacts(memory), 0);
  }
  sap_friction_memory_destroy(memory);
}

/* Steps of a stepper whose friction lags: the bounds of the second are the impulses of the first,
 * and one that fails leaves them. */
static void steps_remember(void) {
  uint64_t seed = 8;
  struct model m;
  struct list l;
  make_model(&m, &seed);
  make_list(&l);
  add_contact(&l, 0, 1, 3, 3, &seed);
  add_contact(&l, 1, 4, 3, 3, &seed);
  m.forest.barrier = NULL;
  sap_settings settings = sap_settings_default();
  settings.friction = SAP_FRICTION_LAGGED;
  const sap_step_settings step = sap_step_settings_default(0.01);
  double qacc[NV], force[NV], rows[64];
  sap_stepper *stepper;
  sap_friction_memory *memory = make_memory();
  REQUIRE(sap_stepper_create(&stepper, &m.forest, NULL, &step, &settings, NULL, NULL) == SAP_OK);
  sap_step_arrays arrays = {.state = m.state,
                            .contacts = l.list,
                            .qacc = qacc,
                            .qfrc_constraint = force,
                            .efc_force = rows,
                            .memory = memory};
  REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK && sap_stepper_took(stepper));
  const sap_problem *problem = sap_stepper_problem(stepper);
  const int32_t n = problem->n_contacts;
  double expected[MOST];
  int sliding = 0;
  for (int32_t i = 0; i < n; ++i) {
    expected[i] = problem->mu[i] * sap_stepper_solution(stepper)->gamma[3 * i + 2];
    CHECK((isnan(problem->friction_bound[i]) != 0) == (problem->mu[i] > 0));
    sliding += expected[i] > 0;
  }
  REQUIRE(sliding > 0);
  const double dist = l.contacts[0].dist;
  l.contacts[0].dist = NAN;
  REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK && !sap_stepper_took(stepper));
  l.contacts[0].dist = dist;
  REQUIRE(sap_stepper_gather(stepper, &arrays, NULL) == SAP_OK);
  for (int32_t i = 0; i < n; ++i) {
    CHECK_CLOSE(problem->friction_bound[i], expected[i], 1e-15 * (1 + expected[i]));
  }
  arrays.memory = NULL;
  REQUIRE(sap_stepper_gather(stepper, &arrays, NULL) == SAP_OK);
  CHECK(problem->friction_bound == NULL);
  sap_stepper_destroy(stepper);
  sap_friction_memory_destroy(memory);
  sap_friction_memory_destroy(NULL);
}

/* Every allocation fails in turn; later steps allocate nothing. */
static void memory_is_given_back(void) {
  static struct step s;
  const double p[3] = {0, 0, 0}, q[2] = {1, 2};
  const struct sap_state_part part = {q, 2};
  begin(&s, 1);
  for (int32_t i = 0; i < CONTACTS; ++i) {
    add(&s, i, i + 1, p, 1);
  }
  int done = 0;
  for (long fail_at = 0; !done; ++fail_at) {
    struct counter counter = {.fail_at = fail_at};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    sap_friction_memory *memory;
    sap_status status = sap_friction_memory_create(&memory, &allocator);
    for (int i = 0; i < 2 && status == SAP_OK; ++i) {
      status = sap_friction_memory_recall(memory, &s.gather);
      if (status == SAP_OK) {
        sap_friction_memory_keep(memory, &s.gather);
      }
    }
    if (status == SAP_OK) {
      /* states without room for a mark are forgotten */
      sap_friction_memory_mark(memory, &part, 1);
      done = counter.allocations <= fail_at;
      sap_friction_memory_check(memory, &part, 1);
      CHECK_EQUAL(sap_friction_memory_recall(memory, &s.gather), SAP_OK);
      CHECK((isnan(s.bound[0]) != 0) == !done);
    }
    CHECK(status == SAP_OK || status == SAP_OUT_OF_MEMORY);
    if (done) {
      const long before = counter.allocations;
      s.gather.problem.n_contacts = CONTACTS / 2;
      take_step(memory, &s);
      sap_friction_memory_mark(memory, &part, 1);
      take_step(memory, &s);
      CHECK_EQUAL(counter.allocations, before);
    }
    sap_friction_memory_destroy(memory);
    CHECK_EQUAL(counter.live, 0);
    REQUIRE(fail_at < 100);
  }
}

static const check_test tests[] = {
    CHECK_TEST(bounds_follow_force_time_step_and_friction),
    CHECK_TEST(contacts_of_a_pair_are_told_apart_by_position),
    CHECK_TEST(what_lies_far_off_is_new),
    CHECK_TEST(every_pair_is_found),
    CHECK_TEST(it_holds_for_the_state_that_it_was_marked_with),
    CHECK_TEST(rows_keep_all_of_it),
    CHECK_TEST(impossible_rows_are_refused),
    CHECK_TEST(steps_remember),
    CHECK_TEST(memory_is_given_back),
};
CHECK_FILE(test_friction_memory, tests);
