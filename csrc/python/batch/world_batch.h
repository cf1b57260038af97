/* _core.WorldBatch: many worlds on a few threads, without the GIL; see sapwood/batch.h.
 *
 * Ownership: it keeps its workers and its bound arrays alive. The caller runs one call at a time
 * and keeps the arrays of a call. */
#ifndef SAPWOOD_PYTHON_BATCH_WORLD_BATCH_H
#define SAPWOOD_PYTHON_BATCH_WORLD_BATCH_H

#include "python/mujoco/py_world.h"
#include "base/threads.h"
#include "sapwood/batch.h"

typedef struct sapwood_world_batch {
  PyObject_HEAD
  sap_batch *core; /* NULL until its workers are known */
  int32_t n_workers;
  int64_t n_bodies;
  const sap_stepper *steppers[SAP_MOST_THREADS]; /* (n_workers) steppers of the workers */
  sapwood_state *state;
  const sap_mujoco *api;
  PyObject *kept;      /* list of references to the workers and the engine */
  PyObject *fields;    /* tuple of the bound fields */
  void **places;       /* addresses of the bound arrays, n_workers for each field */
  sap_batch_field *of; /* bound fields */
  int64_t n_worlds;    /* number of rows of the bound fields, -1: none is bound */
} sapwood_world_batch;

#endif
