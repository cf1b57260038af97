#include "mujoco/stages/memory_state.h"

#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "step/contacts/friction_memory.h"

enum { STATE_PARTS = 4 };

/* Lists the parts of the state that stay unchanged between two steps. */
static void list_state(const sap_mujoco_world *world, double *time, struct sap_state_part *parts) {
  *time = SAP_DATA(world, time);
  parts[0] = (struct sap_state_part){time, 1};
  parts[1] = (struct sap_state_part){SAP_DATA(world, qpos), world->state_length[0]};
  parts[2] = (struct sap_state_part){SAP_DATA(world, qvel), world->state_length[1]};
  parts[3] = (struct sap_state_part){SAP_DATA(world, act), world->state_length[2]};
}

int64_t sap_mujoco_memory_state_size(const sap_mujoco_world *world) {
  double time;
  struct sap_state_part parts[STATE_PARTS];
  int64_t n = 0;
  list_state(world, &time, parts);
  for (int i = 0; i < STATE_PARTS; ++i) {
    n += parts[i].n;
  }
  return n;
}

void sap_mujoco_check_memory(const sap_mujoco_world *world) {
  if (world->memory) {
    double time;
    struct sap_state_part parts[STATE_PARTS];
    list_state(world, &time, parts);
    sap_friction_memory_check(world->memory, parts, STATE_PARTS);
  }
}

void sap_mujoco_mark_memory(const sap_mujoco_world *world) {
  if (world->memory) {
    double time;
    struct sap_state_part parts[STATE_PARTS];
    list_state(world, &time, parts);
    sap_friction_memory_mark(world->memory, parts, STATE_PARTS);
  }
}
