/* A batch of worlds: the struct behind sapwood/batch.h, and the loop over the steps of one world.
 *
 * Ownership: the batch owns its pool of threads and a world for each worker. A call is read by all
 * threads; a thread writes to its worker, and to the rows of the world that it has claimed. */
#ifndef SAPWOOD_MUJOCO_BATCH_BATCH_OBJECT_H
#define SAPWOOD_MUJOCO_BATCH_BATCH_OBJECT_H

#include <stdatomic.h>

#include "base/memory.h"
#include "base/threads.h"
#include "mujoco/engine/world.h"
#include "sapwood/batch.h"

struct sap_worker {
  _Alignas(SAP_ALIGNMENT) sap_mujoco_world *world;
  int64_t failed, notable; /* as in sap_batch_end, of the worlds of this worker */
};

struct sap_batch {
  const sap_mujoco *api;
  sap_allocator allocator;
  struct sap_threads *threads;
  int32_t n_workers;
  int64_t n_fields;
  struct sap_block memory, field_memory;
  struct sap_worker *workers; /* (n_workers) */
  sap_batch_field *fields;    /* (n_fields) */

  const sap_batch_call *call; /* present call */
  const sap_batch_hooks *hooks;
  int needs_full_step; /* 1 if a bound field needs a full step as the last one of a world */
  atomic_int stop;     /* 1: all threads end the call */
  _Atomic int32_t chunks_done;
};

/* Opens a batch as sap_batch_open() does; the caller has checked the options of the models. */
sap_status sap_batch_open_checked(sap_batch **batch, const sap_mujoco *api,
                                  const sap_batch_worker *workers, int32_t n_workers,
                                  sap_error *error);

/* Takes the present options of the models for checked. */
void sap_batch_take_options(sap_batch *batch);

/* Runs the present call on the world at one position of its list. Returns 0 if the call ends. */
int sap_batch_run_world(struct sap_batch *batch, int32_t worker, int64_t position);

#endif
