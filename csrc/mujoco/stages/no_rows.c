#include "mujoco/stages/no_rows.h"

#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"

/* value of MuJoCo's enum */
enum { JOINT_SLIDE = 2 };

static int any_friction(const sap_mujoco_world *world) {
  const double *dof_frictionloss = SAP_MODEL(world, dof_frictionloss);
  const int64_t nv = SAP_MODEL(world, nv);
  int64_t rubs = 0;
  for (int64_t i = 0; i < nv; ++i) {
    rubs += dof_frictionloss[i] != 0.0;
  }
  return rubs > 0;
}

/* Returns 1 if a joint may be near its limit; balls always count as near. */
static int any_limit(const sap_mujoco_world *world) {
  const unsigned char *jnt_limited = SAP_MODEL(world, jnt_limited);
  const int *jnt_type = SAP_MODEL(world, jnt_type);
  const int *jnt_qposadr = SAP_MODEL(world, jnt_qposadr);
  const double *jnt_range = SAP_MODEL(world, jnt_range);
  const double *jnt_margin = SAP_MODEL(world, jnt_margin);
  const double *qpos = SAP_DATA(world, qpos);
  const int64_t n = SAP_MODEL(world, njnt);
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
  const int listed = SAP_DATA(world, ncon) | SAP_DATA(world, nefc) | SAP_DATA(world, ne) |
                     SAP_DATA(world, nf) | SAP_DATA(world, nl);
  const int64_t others =
      SAP_MODEL(world, neq) | SAP_MODEL(world, ntendon) | SAP_MODEL(world, nflex);
  return listed == 0 && others == 0 && !any_friction(world) && !any_limit(world);
}
