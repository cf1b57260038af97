#include "mujoco/batch/batch_object.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "mujoco/stages/memory_state.h"
#include "mujoco/stages/state_check.h"
#include "step/contacts/memory_row.h"

/* ---- opening -------------------------------------------------------------------------------- */

/* Opens a world for each worker, without accepted options. */
static sap_status open_worlds(struct sap_batch *batch, const sap_batch_worker *workers,
                              sap_error *error) {
  sap_status status = SAP_OK;
  for (int32_t i = 0; i < batch->n_workers && status == SAP_OK; ++i) {
    struct sap_worker *own = &batch->workers[i];
    status = sap_mujoco_open_with(&own->world, batch->api, workers[i].stepper, workers[i].model,
                                  workers[i].data, NULL, error);
    if (status == SAP_OK) {
      sap_mujoco_set_memory(own->world, workers[i].memory);
    }
  }
  return status;
}

static sap_status fill(struct sap_batch *batch, const sap_batch_worker *workers, sap_error *error) {
  const size_t bytes = sizeof(struct sap_worker) * (size_t)batch->n_workers;
  if (!sap_block_reserve(&batch->memory, bytes, &batch->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  batch->workers = (void *)batch->memory.base;
  memset(batch->workers, 0, bytes);
  if (batch->n_workers > 1) {
    batch->threads = sap_threads_create(batch->n_workers, &batch->allocator);
    if (!batch->threads) {
      return SAP_OUT_OF_MEMORY;
    }
  }
  return open_worlds(batch, workers, error);
}

static sap_status open_batch(sap_batch **batch, const sap_mujoco *api,
                             const sap_batch_worker *workers, int32_t n_workers, sap_error *error) {
  *batch = NULL;
  if (n_workers < 1 || n_workers > SAP_MOST_THREADS) {
    return sap_fail(error, SAP_INVALID_ARGUMENT, "n_workers", -1, n_workers,
                    "must be from 1 to 256");
  }
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  struct sap_batch *made = allocator.allocate(sizeof *made, allocator.context);
  if (!made) {
    return SAP_OUT_OF_MEMORY;
  }
  memset(made, 0, sizeof *made);
  made->allocator = allocator;
  made->api = api;
  made->n_workers = n_workers;
  const sap_status status = fill(made, workers, error);
  if (status == SAP_OK) {
    *batch = made;
  } else {
    sap_batch_close(made);
  }
  return status;
}

sap_status sap_batch_open_checked(sap_batch **batch, const sap_mujoco *api,
                                  const sap_batch_worker *workers, int32_t n_workers,
                                  sap_error *error) {
  const sap_status status = open_batch(batch, api, workers, n_workers, error);
  if (*batch) {
    sap_batch_take_options(*batch);
  }
  return status;
}

sap_status sap_batch_open(sap_batch **batch, const sap_mujoco *api, const sap_batch_worker *workers,
                          int32_t n_workers, sap_error *error) {
  sap_status status = open_batch(batch, api, workers, n_workers, error);
  if (*batch) {
    status = sap_batch_accept_options(*batch, error);
    if (status != SAP_OK) {
      sap_batch_close(*batch);
      *batch = NULL;
    }
  }
  return status;
}

void sap_batch_close(sap_batch *batch) {
  if (!batch) {
    return;
  }
  const sap_allocator allocator = batch->allocator;
  sap_threads_destroy(batch->threads, &allocator);
  for (int32_t i = 0; i < batch->n_workers && batch->workers; ++i) {
    sap_mujoco_close(batch->workers[i].world);
  }
  sap_block_release(&batch->memory, &allocator);
  sap_block_release(&batch->field_memory, &allocator);
  allocator.release(batch, allocator.context);
}

sap_status sap_batch_accept_options(sap_batch *batch, sap_error *error) {
  sap_status status = SAP_OK;
  for (int32_t i = 0; i < batch->n_workers && status == SAP_OK; ++i) {
    status = sap_mujoco_accept_options(batch->workers[i].world, error);
  }
  return status;
}

void sap_batch_take_options(sap_batch *batch) {
  for (int32_t i = 0; i < batch->n_workers; ++i) {
    sap_mujoco_world *world = batch->workers[i].world;
    world->options = sap_mujoco_read_options(batch->api, world->model);
    world->options_known = 1;
  }
}

/* ---- bound fields --------------------------------------------------------------------------- */

sap_status sap_batch_bind(sap_batch *batch, const sap_batch_field *fields, int64_t n) {
  /* an empty block has no place to copy to */
  const size_t bytes = sizeof *fields * (size_t)(n > 0 ? n : 1);
  struct sap_block fresh = {0};
  if (!sap_block_reserve(&fresh, bytes, &batch->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_block_release(&batch->field_memory, &batch->allocator);
  batch->field_memory = fresh;
  batch->fields = (void *)fresh.base;
  batch->n_fields = n;
  batch->needs_full_step = 0;
  for (int64_t i = 0; i < n; ++i) {
    batch->fields[i] = fields[i];
    batch->needs_full_step |= fields[i].way != SAP_BATCH_IN && !fields[i].is_kept;
  }
  return SAP_OK;
}

/* ---- calls ---------------------------------------------------------------------------------- */

int sap_batch_state_size(sap_batch *batch, int spec) {
  return sap_mujoco_state_size(batch->workers[0].world, spec);
}

int64_t sap_batch_memory_size(sap_batch *batch, int64_t n) {
  return sap_memory_row_size(sap_mujoco_memory_state_size(batch->workers[0].world), n);
}

static int is_stopped(const struct sap_batch *batch) {
  return atomic_load_explicit(&batch->stop, memory_order_relaxed);
}

static void stop(struct sap_batch *batch) {
  atomic_store_explicit(&batch->stop, 1, memory_order_relaxed);
}

/* Runs one chunk of worlds. */
static void run_chunk(void *context, int32_t task, int32_t thread) {
  struct sap_batch *batch = context;
  const sap_batch_call *call = batch->call;
  const sap_batch_hooks *hooks = batch->hooks;
  const int64_t first = task * call->chunk;
  const int64_t rest = call->n_worlds - first;
  const int64_t last = first + (call->chunk < rest ? call->chunk : rest);
  if (hooks->enter) {
    hooks->enter(hooks->context, thread);
  }
  for (int64_t position = first; position < last && !is_stopped(batch); ++position) {
    if (!sap_batch_run_world(batch, thread, position)) {
      stop(batch);
    }
  }
  if (hooks->leave) {
    hooks->leave(hooks->context, thread);
  }
  atomic_fetch_add_explicit(&batch->chunks_done, 1, memory_order_release);
}

/* Waits for the chunks of the other threads. */
static void await_others(struct sap_batch *batch, int32_t n_chunks) {
  const sap_batch_hooks *hooks = batch->hooks;
  struct sap_wait wait = {0};
  while (atomic_load_explicit(&batch->chunks_done, memory_order_acquire) < n_chunks) {
    if (hooks->stop && !is_stopped(batch) && hooks->stop(hooks->context, 0, sap_seconds())) {
      stop(batch);
    }
    sap_wait_a_little(&wait);
  }
}

static void run_chunks(struct sap_batch *batch, const struct sap_loop *loop) {
  struct sap_threads *threads = loop->n_tasks > 1 ? batch->threads : NULL;
  if (!threads) {
    sap_threads_run(NULL, loop);
    return;
  }
  sap_threads_wake(threads);
  sap_threads_open(threads, loop);
  while (sap_threads_help(threads)) {
  }
  await_others(batch, loop->n_tasks);
  sap_threads_finish(threads, loop);
  sap_threads_sleep(threads);
}

sap_batch_end sap_batch_run(sap_batch *batch, const sap_batch_call *call,
                            const sap_batch_hooks *hooks) {
  static const sap_batch_hooks none = {0};
  sap_batch_end end = {0};
  batch->call = call;
  batch->hooks = hooks ? hooks : &none;
  atomic_store_explicit(&batch->stop, 0, memory_order_relaxed);
  atomic_store_explicit(&batch->chunks_done, 0, memory_order_relaxed);
  const int64_t n_chunks = (call->n_worlds + call->chunk - 1) / call->chunk;
  run_chunks(batch, &(struct sap_loop){run_chunk, batch, (int32_t)n_chunks});
  for (int32_t i = 0; i < batch->n_workers; ++i) {
    struct sap_worker *worker = &batch->workers[i];
    end.failed += worker->failed;
    end.notable += worker->notable;
    worker->failed = worker->notable = 0;
  }
  end.stopped = is_stopped(batch);
  return end;
}
