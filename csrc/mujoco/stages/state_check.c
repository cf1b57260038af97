#include "mujoco/stages/state_check.h"

#include <math.h>

#include "mujoco/engine/fields.h"
#include "mujoco/engine/guard.h"
#include "mujoco/engine/world.h"

struct size {
  const sap_mujoco_world *world;
  int spec, found;
};

static void call_state_size(void *context) {
  struct size *size = context;
  size->found = size->world->api->mj_stateSize(size->world->model, size->spec);
}

int sap_mujoco_state_size(sap_mujoco_world *world, int spec) {
  struct size size = {world, spec, -1};
  return sap_mujoco_call(world, call_state_size, &size) < 0 ? -1 : size.found;
}

/* Returns 1 if every entry is a number within the limit; it has no branch per entry. */
static int all_within(const double *x, int64_t n, double limit) {
  int64_t outside = 0;
  for (int64_t i = 0; i < n; ++i) {
    outside += !(fabs(x[i]) <= limit);
  }
  return outside == 0;
}

int sap_mujoco_check_state(sap_mujoco_world *world) {
  const double limit = world->stepper->settings.acceleration_limit;
  const double *const state[SAP_STATE_ARRAYS] = {
      SAP_DATA(world, qpos), SAP_DATA(world, qvel),      SAP_DATA(world, act),
      SAP_DATA(world, ctrl), SAP_DATA(world, mocap_pos), SAP_DATA(world, mocap_quat)};
  for (int i = 0; i < SAP_STATE_ARRAYS; ++i) {
    const double *x = state[i];
    if (!all_within(x, world->state_length[i], limit)) {
      int64_t j = 0;
      while (fabs(x[j]) <= limit) {
        ++j;
      }
      sap_mujoco_fail(world, SAP_STEP_STATE, i, j);
      return 0;
    }
  }
  return 1;
}
