/* Tests a log of contacts: its growth, and its contents if it cannot grow. */

#include "check.h"
#include "counter.h"
#include "step/contact_log.h"

/* Tells n more contacts, numbered on from those that are there. Returns 0 without room. */
static int tell(struct sap_contact_log *log, int64_t n) {
  sap_contact_record *room = sap_contact_log_room(log, n);
  for (int64_t i = 0; room && i < n; ++i) {
    room[i] = (sap_contact_record){.index = (int32_t)(log->n + i), .distance = 0.5 * (double)i};
  }
  log->n += room ? n : 0;
  return room != NULL;
}

static void records_stay_where_it_grows(void) {
  struct counter counter = {0, 0, -1};
  struct sap_contact_log log = {.allocator = {counting_allocate, counting_release, &counter}};
  for (int64_t n = 0; n < 200; ++n) {
    REQUIRE(tell(&log, n % 7 == 0 ? 300 : n % 3));
    CHECK(log.n <= log.capacity);
  }
  for (int64_t i = 0; i < log.n; ++i) {
    CHECK_EQUAL(log.records[i].index, i);
  }
  /* by half each time: few arrays, one of them alive */
  CHECK(counter.allocations < 10);
  CHECK_EQUAL(counter.live, 1);
  sap_contact_log_release(&log);
  CHECK_EQUAL(counter.live, 0);
  sap_contact_log_release(&log);
  CHECK_EQUAL(counter.live, 0);
}

static void room_for_none_is_room(void) {
  struct counter counter = {0, 0, -1};
  struct sap_contact_log log = {.allocator = {counting_allocate, counting_release, &counter}};
  CHECK(sap_contact_log_room(&log, 0) != NULL);
  CHECK_EQUAL(log.n, 0);
  sap_contact_log_release(&log);
  CHECK_EQUAL(counter.live, 0);
}

static void what_cannot_grow_is_as_it_was(void) {
  struct counter counter = {0, 0, 1};
  struct sap_contact_log log = {.allocator = {counting_allocate, counting_release, &counter}};
  REQUIRE(tell(&log, 3));
  const struct sap_contact_log before = log;
  /* the allocator has none, and no array can be as long */
  CHECK(sap_contact_log_room(&log, before.capacity) == NULL);
  CHECK(sap_contact_log_room(&log, INT64_MAX) == NULL);
  CHECK(log.records == before.records && log.n == 3 && log.capacity == before.capacity);
  CHECK_EQUAL(log.records[2].index, 2);
  CHECK(tell(&log, before.capacity));
  CHECK_EQUAL(log.records[2].index, 2);
  sap_contact_log_release(&log);
  CHECK_EQUAL(counter.live, 0);
}

static const check_test tests[] = {
    CHECK_TEST(records_stay_where_it_grows),
    CHECK_TEST(room_for_none_is_room),
    CHECK_TEST(what_cannot_grow_is_as_it_was),
};
CHECK_FILE(test_contact_log, tests);
