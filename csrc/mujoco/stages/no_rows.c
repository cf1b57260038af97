#include "mujoco/stages/no_rows.h"

#include "mujoco/engine/fields.h"

/* of MuJoCo's enums */
enum { JOINT_SLIDE = 2 };

#define ARRAY(type, name) const type *name = sap_pointer_at(world->model, world->api->model.name)

static int any_friction(const sap_mujoco_world *world) {
  ARRAY(double, dof_frictionloss);
  const int64_t nv = sap_int64_at(world->model, world->api->model.nv);
  int64_t rubs = 0;
  for (int64_t i = 0; i < nv; ++i) {
    rubs += dof_frictionloss[i] != 0.0;
  }
  return rubs > 0;
}

/* balls count as if they were always near their limit */
static int any_limit(const sap_mujoco_world *world) {
  ARRAY(unsigned char, jnt_limited);
  ARRAY(int, jnt_type);
  ARRAY(int, jnt_qposadr);
  ARRAY(double, jnt_range);
  ARRAY(double, jnt_margin);
  const double *qpos = sap_pointer_at(world->data, world->api->data.qpos);
  const int64_t n = sap_int64_at(world->model, world->api->model.njnt);
  for (int64_t j = 0; j < n; ++j) {
    if (!jnt_limited[j]) {
      continue;
    }
    const double q = qpos[jnt_qposadr[j]], *range = jnt_range + 2 * j;
    const int is_clear = q - range[0] >= jnt_margin[j] && range[1] - q >= jnt_margin[j];
    if (jnt_type[j] < JOINT_SLIDE || !is_clear) {
      return 1;
    }
  }
  return 0;
}

int sap_mujoco_has_no_rows(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const void *m = world->model, *d = world->data;
  const int listed = sap_int_at(d, a->data.ncon) | sap_int_at(d, a->data.nefc) |
                     sap_int_at(d, a->data.ne) | sap_int_at(d, a->data.nf) |
                     sap_int_at(d, a->data.nl);
  const int64_t others = sap_int64_at(m, a->model.neq) | sap_int64_at(m, a->model.ntendon) |
                         sap_int64_at(m, a->model.nflex);
  return listed == 0 && others == 0 && !any_friction(world) && !any_limit(world);
}
