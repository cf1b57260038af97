#include "mujoco/speculative/motion_bound.h"

#include <math.h>
#include <string.h>

#include "step/stepper_object.h"
#include "mujoco/speculative/separation.h"
#include "mujoco/engine/fields.h"
#include "mujoco/stages/stack.h"

/* of MuJoCo's enums */
enum { GEOM_SPHERE = 2 };

static double square(const double *x) { return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]; }

static double fall_of(const sap_mujoco_world *world) {
  double gravity[3];
  memcpy(gravity, (const char *)world->model + world->api->model.gravity, sizeof gravity);
  return world->stepper->settings.dt * sqrt(square(gravity));
}

struct sap_travel sap_travel_begin(const sap_mujoco_world *world, const struct sap_twist *twist) {
  const size_t n = (size_t)world->stepper->forest.n_geoms;
  struct sap_travel travel = {.world = world, .twist = twist, .fall = fall_of(world)};
  travel.distance = sap_stack_take(world, 2 * n * sizeof(double));
  travel.gain = travel.distance + n;
  travel.is_known = sap_stack_take(world, n);
  memset(travel.is_known, 0, n);
  return travel;
}

double sap_travel_reach(const sap_mujoco_world *world, int32_t geom) {
  const sap_mujoco *a = world->api;
  const int *geom_type = sap_pointer_at(world->model, a->model.geom_type);
  const double *geom_rbound = sap_pointer_at(world->model, a->model.geom_rbound);
  return geom_type[geom] == GEOM_SPHERE ? 0.0 : geom_rbound[geom];
}

double sap_travel_in(const sap_mujoco_world *world, double speed) {
  return (1.0 + SAP_OPEN_TIME) * world->stepper->settings.dt * speed;
}

/* bound of the speeds of the surfaces of geoms of a body, m/s */
static double speed_of(const struct sap_travel *travel, int32_t body, int32_t first, int32_t end) {
  const sap_mujoco_world *world = travel->world;
  const double *xpos = sap_pointer_at(world->data, world->api->data.geom_xpos);
  const double *com = sap_pointer_at(world->data, world->api->data.subtree_com);
  const double *c = com + 3 * (int64_t)world->stepper->forest.body_rootid[body];
  double fastest = 0.0, reach = 0.0;
  for (int32_t g = first; g < end; ++g) {
    double v[3];
    sap_twist_at(travel->twist + body, c, xpos + 3 * (int64_t)g, v);
    fastest = sap_larger(square(v), fastest);
    reach = sap_larger(sap_travel_reach(world, g), reach);
  }
  return sqrt(fastest) + sqrt(square(travel->twist[body].angular)) * reach;
}

void sap_travel_find(const struct sap_travel *travel, int32_t geom) {
  const sap_forest *forest = &travel->world->stepper->forest;
  const int32_t body = forest->geom_bodyid[geom];
  travel->is_known[geom] = 1;
  travel->distance[geom] = travel->gain[geom] = 0.0;
  if (forest->body_treeid[body] >= 0) {
    const double speed = speed_of(travel, body, geom, geom + 1);
    travel->gain[geom] = sap_gain_of(travel->fall, speed);
    travel->distance[geom] = sap_travel_in(travel->world, speed + travel->gain[geom]);
  }
}

double sap_travel_of_body(const struct sap_travel *travel, int32_t body, int32_t first, int32_t end,
                          double *gain) {
  *gain = 0.0;
  if (travel->world->stepper->forest.body_treeid[body] < 0) {
    return 0.0;
  }
  const double speed = speed_of(travel, body, first, end);
  *gain = sap_gain_of(travel->fall, speed);
  return sap_travel_in(travel->world, speed + *gain);
}
