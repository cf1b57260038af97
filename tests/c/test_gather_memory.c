/* Tests the memory of a sap_gather: it is kept from step to step, and running out is a clean
 * error. */

#include "counter.h"
#include "gathering.h"

/* A step allocates nothing of its own once the largest list has been seen. */
static void memory_is_kept(void) {
  struct counter counter = {0, 0, -1};
  const sap_allocator allocator = {counting_allocate, counting_release, &counter};
  struct list few, many;
  begin(6);
  make_list(&few);
  make_list(&many);
  add_contact(&few, 0, 1, 3, 3, &seed);
  for (int i = 0; i < MOST; ++i) {
    add_contact(&many, 1, 2, 3, 3, &seed);
  }
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, &allocator) == SAP_OK);
  REQUIRE(sap_gather_run(&g, &m.state, &many.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);

  for (int i = 0; i < 10; ++i) {
    const long before = counter.allocations;
    const struct list *chosen = i % 2 ? &few : &many;
    REQUIRE(sap_gather_run(&g, &m.state, &chosen->list, NULL, SAP_CONE_ELLIPTIC, &parameters) ==
            SAP_OK);
    CHECK_EQUAL(counter.allocations - before, 0);
  }
  sap_gather_release(&g);
  CHECK_EQUAL(counter.live, 0);
}

static sap_status gather_one(const sap_allocator *allocator, struct counter *counter) {
  (void)counter;
  begin(7);
  add_contact(&l, 0, 1, 3, 3, &seed);
  sap_status status = sap_gather_create(&g, &m.forest, NULL, allocator);
  if (status == SAP_OK) {
    status = sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters);
    if (status != SAP_OK) {
      /* and the next call works again */
      run(SAP_CONE_ELLIPTIC);
      CHECK_EQUAL(g.problem.n_contacts, 1);
    }
  }
  sap_gather_release(&g);
  return status;
}

static void failing_allocations_are_clean_errors(void) { CHECK(fail_allocations(gather_one) > 1); }

static const check_test tests[] = {
    CHECK_TEST(memory_is_kept),
    CHECK_TEST(failing_allocations_are_clean_errors),
};
CHECK_FILE(test_gather_memory, tests);
