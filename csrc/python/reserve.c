#include "reserve.h"

#include <stdlib.h>
#include <string.h>

/* before each block: its size; a cache line, so that blocks are aligned as malloc aligns them */
enum { HEADER = 64 };

/* most that is kept, in bytes */
enum { MOST_TOTAL = 64 << 20 };

static size_t size_of(const void *memory) { return *(const size_t *)memory; }

static void *behind_header(void *memory) { return memory == NULL ? NULL : (char *)memory + HEADER; }

static int try_lock(sapwood_reserve *reserve) {
  return PyThread_acquire_lock(reserve->lock, NOWAIT_LOCK);
}

static void remove_block(sapwood_reserve *reserve, int i) {
  reserve->total -= reserve->block[i].bytes;
  reserve->n--;
  memmove(&reserve->block[i], &reserve->block[i + 1],
          (size_t)(reserve->n - i) * sizeof reserve->block[0]);
}

/* the smallest block that is large enough, but not by far */
static void *take(sapwood_reserve *reserve, size_t bytes) {
  int best = -1;
  for (int i = 0; i < reserve->n; i++) {
    const size_t size = reserve->block[i].bytes;
    if (size >= bytes && size / 4 <= bytes + 1024 &&
        (best < 0 || size < reserve->block[best].bytes)) {
      best = i;
    }
  }
  if (best < 0) {
    return NULL;
  }
  void *memory = reserve->block[best].memory;
  remove_block(reserve, best);
  return memory;
}

static void *allocate(size_t bytes, void *context) {
  sapwood_reserve *reserve = context;
  void *memory = NULL;
  if (bytes <= MOST_TOTAL && try_lock(reserve)) {
    memory = take(reserve, bytes);
    PyThread_release_lock(reserve->lock);
  }
  if (memory == NULL && bytes <= SIZE_MAX - HEADER) {
    memory = malloc(bytes + HEADER);
    if (memory != NULL) {
      *(size_t *)memory = bytes;
    }
  }
  return behind_header(memory);
}

/* The oldest blocks make room for it: what solvers of earlier problems left must not keep out the one that comes and
 * goes now. */
static void keep(sapwood_reserve *reserve, void *memory) {
  const size_t bytes = size_of(memory);
  while (reserve->n == SAPWOOD_RESERVE_BLOCKS || reserve->total + bytes > MOST_TOTAL) {
    free(reserve->block[0].memory);
    remove_block(reserve, 0);
  }
  reserve->block[reserve->n].memory = memory;
  reserve->block[reserve->n++].bytes = bytes;
  reserve->total += bytes;
}

static void release(void *block, void *context) {
  sapwood_reserve *reserve = context;
  void *memory = block == NULL ? NULL : (char *)block - HEADER;
  if (memory != NULL && size_of(memory) <= MOST_TOTAL && try_lock(reserve)) {
    keep(reserve, memory);
    PyThread_release_lock(reserve->lock);
    return;
  }
  free(memory);
}

int sapwood_reserve_open(sapwood_reserve *reserve) {
  reserve->lock = PyThread_allocate_lock();
  if (reserve->lock == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  return 0;
}

void sapwood_reserve_close(sapwood_reserve *reserve) {
  while (reserve->n > 0) {
    free(reserve->block[--reserve->n].memory);
  }
  if (reserve->lock != NULL) {
    PyThread_free_lock(reserve->lock);
    reserve->lock = NULL;
  }
}

sap_allocator sapwood_reserve_allocator(sapwood_reserve *reserve) {
  return (sap_allocator){allocate, release, reserve};
}
