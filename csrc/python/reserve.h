/* Memory of solvers that are gone, kept for the next ones: sapwood.solve() makes a solver per call, and fresh pages
 * from the system would cost it more than a small solve. */
#ifndef SAPWOOD_PYTHON_RESERVE_H
#define SAPWOOD_PYTHON_RESERVE_H

#include <Python.h>

#include "sapwood.h"

enum { SAPWOOD_RESERVE_BLOCKS = 16 };

/* Blocks that nobody uses, the newest last. The lock is never waited for: who does not get it at once goes to malloc or free, so
 * that a fork at any moment leaves nothing that could block. */
typedef struct sapwood_reserve {
  PyThread_type_lock lock; /* NULL until the first use */
  struct {
    void *memory;
    size_t bytes;
  } block[SAPWOOD_RESERVE_BLOCKS];
  int n;
  size_t total; /* bytes, of all blocks */
} sapwood_reserve;

/* 0, or -1 with MemoryError */
int sapwood_reserve_open(sapwood_reserve *reserve);

/* frees the blocks; every block taken from it must have come back */
void sapwood_reserve_close(sapwood_reserve *reserve);

/* for the core; the reserve must outlive all memory taken from it */
sap_allocator sapwood_reserve_allocator(sapwood_reserve *reserve);

#endif
