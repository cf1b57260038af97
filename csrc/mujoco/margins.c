#include "mujoco/margins.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "model/stepper.h"
#include "mujoco/apart.h"
#include "mujoco/fields.h"
#include "mujoco/model_copy.h"
#include "mujoco/pairs.h"
#include "mujoco/twists.h"

/* of MuJoCo's enums */
enum { GEOM_SPHERE = 2 };

static double length(const double *x) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

/* an array of the model */
#define ARRAY(type, name) const type *name = sap_pointer_at(m, a->model.name)

/* ---- margins -------------------------------------------------------------------------------- */

/* the speed that a body gains in a step of free fall, m/s */
static double fall_of(const sap_mujoco_world *world) {
  double gravity[3];
  memcpy(gravity, (const char *)world->model + world->api->model.gravity, sizeof gravity);
  return world->stepper->settings.dt * length(gravity);
}

/* the farthest that a point which can come closer by a turn is away from the centre: none of a
 * sphere */
static double reach_of(const sap_mujoco_world *world, int32_t geom) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  ARRAY(int, geom_type);
  ARRAY(double, geom_rbound);
  return geom_type[geom] == GEOM_SPHERE ? 0.0 : geom_rbound[geom];
}

/* bound of the speed of its surface, m/s */
static double speed_of(const sap_mujoco_world *world, const struct sap_twist *twist, int32_t geom) {
  const double *xpos = sap_pointer_at(world->data, world->api->data.geom_xpos);
  const int32_t body = world->stepper->forest.geom_bodyid[geom];
  double v[3];
  sap_mujoco_point_velocity(world, twist, body, xpos + 3 * (int64_t)geom, v);
  return length(v) + length(twist[body].angular) * reach_of(world, geom);
}

static double travel_in(const sap_mujoco_world *world, double speed) {
  return (1.0 + SAP_OPEN_TIME) * world->stepper->settings.dt * speed;
}

static int moves(const sap_mujoco_world *world, int32_t geom) {
  const sap_forest *forest = &world->stepper->forest;
  return forest->body_treeid[forest->geom_bodyid[geom]] >= 0;
}

/* 0 of geoms that stay where they are, or that meet none but those of explicit pairs, where there
 * are none of these: most geoms of a robot only show it */
static int needs_margin(const sap_mujoco_world *world, int32_t geom) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  ARRAY(int, geom_contype);
  ARRAY(int, geom_conaffinity);
  const int meets = (geom_contype[geom] | geom_conaffinity[geom]) != 0;
  return (meets || sap_int64_at(m, a->model.npair) > 0) && moves(world, geom);
}

static void find_travel(const sap_mujoco_world *world, const struct sap_twist *twist,
                        const struct sap_travel *travel) {
  for (int32_t g = 0; g < world->stepper->forest.n_geoms; ++g) {
    travel->distance[g] = travel->gain[g] = 0.0;
    if (needs_margin(world, g)) {
      const double speed = speed_of(world, twist, g);
      travel->gain[g] = sap_gain_of(travel->fall, speed);
      travel->distance[g] = travel_in(world, speed + travel->gain[g]);
    }
  }
}

/* ---- what leaves the list ------------------------------------------------------------------- */

/* the distance up to which the model itself lists a contact of two geoms */
static double own_reach(const sap_mujoco_world *world, const int *geom) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  ARRAY(double, geom_margin);
  ARRAY(double, geom_gap);
  ARRAY(double, pair_margin);
  ARRAY(double, pair_gap);
  ARRAY(int, pair_geom1);
  ARRAY(int, pair_geom2);
  double reach =
      geom_margin[geom[0]] + geom_margin[geom[1]] + geom_gap[geom[0]] + geom_gap[geom[1]];
  const int64_t n_pairs = sap_int64_at(m, a->model.npair);
  for (int64_t p = 0; p < n_pairs; ++p) {
    if ((pair_geom1[p] == geom[0] && pair_geom2[p] == geom[1]) ||
        (pair_geom1[p] == geom[1] && pair_geom2[p] == geom[0])) {
      reach = sap_larger(reach, pair_margin[p] + pair_gap[p]);
    }
  }
  return reach;
}

/* 1 where a contact may close within the step, or is one of the model's own list */
static int may_close(const sap_mujoco_world *world, const struct sap_twist *twist,
                     const struct sap_travel *travel, const char *contact) {
  const sap_mujoco *a = world->api;
  const double dist = sap_double_at(contact, a->contact.dist);
  const int geom[2] = {sap_int_at(contact, a->contact.geom),
                       sap_int_at(contact, a->contact.geom + (ptrdiff_t)sizeof(int))};
  if (!(dist > 0.0) || geom[0] < 0 || geom[1] < 0 || dist < own_reach(world, geom)) {
    return 1;
  }
  double p[3], n[3], v[2][3], turn[3], gain = 0.0, reach = INFINITY;
  memcpy(p, contact + a->contact.pos, sizeof p);
  memcpy(n, contact + a->contact.frame, sizeof n);
  const int32_t *body_of = world->stepper->forest.geom_bodyid;
  for (int side = 0; side < 2; ++side) {
    sap_mujoco_point_velocity(world, twist, body_of[geom[side]], p, v[side]);
    if (moves(world, geom[side])) {
      gain += travel->gain[geom[side]];
      reach = fmin(reach, reach_of(world, geom[side]));
    }
  }
  double closing = 0.0, slide[3];
  for (int j = 0; j < 3; ++j) {
    slide[j] = v[1][j] - v[0][j];
    closing -= n[j] * slide[j];
    turn[j] = twist[body_of[geom[1]]].angular[j] - twist[body_of[geom[0]]].angular[j];
  }
  const double swing = reach < INFINITY ? length(turn) * reach : 0.0;
  closing += swing;
  const int32_t *tree_of = world->stepper->forest.body_treeid;
  if (tree_of[body_of[geom[0]]] == tree_of[body_of[geom[1]]]) {
    gain = fmin(gain, sap_gain_of(travel->fall, length(slide) + swing));
  }
  return dist < travel_in(world, 2.0 * sap_larger(closing, 0.0) + gain);
}

static void leave_out(const sap_mujoco_world *world, const struct sap_twist *twist,
                      const struct sap_travel *travel) {
  const sap_mujoco *a = world->api;
  char *contacts = sap_pointer_at(world->data, a->data.contact);
  const size_t size = (size_t)a->contact.size;
  const int n = sap_int_at(world->data, a->data.ncon);
  int kept = 0;
  for (int i = 0; i < n; ++i) {
    const char *contact = contacts + (size_t)i * size;
    if (may_close(world, twist, travel, contact)) {
      if (kept < i) {
        memcpy(contacts + (size_t)kept * size, contact, size);
      }
      ++kept;
    }
  }
  memcpy((char *)world->data + a->data.ncon, &kept, sizeof kept);
}

void sap_mujoco_find_contacts(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const sap_forest *forest = &world->stepper->forest;
  const size_t n_bodies = (size_t)forest->n_bodies, n_geoms = (size_t)forest->n_geoms;
  a->mj_markStack(world->data);
  struct sap_twist *twist =
      a->mj_stackAllocByte(world->data, n_bodies * sizeof *twist, sizeof(double));
  double *numbers =
      a->mj_stackAllocByte(world->data, 2 * n_geoms * sizeof *numbers, sizeof *numbers);
  struct sap_geom_pair *pair =
      a->mj_stackAllocByte(world->data, SAP_MOST_PAIRS * sizeof *pair, sizeof(int32_t));
  const struct sap_travel travel = {numbers, numbers + n_geoms, fall_of(world)};
  sap_mujoco_twists(world, twist);
  find_travel(world, twist, &travel);
  const int32_t n_pairs = sap_mujoco_find_pairs(world, twist, &travel, pair);
  a->mj_collision(n_pairs < 0 ? sap_mujoco_with_margins(world, travel.distance)
                              : sap_mujoco_with_pairs(world, travel.distance, pair, n_pairs),
                  world->data);
  leave_out(world, twist, &travel);
  a->mj_freeStack(world->data);
}
