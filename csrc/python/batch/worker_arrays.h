/* Arrays that each worker of a batch of worlds has one of. */
#ifndef SAPWOOD_PYTHON_BATCH_WORKER_ARRAYS_H
#define SAPWOOD_PYTHON_BATCH_WORKER_ARRAYS_H

#include "python/batch/world_batch.h"

/* Finds the addresses of an array of each worker, which must be contiguous and of one size. Returns
 * 0, or -1 with an exception that calls them `name`. */
int sapwood_world_batch_places(const sapwood_world_batch *self, PyObject *arrays, const char *name,
                               void **places, size_t *bytes, int *typenum);

#endif
