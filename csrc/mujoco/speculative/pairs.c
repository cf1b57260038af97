#include "mujoco/speculative/pairs.h"

#include <math.h>
#include <string.h>

#include "step/stepper_object.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/hinges.h"
#include "mujoco/speculative/pair_search.h"
#include "mujoco/speculative/speculative_tuning.h"

/* ---- movers --------------------------------------------------------------------------------- */

double sap_search_own(const struct sap_search *s, int32_t geom) {
  const double *geom_margin = SAP_MODEL(s->world, geom_margin);
  const double *geom_gap = SAP_MODEL(s->world, geom_gap);
  return geom_margin[geom] + geom_gap[geom];
}

/* Returns the share of a geom in the distance up to which contacts are listed speculatively. */
static double motion_bound_of(const struct sap_search *s, int32_t geom) {
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
  if (type == SAP_MJGEOM_SPHERE || type == SAP_MJGEOM_CAPSULE) {
    mover->half[0] = mover->half[1] = 0.0;
    mover->half[2] = type == SAP_MJGEOM_CAPSULE ? geom_size[3 * g + 1] : 0.0;
    mover->round = geom_size[3 * g];
    set_radius(mover);
  }
  if (type == SAP_MJGEOM_PLANE) {
    memcpy(mover->centre, geom_xpos + 3 * g, sizeof mover->centre);
    mover->radius = INFINITY;
  }
  mover->motion_bound = motion_bound_of(s, geom);
  mover->gain = s->motion_bound->gain[geom];
  s->is_known[geom] = 1;
  return mover;
}

/* ---- pairs of geoms ------------------------------------------------------------------------- */

/* Returns the gap between spheres around two geoms, or between a sphere and a plane. */
static double gap_of_spheres(const struct sap_search *s, int32_t g1, int32_t g2) {
  const int *geom_type = SAP_MODEL(s->world, geom_type);
  const double *geom_rbound = SAP_MODEL(s->world, geom_rbound);
  const double *geom_xpos = SAP_DATA(s->world, geom_xpos);
  const double *geom_xmat = SAP_DATA(s->world, geom_xmat);
  const double *p = geom_xpos + 3 * (int64_t)g1, *q = geom_xpos + 3 * (int64_t)g2;
  const double x = q[0] - p[0], y = q[1] - p[1], z = q[2] - p[2];
  if (geom_type[g1] == SAP_MJGEOM_PLANE || geom_type[g2] == SAP_MJGEOM_PLANE) {
    const int first = geom_type[g1] == SAP_MJGEOM_PLANE;
    const double *R = geom_xmat + 9 * (int64_t)(first ? g1 : g2);
    const double height = R[2] * x + R[5] * y + R[8] * z;
    return (first ? height : -height) - geom_rbound[first ? g2 : g1];
  }
  return sqrt(x * x + y * y + z * z) - geom_rbound[g1] - geom_rbound[g2];
}

/* Returns 1 if neither is a plane, a height field or a distance field. */
static int are_convex(int type1, int type2) {
  return type1 >= SAP_MJGEOM_SPHERE && type2 >= SAP_MJGEOM_SPHERE && type1 <= SAP_MJGEOM_MESH &&
         type2 <= SAP_MJGEOM_MESH;
}

/* Returns 1 if two geoms are separated and stay so, with a lower bound of their gap. */
static int stay_apart(struct sap_search *s, int32_t g1, int32_t g2, double own, double clear,
                      double *gap) {
  const int *geom_type = SAP_MODEL(s->world, geom_type);
  const int type1 = geom_type[g1], type2 = geom_type[g2];
  *gap = gap_of_spheres(s, g1, g2);
  if (*gap > clear || (type1 <= SAP_MJGEOM_CAPSULE && type2 <= SAP_MJGEOM_CAPSULE)) {
    return *gap > clear;
  }
  if (are_convex(type1, type2) && sap_mujoco_hinge_keeps_apart(s->world, s->gaps, g1, g2, own)) {
    return 1;
  }
  return sap_movers_stay_apart(sap_search_mover(s, g1), sap_search_mover(s, g2), s->time, own, gap);
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
                      motion_bound_of(s, g1) + motion_bound_of(s, g2));
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
