#include "mujoco/stages/contact_sensors.h"

#include <string.h>

#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/stack.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/contact_place.h"
#include "mujoco/speculative/model_copy.h"

/* ---- contact sensors ------------------------------------------------------------------------ */

static int is_early(const sap_mujoco_world *world, int64_t sensor) {
  return SAP_MODEL(world, sensor_type)[sensor] == sap_mujoco_contact_sensor(world->api) &&
         SAP_MODEL(world, sensor_needstage)[sensor] == SAP_MJSTAGE_POS;
}

void sap_mujoco_correct_contact_sensors(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const int64_t n = SAP_MODEL(world, nsensor);
  int any = 0;
  for (int64_t i = 0; i < n && !any; ++i) {
    any = is_early(world, i);
  }
  if (any) {
    a->mj_markStack(world->data);
    int *needstage = sap_stack_take(world, (size_t)n * sizeof *needstage);
    for (int64_t i = 0; i < n; ++i) {
      needstage[i] = is_early(world, i) ? SAP_MJSTAGE_POS : 0;
    }
    a->mj_sensorPos(sap_mujoco_with_stages(world, needstage), world->data);
    a->mj_freeStack(world->data);
  }
}

/* ---- touch sensors -------------------------------------------------------------------------- */

/* Returns the side of an open contact on which the body lies, and -1 for any other contact. */
static int side_of(const sap_mujoco_world *world, const char *contact, int32_t body) {
  const sap_mujoco *a = world->api;
  const int32_t *body_of = world->stepper->forest.geom_bodyid;
  const int *geom = sap_mjcontact_geom(a, contact);
  int side = -1;
  for (int k = 0; k < 2 && sap_mjcontact_dist(a, contact) > 0.0; ++k) {
    side = geom[k] >= 0 && body_of[geom[k]] == body ? k : side;
  }
  return side;
}

static int has_open_contact(const sap_mujoco_world *world, int32_t body) {
  int any = 0;
  for (int i = 0; i < SAP_DATA(world, ncon); ++i) {
    any |= side_of(world, SAP_CONTACT(world, i), body) >= 0;
  }
  return any;
}

/* Moves the points of the open contacts to the surface of the body; `point` (ncon, 3) gets the
 * former ones. */
static void move_points(const sap_mujoco_world *world, int32_t body, double *point) {
  const sap_mujoco *a = world->api;
  for (int i = 0; i < SAP_DATA(world, ncon); ++i) {
    const char *contact = SAP_CONTACT(world, i);
    double *p = sap_mjcontact_pos(a, contact);
    const double *n = sap_mjcontact_frame(a, contact);
    const int side = side_of(world, contact, body);
    const double share =
        side < 0 ? 0.0 : sap_mujoco_place_share(world, sap_mjcontact_geom(a, contact));
    memcpy(point + 3 * (int64_t)i, p, 3 * sizeof *p);
    for (int j = 0; j < 3 && side >= 0; ++j) {
      p[j] += (side - 0.5 - share) * sap_mjcontact_dist(a, contact) * n[j];
    }
  }
}

static void restore_points(const sap_mujoco_world *world, const double *point) {
  for (int i = 0; i < SAP_DATA(world, ncon); ++i) {
    memcpy(sap_mjcontact_pos(world->api, SAP_CONTACT(world, i)), point + 3 * (int64_t)i,
           3 * sizeof *point);
  }
}

static void compute_again(const sap_mujoco_world *world, int64_t sensor, int32_t body) {
  const sap_mujoco *a = world->api;
  a->mj_markStack(world->data);
  const size_t bytes = sizeof(int) * (size_t)SAP_MODEL(world, nsensor);
  int *needstage = memset(sap_stack_take(world, bytes), 0, bytes);
  double *point = sap_stack_take(world, 3 * sizeof *point * (size_t)SAP_DATA(world, ncon));
  needstage[sensor] = SAP_MODEL(world, sensor_needstage)[sensor];
  const void *model = sap_mujoco_with_stages(world, needstage);
  move_points(world, body, point);
  a->mj_sensorAcc(model, world->data);
  restore_points(world, point);
  a->mj_freeStack(world->data);
}

void sap_mujoco_correct_touch_sensors(const sap_mujoco_world *world) {
  const int *sensor_type = SAP_MODEL(world, sensor_type);
  const int *sensor_objid = SAP_MODEL(world, sensor_objid);
  const int *site_bodyid = SAP_MODEL(world, site_bodyid);
  const int64_t n = SAP_MODEL(world, nsensor);
  for (int64_t i = 0; i < n; ++i) {
    const int32_t body = sensor_type[i] == SAP_MJSENS_TOUCH ? site_bodyid[sensor_objid[i]] : -1;
    if (body >= 0 && has_open_contact(world, body)) {
      compute_again(world, i, body);
    }
  }
}
