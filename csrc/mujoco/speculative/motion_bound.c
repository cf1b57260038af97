#include "mujoco/speculative/motion_bound.h"

#include <math.h>
#include <string.h>

#include "step/stepper_object.h"
#include "mujoco/speculative/separation.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/engine/stack.h"

static double square(const double *x) { return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]; }

static double fall_of(const sap_mujoco_world *world) {
  return world->stepper->settings.dt * sqrt(square(SAP_MODEL(world, gravity)));
}

struct sap_motion_bound sap_motion_bound_begin(const sap_mujoco_world *world,
                                               const struct sap_twist *twist) {
  const size_t n = (size_t)world->stepper->forest.n_geoms;
  struct sap_motion_bound motion_bound = {.world = world, .twist = twist, .fall = fall_of(world)};
  motion_bound.distance = sap_stack_take(world, n * (2 * sizeof(double) + 1));
  motion_bound.gain = motion_bound.distance + n;
  motion_bound.is_known = (int8_t *)(motion_bound.gain + n);
  memset(motion_bound.is_known, 0, n);
  return motion_bound;
}

double sap_motion_bound_reach(const sap_mujoco_world *world, int32_t geom) {
  const int *geom_type = SAP_MODEL(world, geom_type);
  const double *geom_rbound = SAP_MODEL(world, geom_rbound);
  return geom_type[geom] == SAP_MJGEOM_SPHERE ? 0.0 : geom_rbound[geom];
}

double sap_motion_bound_in(const sap_mujoco_world *world, double speed) {
  return (1.0 + SAP_OPEN_TIME) * world->stepper->settings.dt * speed;
}

/* Returns an upper limit of the speeds of the surfaces of geoms of a body, m/s. */
static double speed_of(const struct sap_motion_bound *motion_bound, int32_t body, int32_t first,
                       int32_t end) {
  const sap_mujoco_world *world = motion_bound->world;
  const double *xpos = SAP_DATA(world, geom_xpos);
  const double *com = SAP_DATA(world, subtree_com);
  const double *c = com + 3 * (int64_t)world->stepper->forest.body_rootid[body];
  double fastest = 0.0, reach = 0.0;
  for (int32_t g = first; g < end; ++g) {
    double v[3];
    sap_twist_at(motion_bound->twist + body, c, xpos + 3 * (int64_t)g, v);
    fastest = sap_larger(square(v), fastest);
    reach = sap_larger(sap_motion_bound_reach(world, g), reach);
  }
  return sqrt(fastest) + sqrt(square(motion_bound->twist[body].angular)) * reach;
}

void sap_motion_bound_find(const struct sap_motion_bound *motion_bound, int32_t geom) {
  const sap_forest *forest = &motion_bound->world->stepper->forest;
  const int32_t body = forest->geom_bodyid[geom];
  motion_bound->is_known[geom] = 1;
  motion_bound->distance[geom] = motion_bound->gain[geom] = 0.0;
  if (forest->body_treeid[body] >= 0) {
    const double speed = speed_of(motion_bound, body, geom, geom + 1);
    motion_bound->gain[geom] = sap_gain_of(motion_bound->fall, speed);
    motion_bound->distance[geom] =
        sap_motion_bound_in(motion_bound->world, speed + motion_bound->gain[geom]);
  }
}

double sap_motion_bound_of_body(const struct sap_motion_bound *motion_bound, int32_t body,
                                int32_t first, int32_t end, double *gain) {
  *gain = 0.0;
  if (motion_bound->world->stepper->forest.body_treeid[body] < 0) {
    return 0.0;
  }
  const double speed = speed_of(motion_bound, body, first, end);
  *gain = sap_gain_of(motion_bound->fall, speed);
  return sap_motion_bound_in(motion_bound->world, speed + *gain);
}
