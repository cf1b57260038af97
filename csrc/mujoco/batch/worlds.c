#include <string.h>

#include "base/clock.h"
#include "mujoco/batch/batch_object.h"
#include "mujoco/engine/guard.h"
#include "mujoco/stages/lean_step.h"
#include "mujoco/stages/memory_state.h"
#include "mujoco/stages/step.h"
#include "step/contacts/memory_row.h"

/* A world of the present call, and the worker that steps it. */
struct visit {
  const struct sap_batch *batch;
  const sap_batch_call *call;
  sap_mujoco_world *world;
  int32_t worker;
  int64_t position; /* position in the list of the call */
  int64_t row;      /* index of the world */
  int64_t step;     /* number of taken steps */
};

static double *entry_of(const sap_plane *plane, int64_t position, int64_t step) {
  return plane->base + position * plane->world_stride + step * plane->step_stride;
}

/* Calls MuJoCo with a visit; returns 0 with the failure in the world. */
static int call_engine(struct visit *visit, void (*body)(void *)) {
  sap_mujoco_world *world = visit->world;
  if (sap_mujoco_call(world, body, visit) < 0) {
    sap_mujoco_fail(world, SAP_STEP_MUJOCO, 0, -1);
    return 0;
  }
  return 1;
}

/* Asks the hook to act; returns 0 with the failure in the world. */
static int act(const struct visit *visit, sap_batch_act what) {
  const sap_batch_hooks *hooks = visit->batch->hooks;
  sap_mujoco_world *world = visit->world;
  const int failed =
      hooks->act(hooks->context, visit->worker, visit->position, what, &world->record);
  if (failed) {
    world->end.status = SAP_INVALID_ARGUMENT;
    world->end.error = (sap_error){0};
    sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
  }
  return !failed;
}

/* ---- ahead of the steps --------------------------------------------------------------------- */

/* Copies the rows of a world to the worker. */
static void load_fields(const struct visit *visit) {
  const double *speeds = visit->call->speeds;
  if (speeds) {
    sap_stepper_set_speeds(visit->world->stepper, speeds + SAP_STEP_SPEEDS * visit->row);
  }
  for (int64_t i = 0; i < visit->batch->n_fields; ++i) {
    const sap_batch_field *field = &visit->batch->fields[i];
    if (field->way == SAP_BATCH_IN || field->way == SAP_BATCH_BOTH) {
      memcpy(field->places[visit->worker], (char *)field->rows + visit->row * field->stride,
             field->bytes);
    }
  }
}

static void load_state(void *context) {
  const struct visit *visit = context;
  const sap_batch_call *call = visit->call;
  const sap_mujoco_world *world = visit->world;
  const sap_mujoco *a = world->api;
  if (call->keys) {
    a->mj_resetDataKeyframe(world->model, world->data, call->keys[visit->position]);
  } else {
    const double *row = call->start ? call->start : call->state + visit->row * call->state_stride;
    a->mj_setState(world->model, world->data, row, call->state_spec);
  }
  if (call->overlay.base) {
    a->mj_setState(world->model, world->data, entry_of(&call->overlay, visit->position, 0),
                   call->overlay_spec);
  }
}

/* Returns the friction memory that the world starts with, or NULL. */
static const double *memory_of(const struct visit *visit) {
  const sap_batch_call *call = visit->call;
  const sap_mujoco_world *world = visit->world;
  if (call->remembered == 0 || call->keys || call->start) {
    return NULL;
  }
  const int64_t behind = call->state_stride -
                         sap_memory_row_size(sap_mujoco_memory_state_size(world), call->remembered);
  if (call->overlay.base && call->overlay_spec == call->state_spec) {
    return entry_of(&call->overlay, visit->position, 0) + behind;
  }
  return call->state + visit->row * call->state_stride + behind;
}

/* Loads the memory of lagged friction; returns 0 with the failure in the world. */
static int load_memory(const struct visit *visit) {
  sap_mujoco_world *world = visit->world;
  if (!world->memory) {
    return 1;
  }
  const double *row = memory_of(visit);
  /* the world before may have ended where this one starts */
  sap_friction_memory_forget(world->memory);
  const sap_status status =
      row ? sap_memory_row_load(world->memory, row, sap_mujoco_memory_state_size(world),
                                visit->call->remembered)
          : SAP_OK;
  if (status == SAP_OUT_OF_MEMORY) {
    world->end.status = status;
    world->end.error = (sap_error){0};
    sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
  } else if (status != SAP_OK) {
    sap_mujoco_fail(world, SAP_STEP_REMEMBERED, 1, -1);
  }
  return status == SAP_OK;
}

static void set_control(void *context) {
  const struct visit *visit = context;
  visit->world->api->mj_setState(visit->world->model, visit->world->data,
                                 entry_of(&visit->call->control, visit->position, visit->step),
                                 visit->call->control_spec);
}

/* ---- after a step --------------------------------------------------------------------------- */

/* Records the present step. */
static void record(const struct visit *visit) {
  const sap_batch_call *call = visit->call;
  const sap_mujoco_world *world = visit->world;
  const int64_t entry = visit->position * call->steps + visit->step;
  for (int64_t i = 0; i < call->n_records; ++i) {
    const sap_batch_record *r = &call->records[i];
    char *to = r->base + entry * (int64_t)r->bytes;
    if (r->places) {
      memcpy(to, r->places[visit->worker], r->bytes);
    } else {
      world->api->mj_getState(world->model, world->data, (double *)(void *)to, r->spec);
    }
  }
  if (call->step_records) {
    call->step_records[entry] = world->record;
  }
}

/* Returns 1 if a record is more than a state, which lean steps leave as full ones do. */
static int records_fields(const sap_batch_call *call) {
  int any = 0;
  for (int64_t i = 0; i < call->n_records; ++i) {
    any |= call->records[i].places != NULL;
  }
  return any;
}

/* ---- after the steps ------------------------------------------------------------------------ */

static void save_floats(float *to, const double *from, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    to[i] = (float)from[i];
  }
}

/* Copies the fields of the data to the rows of the world. */
static void save_fields(const struct visit *visit) {
  for (int64_t i = 0; i < visit->batch->n_fields; ++i) {
    const sap_batch_field *field = &visit->batch->fields[i];
    const void *from = field->places[visit->worker];
    char *row = (char *)field->rows + visit->row * field->stride;
    if (field->way == SAP_BATCH_FLOAT) {
      save_floats((float *)(void *)row, from, field->bytes / sizeof(double));
    } else if (field->way != SAP_BATCH_IN) {
      memcpy(row, from, field->bytes);
    }
  }
}

/* Returns 0 with the failure in the world if its row has no room for its friction memory. */
static int has_room(const struct visit *visit) {
  const sap_batch_call *call = visit->call;
  sap_mujoco_world *world = visit->world;
  if (!world->memory || call->remembered == 0) {
    return 1;
  }
  const int64_t n = sap_memory_row_contacts(world->memory);
  if (n > call->remembered) {
    sap_mujoco_fail(world, SAP_STEP_REMEMBERED, 0, n);
  }
  return n <= call->remembered;
}

static void save_state(const struct visit *visit) {
  const sap_batch_call *call = visit->call;
  const sap_mujoco_world *world = visit->world;
  double *row = call->state + visit->row * call->state_stride;
  world->api->mj_getState(world->model, world->data, row, call->state_spec);
  if (world->memory && call->remembered > 0) {
    const int64_t n_state = sap_mujoco_memory_state_size(world);
    sap_memory_row_save(world->memory,
                        row + call->state_stride - sap_memory_row_size(n_state, call->remembered),
                        n_state, call->remembered);
  }
}

/* Saves what the world leaves. */
static void save(const struct visit *visit) {
  const sap_batch_call *call = visit->call;
  const sap_mujoco_world *world = visit->world;
  const int solved = call->steps > 0 || call->stage == SAP_STAGE_ACC;
  if (call->state) {
    save_state(visit);
  }
  save_fields(visit);
  if (call->last_records && call->steps > 0) {
    call->last_records[visit->row] = world->record;
  }
  const sap_batch_hooks *hooks = visit->batch->hooks;
  if (hooks->act) {
    return;
  }
  if (hooks->solved && solved) {
    hooks->solved(hooks->context, visit->worker, visit->row);
  }
  if (call->body_forces && solved) {
    const int64_t n = 3 * (int64_t)world->stepper->forest.n_bodies;
    sap_stepper_body_forces(world->stepper, call->body_forces + visit->row * n);
  }
}

/* ---- a world -------------------------------------------------------------------------------- */

enum outcome { DONE, FAILED, STOPPED };

/* Takes a step; returns 0 with the failure in the world. */
static int take_step(const struct visit *visit, int lean) {
  return visit->batch->hooks->act ? act(visit, SAP_BATCH_STEP)
                                  : sap_mujoco_take(visit->world, lean) == SAP_STEP_TAKEN;
}

static enum outcome take_steps(struct visit *visit) {
  const struct sap_batch *batch = visit->batch;
  const sap_batch_call *call = visit->call;
  if (call->steps == 0) {
    return DONE;
  }
  sap_mujoco_world *world = visit->world;
  struct sap_worker *worker = &batch->workers[visit->worker];
  const sap_batch_hooks *hooks = batch->hooks;
  const int needs_last = batch->needs_full_step && call->stage == SAP_STAGE_NONE;
  const int lean = !hooks->act && !records_fields(call) && sap_mujoco_begin_lean(world);
  world->started = sap_seconds();
  for (visit->step = 0; visit->step < call->steps; ++visit->step) {
    const int is_last = visit->step == call->steps - 1;
    if (atomic_load_explicit(&batch->stop, memory_order_relaxed)) {
      return STOPPED;
    }
    world->is_unread = !call->step_records && !(call->last_records && is_last);
    if ((call->control.base && !call_engine(visit, set_control)) ||
        !take_step(visit, lean && !(needs_last && is_last))) {
      return FAILED;
    }
    record(visit);
    worker->notable += sap_step_is_notable(&world->record);
    if (call->taken) {
      call->taken[visit->position] = visit->step + 1;
    }
    if (hooks->stop && hooks->stop(hooks->context, visit->worker, world->started)) {
      return STOPPED;
    }
  }
  return DONE;
}

static enum sap_forward_stage forward_stage(sap_batch_stage stage) {
  return stage == SAP_STAGE_POS   ? SAP_FORWARD_POSITIONS
         : stage == SAP_STAGE_VEL ? SAP_FORWARD_VELOCITIES
                                  : SAP_FORWARD_FORCES;
}

/* Computes the stages after the steps; returns 0 with the failure in the world. */
static int run_stages(const struct visit *visit) {
  const sap_batch_stage stage = visit->call->stage;
  if (stage == SAP_STAGE_NONE) {
    return 1;
  }
  return stage == SAP_STAGE_ACC && visit->batch->hooks->act
             ? act(visit, SAP_BATCH_FORWARD)
             : sap_mujoco_forward(visit->world, forward_stage(stage)) == SAP_STEP_TAKEN;
}

static enum outcome run_steps_and_stages(struct visit *visit) {
  load_fields(visit);
  if (!call_engine(visit, load_state)) {
    return FAILED;
  }
  const int acts = visit->batch->hooks->act != NULL;
  if (!load_memory(visit) || (acts && !act(visit, SAP_BATCH_BEGIN))) {
    return FAILED;
  }
  const enum outcome outcome = take_steps(visit);
  if (outcome != DONE) {
    return outcome;
  }
  const int ended = run_stages(visit) && has_room(visit) && (!acts || act(visit, SAP_BATCH_END));
  return ended ? DONE : FAILED;
}

int sap_batch_run_world(struct sap_batch *batch, int32_t worker, int64_t position) {
  const sap_batch_call *call = batch->call;
  const sap_batch_hooks *hooks = batch->hooks;
  struct visit visit = {.batch = batch,
                        .call = call,
                        .world = batch->workers[worker].world,
                        .worker = worker,
                        .position = position,
                        .row = call->ids ? call->ids[position] : position};
  const enum outcome outcome = run_steps_and_stages(&visit);
  int goes_on = outcome != STOPPED;
  if (outcome == DONE) {
    save(&visit);
  } else if (outcome == FAILED) {
    batch->workers[worker].failed++;
    goes_on =
        !hooks->failed || !hooks->failed(hooks->context, worker, position, visit.step, visit.world);
  }
  if (call->status && goes_on) {
    call->status[visit.row] = outcome == DONE ? 0 : (uint8_t)visit.world->end.failure;
  }
  return goes_on;
}
