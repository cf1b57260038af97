/* An allocator that counts, and fails at one allocation. */
#ifndef SAPWOOD_TESTS_COUNTER_H
#define SAPWOOD_TESTS_COUNTER_H

#include <stdlib.h>

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

#endif
