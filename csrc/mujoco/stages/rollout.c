#include "mujoco/stages/rollout.h"

#include <string.h>

#include "base/clock.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/guard.h"
#include "mujoco/stages/lean_step.h"
#include "mujoco/stages/step.h"
#include "mujoco/engine/world.h"

static double *entry_of(const struct sap_plane *p, int64_t world, int64_t step) {
  return p->base + world * p->world_stride + step * p->step_stride;
}

/* ---- states --------------------------------------------------------------------------------- */

struct sizes {
  const struct sap_rollout *rollout;
  struct sap_rollout_lengths *lengths;
};

static void call_state_size(void *context) {
  const struct sizes *sizes = context;
  const struct sap_rollout *r = sizes->rollout;
  const sap_mujoco_world *w = r->world;
  sizes->lengths->neutral = w->api->mj_stateSize(w->model, r->neutral_spec);
  sizes->lengths->state = w->api->mj_stateSize(w->model, r->state_spec);
  sizes->lengths->control = w->api->mj_stateSize(w->model, r->control_spec);
}

int sap_rollout_find_lengths(const struct sap_rollout *rollout,
                             struct sap_rollout_lengths *lengths) {
  struct sizes sizes = {rollout, lengths};
  sap_mujoco_world *world = rollout->world;
  lengths->sensordata = world->nsensordata;
  return sap_mujoco_call(world->api, call_state_size, &sizes, world->end.message);
}

struct part {
  const sap_mujoco_world *world;
  const double *from;
  int spec;
};

static void call_set_state(void *context) {
  const struct part *p = context;
  p->world->api->mj_setState(p->world->model, p->world->data, p->from, p->spec);
}

/* Sets a part of the state; returns 0 with the failure in the world. */
static int set_state(sap_mujoco_world *world, const double *from, int spec) {
  struct part part = {world, from, spec};
  if (sap_mujoco_call(world->api, call_set_state, &part, world->end.message) < 0) {
    sap_mujoco_fail(world, SAP_STEP_MUJOCO, 0, -1);
    return 0;
  }
  return 1;
}

/* ---- worlds --------------------------------------------------------------------------------- */

/* Records step t of world w. */
static void keep(struct sap_rollout *r, int64_t w, int64_t t) {
  const sap_mujoco_world *world = r->world;
  const sap_mujoco *a = world->api;
  if (r->state.base) {
    a->mj_getState(world->model, world->data, entry_of(&r->state, w, t), r->state_spec);
  }
  if (r->sensordata.base) {
    memcpy(entry_of(&r->sensordata, w, t), SAP_DATA(world, sensordata),
           sizeof(double) * (size_t)world->nsensordata);
  }
  if (r->records) {
    r->records[w * r->steps + t] = world->record;
  }
  r->notable += sap_step_is_notable(&world->record);
  r->taken[w]++;
}

static int run_world(struct sap_rollout *r, int64_t w) {
  sap_mujoco_world *world = r->world;
  const sap_step_hooks *hooks = &world->hooks;
  if (!set_state(world, r->neutral, r->neutral_spec) ||
      !set_state(world, entry_of(&r->initial, w, 0), r->state_spec)) {
    return 0;
  }
  if (world->memory) {
    /* the world before may have ended where this one starts */
    sap_friction_memory_forget(world->memory);
  }
  world->started = sap_seconds();
  for (int64_t t = 0; t < r->steps && !*r->stop; ++t) {
    if (r->control.base && !set_state(world, entry_of(&r->control, w, t), r->control_spec)) {
      return 0;
    }
    if (sap_mujoco_take(world, r->lean) != SAP_STEP_TAKEN) {
      return 0;
    }
    keep(r, w, t);
    if (hooks->stop && hooks->stop(hooks->context, world->started)) {
      return 0;
    }
  }
  return 1;
}

int sap_rollout_run(struct sap_rollout *rollout) {
  int64_t w = rollout->first;
  int ended = 1;
  rollout->notable = 0;
  rollout->lean = !rollout->sensordata.base && sap_mujoco_begin_lean(rollout->world);
  while (w < rollout->last && ended && !*rollout->stop) {
    ended = run_world(rollout, w);
    w += ended;
  }
  rollout->current = w;
  return ended;
}
