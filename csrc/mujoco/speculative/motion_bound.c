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

static double distance(const double *x, const double *y) {
  const double difference[3] = {x[0] - y[0], x[1] - y[1], x[2] - y[2]};
  return sqrt(square(difference));
}

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

/* Returns the smaller one of two geoms, among those that move. */
static int32_t smaller_of(const sap_mujoco_world *world, int32_t g1, int32_t g2) {
  const double *geom_rbound = SAP_MODEL(world, geom_rbound);
  const sap_forest *forest = &world->stepper->forest;
  const int moves1 = forest->body_treeid[forest->geom_bodyid[g1]] >= 0;
  const int moves2 = forest->body_treeid[forest->geom_bodyid[g2]] >= 0;
  return moves1 && (!moves2 || geom_rbound[g1] < geom_rbound[g2]) ? g1 : g2;
}

double sap_motion_bound_of_pair(const struct sap_motion_bound *motion_bound, int32_t g1, int32_t g2,
                                double most) {
  const sap_mujoco_world *world = motion_bound->world;
  const sap_forest *forest = &world->stepper->forest;
  const struct sap_twist *twist = motion_bound->twist;
  const int32_t b1 = forest->geom_bodyid[g1], b2 = forest->geom_bodyid[g2];
  const int32_t smaller = smaller_of(world, g1, g2);
  const double *geom_rbound = SAP_MODEL(world, geom_rbound);
  const double *centre = SAP_DATA(world, geom_xpos) + 3 * (int64_t)smaller;
  double v1[3], v2[3];
  sap_mujoco_point_velocity(world, twist, b1, centre, v1);
  sap_mujoco_point_velocity(world, twist, b2, centre, v2);
  const double speed = distance(v1, v2) + distance(twist[b1].angular, twist[b2].angular) *
                                              (2.0 * geom_rbound[smaller] + most);
  const double gain = motion_bound->gain[g1] + motion_bound->gain[g2];
  const double bound = sap_motion_bound_in(world, 2.0 * speed + gain);
  return bound < most ? bound : most;
}
