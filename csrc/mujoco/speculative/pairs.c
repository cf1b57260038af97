#include "mujoco/speculative/pairs.h"

#include <math.h>
#include <string.h>

#include "step/contacts/separation_bounds.h"
#include "step/stepper_object.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/hinges.h"
#include "mujoco/speculative/pair_search.h"
#include "mujoco/speculative/speculative_tuning.h"

/* values of MuJoCo's enums */
enum { GEOM_PLANE = 0, GEOM_SPHERE = 2, GEOM_CAPSULE = 3, GEOM_BOX = 6, GEOM_MESH = 7 };

/* error of a measured distance, m */
static const double error = 1e-6;

/* smaller distances have no reliable direction, m */
static const double least_distance = 1e-6;

/* ---- movers --------------------------------------------------------------------------------- */

double sap_search_own(const struct sap_search *s, int32_t geom) {
  const double *geom_margin = SAP_MODEL(s->world, geom_margin);
  const double *geom_gap = SAP_MODEL(s->world, geom_gap);
  return geom_margin[geom] + geom_gap[geom];
}

double sap_search_motion_bound(const struct sap_search *s, int32_t geom) {
  const double *geom_margin = SAP_MODEL(s->world, geom_margin);
  const double *geom_gap = SAP_MODEL(s->world, geom_gap);
  return geom_gap[geom] +
         sap_widened_margin(geom_margin[geom], sap_motion_bound_of(s->motion_bound, geom));
}

static void set_radius(struct sap_mover *mover) {
  const double *h = mover->half;
  mover->radius = mover->round + sqrt(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]);
}

void sap_search_place_box(const struct sap_search *s, int32_t body, const double *box,
                          const double *origin, const double *axes, struct sap_mover *mover) {
  for (int j = 0; j < 3; ++j) {
    const double *row = axes + 3 * (ptrdiff_t)j;
    mover->centre[j] = origin[j] + row[0] * box[0] + row[1] * box[1] + row[2] * box[2];
    mover->half[j] = box[3 + j];
  }
  mover->axes = axes;
  mover->round = 0.0;
  mover->turn = s->motion_bound->twist[body].angular;
  mover->fall = s->motion_bound->fall;
  mover->tree = s->world->stepper->forest.body_treeid[body];
  sap_mujoco_point_velocity(s->world, s->motion_bound->twist, body, mover->centre, mover->velocity);
  set_radius(mover);
}

const struct sap_mover *sap_search_place_geom(struct sap_search *s, int32_t geom) {
  struct sap_mover *mover = s->movers + geom;
  const int *geom_type = SAP_MODEL(s->world, geom_type);
  const double *geom_size = SAP_MODEL(s->world, geom_size);
  const double *geom_aabb = SAP_MODEL(s->world, geom_aabb);
  const double *geom_xpos = SAP_DATA(s->world, geom_xpos);
  const double *geom_xmat = SAP_DATA(s->world, geom_xmat);
  const int64_t g = geom;
  const int type = geom_type[geom];
  sap_search_place_box(s, s->world->stepper->forest.geom_bodyid[geom], geom_aabb + 6 * g,
                       geom_xpos + 3 * g, geom_xmat + 9 * g, mover);
  if (type == GEOM_SPHERE || type == GEOM_CAPSULE) {
    mover->half[0] = mover->half[1] = 0.0;
    mover->half[2] = type == GEOM_CAPSULE ? geom_size[3 * g + 1] : 0.0;
    mover->round = geom_size[3 * g];
    set_radius(mover);
  }
  if (type == GEOM_PLANE) {
    memcpy(mover->centre, geom_xpos + 3 * g, sizeof mover->centre);
    mover->radius = INFINITY;
  }
  mover->motion_bound = sap_search_motion_bound(s, geom);
  mover->gain = s->motion_bound->gain[geom];
  s->is_known[geom] = 1;
  return mover;
}

/* ---- pairs of geoms ------------------------------------------------------------------------- */

/* Returns 1 if the narrow phase finds many contacts of a mesh. */
static int is_costly(int type1, int type2) {
  const int other = type1 == GEOM_MESH ? type2 : type1;
  return (type1 == GEOM_MESH || type2 == GEOM_MESH) && other >= GEOM_CAPSULE && other <= GEOM_MESH;
}

static int is_slow(const struct sap_search *s, int32_t geom) {
  const double *geom_rbound = SAP_MODEL(s->world, geom_rbound);
  return s->motion_bound->distance[geom] <= sap_slow_share * geom_rbound[geom];
}

/* Returns 1 for a fast geom of a robot; bodies that float alone come to rest on each other. */
static int is_fast(const struct sap_search *s, int32_t geom) {
  const sap_forest *forest = &s->world->stepper->forest;
  const int32_t body = forest->geom_bodyid[geom], tree = forest->body_treeid[body];
  return tree >= 0 && !is_slow(s, geom) &&
         !(forest->body_dofnum[forest->body_weldid[body]] == 6 && forest->tree_dofnum[tree] == 6);
}

/* Returns the gap between spheres around two geoms, or between a sphere and a plane. */
static double gap_of_spheres(const struct sap_search *s, int32_t g1, int32_t g2) {
  const int *geom_type = SAP_MODEL(s->world, geom_type);
  const double *geom_rbound = SAP_MODEL(s->world, geom_rbound);
  const double *geom_xpos = SAP_DATA(s->world, geom_xpos);
  const double *geom_xmat = SAP_DATA(s->world, geom_xmat);
  const double *p = geom_xpos + 3 * (int64_t)g1, *q = geom_xpos + 3 * (int64_t)g2;
  const double x = q[0] - p[0], y = q[1] - p[1], z = q[2] - p[2];
  if (geom_type[g1] == GEOM_PLANE || geom_type[g2] == GEOM_PLANE) {
    const int first = geom_type[g1] == GEOM_PLANE;
    const double *R = geom_xmat + 9 * (int64_t)(first ? g1 : g2);
    const double height = R[2] * x + R[5] * y + R[8] * z;
    return (first ? height : -height) - geom_rbound[first ? g2 : g1];
  }
  return sqrt(x * x + y * y + z * z) - geom_rbound[g1] - geom_rbound[g2];
}

/* Returns 1 if neither is a plane, a height field or a distance field. */
static int are_convex(int type1, int type2) {
  return type1 >= GEOM_SPHERE && type2 >= GEOM_SPHERE && type1 <= GEOM_MESH && type2 <= GEOM_MESH;
}

/* Returns the distance beyond which contacts of two geoms of one tree leave the list, whatever
 * their normals. It follows from a bound of their relative speed, and is at most `most`. */
static double clear_in_tree(const struct sap_search *s, int32_t g1, int32_t g2, double most) {
  const double *geom_rbound = SAP_MODEL(s->world, geom_rbound);
  const double *geom_xpos = SAP_DATA(s->world, geom_xpos);
  const int32_t *body = s->world->stepper->forest.geom_bodyid;
  const double *centre = geom_xpos + 3 * (int64_t)g2;
  const struct sap_twist *one = s->motion_bound->twist + body[g1],
                         *other = s->motion_bound->twist + body[g2];
  double u[3], v[3], turn[3];
  sap_mujoco_point_velocity(s->world, s->motion_bound->twist, body[g1], centre, u);
  sap_mujoco_point_velocity(s->world, s->motion_bound->twist, body[g2], centre, v);
  for (int j = 0; j < 3; ++j) {
    v[j] -= u[j];
    turn[j] = other->angular[j] - one->angular[j];
  }
  const double reach = fmin(geom_rbound[g1], geom_rbound[g2]) + geom_rbound[g2] + 0.5 * most;
  const double speed = sap_length(v) + sap_length(turn) * reach;
  const double gain = fmin(s->motion_bound->gain[g1] + s->motion_bound->gain[g2],
                           sap_gain_of(s->motion_bound->fall, speed));
  return fmin(most, s->time * (2.0 * speed + gain));
}

static int are_of_one_tree(const struct sap_search *s, int32_t g1, int32_t g2) {
  const sap_forest *forest = &s->world->stepper->forest;
  const int32_t *tree = forest->body_treeid, *body = forest->geom_bodyid;
  return tree[body[g1]] == tree[body[g2]];
}

static double clear_of(const struct sap_search *s, int32_t g1, int32_t g2, double own,
                       double most) {
  return are_of_one_tree(s, g1, g2) ? sap_larger(own, clear_in_tree(s, g1, g2, most)) : most;
}

/* Returns 1 if a measured distance separates two geoms. It is measured again if they have moved by
 * more than `share` of the distance that they must be clear. */
static int are_known_to_be_clear(struct sap_search *s, int32_t g1, int32_t g2, double own,
                                 double most, double share, double *gap) {
  const double *geom_rbound = SAP_MODEL(s->world, geom_rbound);
  const double *geom_xpos = SAP_DATA(s->world, geom_xpos);
  const double *geom_xmat = SAP_DATA(s->world, geom_xmat);
  const int64_t a = g1, b = g2;
  const double size = geom_rbound[a] + geom_rbound[b];
  if (!s->gaps) {
    return 0;
  }
  struct sap_separation_bound *known = sap_separation_bounds_at(s->gaps, g1, g2);
  const struct sap_relative_pose pose = sap_relative_pose_of(geom_xpos + 3 * a, geom_xmat + 9 * a,
                                                             geom_xpos + 3 * b, geom_xmat + 9 * b);
  const double lost = sap_separation_bound_lost(known, g1, g2, &pose, geom_rbound[b]);
  const double clear = clear_of(s, g1, g2, own, most);
  *gap = known->gap - lost;
  if (*gap > clear) {
    return 1;
  }
  if (!(lost > sap_larger(sap_measured_again * size, share * clear)) ||
      s->n_measured++ >= SAP_MOST_DISTANCES) {
    return 0;
  }
  const double distance = s->world->api->mj_geomDistance(s->world->model, s->world->data, g1, g2,
                                                         clear + sap_measured_beyond * size, NULL);
  *known = (struct sap_separation_bound){.geom = {g1, g2}, .gap = distance - error, .pose = pose};
  *gap = known->gap;
  return known->gap > clear;
}

/* Tests slow pairs; a measured distance of these serves many steps. */
static int are_slow_and_clear(struct sap_search *s, int32_t g1, int32_t g2, double own, double most,
                              double *gap) {
  const int *geom_type = SAP_MODEL(s->world, geom_type);
  /* contacts of two boxes may have less than their distance (body_pairs.c) */
  const int are_boxes = geom_type[g1] == GEOM_BOX && geom_type[g2] == GEOM_BOX;
  return !are_boxes && are_convex(geom_type[g1], geom_type[g2]) && is_slow(s, g1) &&
         is_slow(s, g2) && are_known_to_be_clear(s, g1, g2, own, most, 0.0, gap);
}

/* Tests fast pairs that no plane separates. Two geoms of one tree may move together, so that their
 * distance serves some steps too. */
static int are_fast_and_clear(struct sap_search *s, int32_t g1, int32_t g2, double own, double most,
                              double *gap) {
  return are_of_one_tree(s, g1, g2) &&
         are_known_to_be_clear(s, g1, g2, own, most, sap_lasting_moves, gap);
}

static int distance_keeps_apart(struct sap_search *s, int32_t g1, int32_t g2, double own,
                                double *gap) {
  const struct sap_mover *a = sap_search_mover(s, g1), *b = sap_search_mover(s, g2);
  const double most = sap_larger(own, a->motion_bound + b->motion_bound);
  double ends[6], n[3];
  if (s->n_distances >= SAP_MOST_DISTANCES) {
    return 0;
  }
  const double distance =
      s->world->api->mj_geomDistance(s->world->model, s->world->data, g1, g2, most, ends);
  *gap = distance;
  if (distance >= most || distance > clear_of(s, g1, g2, own, most)) {
    return 1;
  }
  if (distance > least_distance) {
    for (int k = 0; k < 3; ++k) {
      n[k] = (ends[3 + k] - ends[k]) / distance;
    }
    if (sap_plane_keeps_apart(a, b, s->time, own, n, distance, 1)) {
      return 1;
    }
  }
  /* only failures count: a known distance spares the measurement of separated pairs */
  ++s->n_distances;
  return 0;
}

/* Returns 1 if two geoms are separated and stay so, with a lower bound of their gap. */
static int stay_apart(struct sap_search *s, int32_t g1, int32_t g2, double own, double clear,
                      double *gap) {
  const int *geom_type = SAP_MODEL(s->world, geom_type);
  const int type1 = geom_type[g1], type2 = geom_type[g2];
  *gap = gap_of_spheres(s, g1, g2);
  return *gap > clear || ((type1 > GEOM_CAPSULE || type2 > GEOM_CAPSULE) &&
                          ((are_convex(type1, type2) &&
                            sap_mujoco_hinge_keeps_apart(s->world, s->gaps, g1, g2, own)) ||
                           are_slow_and_clear(s, g1, g2, own, clear, gap) ||
                           sap_movers_stay_apart(sap_search_mover(s, g1), sap_search_mover(s, g2),
                                                 s->time, own, gap) ||
                           (is_costly(type1, type2) && (is_fast(s, g1) || is_fast(s, g2)) &&
                            (are_fast_and_clear(s, g1, g2, own, clear, gap) ||
                             distance_keeps_apart(s, g1, g2, own, gap)))));
}

static double look_at_pair(struct sap_search *s, int32_t g1, int32_t g2, int32_t given, double own,
                           double motion_bound) {
  double gap;
  if (stay_apart(s, g1, g2, own, sap_larger(own, motion_bound), &gap)) {
    return gap;
  }
  if (s->n_pairs < SAP_MOST_PAIRS) {
    s->pair[s->n_pairs] = (struct sap_geom_pair){{g1, g2}, given};
  }
  ++s->n_pairs;
  return SAP_SEARCH_LISTED;
}

double sap_search_look_at_geoms(struct sap_search *s, int32_t g1, int32_t g2) {
  return look_at_pair(s, g1, g2, -1, sap_search_own(s, g1) + sap_search_own(s, g2),
                      sap_search_motion_bound(s, g1) + sap_search_motion_bound(s, g2));
}

void sap_search_look_at_given_pairs(struct sap_search *s) {
  const int *pair_geom1 = SAP_MODEL(s->world, pair_geom1);
  const int *pair_geom2 = SAP_MODEL(s->world, pair_geom2);
  const double *pair_margin = SAP_MODEL(s->world, pair_margin);
  const double *pair_gap = SAP_MODEL(s->world, pair_gap);
  for (int32_t p = 0; p < s->n_given; ++p) {
    const int32_t g1 = pair_geom1[p], g2 = pair_geom2[p];
    const double own = pair_margin[p] + pair_gap[p];
    const double motion_bound =
        sap_motion_bound_of(s->motion_bound, g1) + sap_motion_bound_of(s->motion_bound, g2);
    look_at_pair(s, g1, g2, p, own, sap_larger(own, pair_gap[p] + motion_bound));
  }
}

int sap_search_is_given(const struct sap_search *s, int32_t g1, int32_t g2) {
  const int *pair_geom1 = SAP_MODEL(s->world, pair_geom1);
  const int *pair_geom2 = SAP_MODEL(s->world, pair_geom2);
  int64_t p = 0;
  while (p < s->n_given && !(pair_geom1[p] == g1 && pair_geom2[p] == g2) &&
         !(pair_geom1[p] == g2 && pair_geom2[p] == g1)) {
    ++p;
  }
  return p < s->n_given;
}
