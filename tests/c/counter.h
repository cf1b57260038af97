/* An allocator that counts, and fails at one allocation. */
#ifndef SAPWOOD_TESTS_COUNTER_H
#define SAPWOOD_TESTS_COUNTER_H

#include <stdlib.h>

#include "check.h"
#include "sapwood.h"

struct counter {
  long allocations, live;
  long fail_at; /* number of the allocation that fails, from 0; never when negative */
};

static inline void *counting_allocate(size_t bytes, void *context) {
  struct counter *counter = context;
  if (counter->allocations++ == counter->fail_at) {
    return NULL;
  }
  void *memory = malloc(bytes);
  counter->live += memory != NULL;
  return memory;
}

static inline void counting_release(void *memory, void *context) {
  ((struct counter *)context)->live -= memory != NULL;
  free(memory);
}

/* Calls attempt(allocator, counter) again and again, each time with another allocation that fails,
 * until none does. Checks that an attempt runs out of memory or ends well, which it does if no
 * allocation failed, and that nothing it has allocated is left. Returns the number of failures. */
static inline long fail_allocations(sap_status (*attempt)(const sap_allocator *,
                                                          struct counter *)) {
  for (long fail_at = 0; fail_at < 100; ++fail_at) {
    struct counter counter = {.fail_at = fail_at};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    const sap_status status = attempt(&allocator, &counter);
    CHECK_EQUAL(status, counter.allocations > fail_at ? SAP_OUT_OF_MEMORY : SAP_OK);
    CHECK_EQUAL(counter.live, 0);
    if (status == SAP_OK) {
      return fail_at;
    }
  }
  return -1;
}

#endif
