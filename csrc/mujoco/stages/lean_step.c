#include "mujoco/stages/lean_step.h"

#include <string.h>

#include "step/stepper_object.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/model_copy.h"
#include "mujoco/stages/recording.h"
#include "mujoco/stages/rotation.h"
#include "step/dynamics/free_rotation.h"

static int disables(const sap_mujoco_world *world, int flag) {
  return (SAP_MODEL(world, disableflags) & flag) != 0;
}

static int has_equalities(const sap_mujoco_world *world) {
  return SAP_MODEL(world, neq) > 0 && !disables(world, SAP_MJDSBL_EQUALITY);
}

static int has_tendon_friction(const sap_mujoco_world *world) {
  const double *tendon_frictionloss = SAP_MODEL(world, tendon_frictionloss);
  const int64_t n = disables(world, SAP_MJDSBL_FRICTIONLOSS) ? 0 : SAP_MODEL(world, ntendon);
  int any = 0;
  for (int64_t i = 0; i < n; ++i) {
    any |= tendon_frictionloss[i] > 0.0;
  }
  return any;
}

/* ---- conditions of lean steps --------------------------------------------------------------- */

/* Returns 1 if the elements of the stepper have all rows that the engine would make. */
static int knows_rows(const sap_mujoco_world *world) {
  const double *dof_frictionloss = SAP_MODEL(world, dof_frictionloss);
  const unsigned char *jnt_limited = SAP_MODEL(world, jnt_limited);
  const sap_stepper *stepper = world->stepper;
  const double *known = stepper->constrained ? stepper->elements.dof_frictionloss : NULL;
  int64_t unknown = stepper->constrained ? 0 : has_equalities(world) + SAP_MODEL(world, ntendon);
  for (int64_t i = 0; i < SAP_MODEL(world, nv); ++i) {
    const double loss = disables(world, SAP_MJDSBL_FRICTIONLOSS) ? 0.0 : dof_frictionloss[i];
    unknown += (known ? known[i] : 0.0) != (loss > 0.0 ? loss : 0.0);
  }
  for (int64_t j = 0; j < SAP_MODEL(world, njnt) && !stepper->constrained; ++j) {
    unknown += jnt_limited[j] && !disables(world, SAP_MJDSBL_LIMIT);
  }
  return unknown == 0;
}

/* Returns 1 if forces follow from the rows of contacts, by actuators that act on a body or by
 * adhesive geoms. */
static int adheres(const sap_mujoco_world *world) {
  const int *actuator_trntype = SAP_MODEL(world, actuator_trntype);
  const double *geom_adhesion = SAP_MODEL(world, geom_adhesion);
  const double *pair_adhesion = SAP_MODEL(world, pair_adhesion);
  int any = 0;
  for (int64_t i = 0; i < SAP_MODEL(world, nactuator); ++i) {
    any |= actuator_trntype[i] == SAP_MJTRN_BODY;
  }
  for (int64_t g = 0; g < SAP_MODEL(world, ngeom); ++g) {
    any |= geom_adhesion[g] != 0.0;
  }
  for (int64_t p = 0; p < SAP_MODEL(world, npair); ++p) {
    any |= pair_adhesion[p] != 0.0;
  }
  return any;
}

int sap_mujoco_begin_lean(sap_mujoco_world *world) {
  const int known =
      SAP_MJENBL_OVERRIDE | SAP_MJENBL_ENERGY | SAP_MJENBL_FWDINV | SAP_MJENBL_INVDISCRETE;
  const int enabled = SAP_MODEL(world, enableflags);
  const int records = world->recording && world->recording->arrays[SAP_RECORDED_sensordata];
  const int64_t goes_on =
      SAP_MODEL(world, nplugin) | SAP_MODEL(world, nhistory) | SAP_MODEL(world, nflex);
  world->goes_on = 0;
  memset(world->copies, 0, sizeof *world->copies);
  return !records && goes_on == 0 && (enabled & ~known) == 0 && knows_rows(world) &&
         !adheres(world);
}

int sap_mujoco_is_watched(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  int any = 0;
#define LOOK_AT(name) any |= *a->name != NULL;
  SAP_MUJOCO_CALLBACKS(LOOK_AT)
#undef LOOK_AT
  return any;
}

/* ---- smooth forces -------------------------------------------------------------------------- */

/* Returns 1 if forces are applied to bodies, which the engine projects: if not all their bytes are
 * 0, as the first one is. */
static int are_pushed(const sap_mujoco_world *world) {
  const char *bytes = (const char *)SAP_DATA(world, xfrc_applied);
  return bytes[0] != 0 ||
         memcmp(bytes, bytes + 1, 6 * sizeof(double) * (size_t)SAP_MODEL(world, nbody) - 1) != 0;
}

void sap_mujoco_choose_products(sap_mujoco_world *world) {
  const sap_stepper *stepper = world->stepper;
  const struct sap_gather *gather = &stepper->gather;
  world->skips_acceleration = world->lean &&
                              sap_free_motion_solves_all(&gather->free_motion, &gather->elements) &&
                              !sap_free_rotation_acts(&stepper->forest) && !are_pushed(world);
  world->skips_factor = world->skips_acceleration && !sap_mujoco_takes_rotation(world);
}

void sap_mujoco_add_smooth_forces(const sap_mujoco_world *world) {
  const double *passive = SAP_DATA(world, qfrc_passive), *bias = SAP_DATA(world, qfrc_bias);
  const double *applied = SAP_DATA(world, qfrc_applied), *actuator = SAP_DATA(world, qfrc_actuator);
  double *smooth = SAP_DATA(world, qfrc_smooth);
  for (int64_t i = 0; i < SAP_MODEL(world, nv); ++i) {
    smooth[i] = passive[i] - bias[i] + applied[i] + actuator[i];
  }
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Returns an upper limit of the entries of J in a row of a contact, a limit or a friction: the dofs
 * of two trees, if rows are sparse. */
static int64_t most_entries(const sap_mujoco_world *world) {
  const sap_forest *forest = &world->stepper->forest;
  int64_t widest = world->api->mj_isSparse(world->model) ? 0 : forest->nv;
  for (int32_t t = 0; t < forest->n_trees && widest < forest->nv; ++t) {
    widest = 2 * forest->tree_dofnum[t] > widest ? 2 * forest->tree_dofnum[t] : widest;
  }
  return widest < forest->nv ? widest : forest->nv;
}

/* Returns 1 if all rows would fit into memory. A full step might fail for want of memory, and a
 * lean one should too. The estimate has bytes per row and per entry of J, with MuJoCo's workspace
 * in between, and doubles the sum. */
static int has_room_for_all(const sap_mujoco_world *world) {
  enum { MOST_ROWS_OF_CONTACT = 10, ROW = 2048, ENTRY = 64, IN_BETWEEN = 1 << 16 };
  const int64_t nv = SAP_MODEL(world, nv), ncon = SAP_DATA(world, ncon);
  const int64_t short_rows = nv + 2 * SAP_MODEL(world, njnt) + MOST_ROWS_OF_CONTACT * ncon;
  const int64_t long_rows = 6 * SAP_MODEL(world, neq) + 3 * SAP_MODEL(world, ntendon);
  const int64_t used = (int64_t)(SAP_DATA(world, pstack) + SAP_DATA(world, parena));
  return short_rows * (ROW + ENTRY * most_entries(world)) + long_rows * (ROW + ENTRY * nv) +
             ROW * nv + IN_BETWEEN <
         SAP_DATA(world, narena) - used;
}

int sap_mujoco_make_few_rows(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  if (!has_room_for_all(world)) {
    return 0;
  }
  const int frictions = has_tendon_friction(world);
  if (world->stepper->constrained && (has_equalities(world) || frictions)) {
    a->mj_markStack(world->data);
    const int flags =
        SAP_MJDSBL_LIMIT | SAP_MJDSBL_CONTACT | (frictions ? 0 : SAP_MJDSBL_FRICTIONLOSS);
    a->mj_makeConstraint(sap_mujoco_with_disabled(world, flags), world->data);
    a->mj_freeStack(world->data);
  }
  return 1;
}
