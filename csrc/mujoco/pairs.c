#include "mujoco/pairs.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "model/stepper.h"
#include "mujoco/apart.h"
#include "mujoco/fields.h"

/* of MuJoCo's enums */
enum { GEOM_PLANE = 0, GEOM_SPHERE = 2, GEOM_CAPSULE = 3, GEOM_MESH = 7 };
enum { NO_PARENT_FILTER = 1 << 10, OVERRIDE = 1 << 0 };

/* pairs of bodies, and of geoms of two bodies, that are looked at: beyond, trees are faster; and of
 * meshes whose distance is asked for, which is in vain where many touch */
enum { MOST_BODY_PAIRS = 1 << 12, MOST_GEOM_PAIRS = 1 << 6, MOST_DISTANCES = 24 };

/* what moves less, as a share of its size, has few others within its margin */
static const double fast = 0.005;

/* distances below have no direction that could be trusted, m */
static const double least_distance = 1e-6;

/* a body with geoms that meet others: these, and a box around them */
struct body {
  int32_t id, first, end;
  int32_t next; /* the next one that looks */
  int contype, conaffinity, looks, edged;
  double size; /* radius of the largest geom, m */
  double own; /* the most that its geoms add to the distance up to which the model lists contacts */
  struct sap_mover mover;
};

struct search {
  const sap_mujoco_world *world;
  const struct sap_twist *twist;
  const struct sap_travel *travel;
  double time;
  struct sap_mover *movers; /* (n_geoms) where they are known */
  int8_t *is_known, *meets; /* (n_geoms); 1: may meet another */
  struct body *bodies;
  int32_t n_bodies, n_looking, n_distances;
  int *excluded;
  int64_t n_excluded;
  int64_t n_passed; /* of the model's list */
};

#define ARRAY(type, name) \
  const type *name = sap_pointer_at(s->world->model, s->world->api->model.name)
#define STATE(name) const double *name = sap_pointer_at(s->world->data, s->world->api->data.name)

static void *take(const struct search *s, size_t size) {
  return s->world->api->mj_stackAllocByte(s->world->data, size, sizeof(double));
}

/* ---- movers --------------------------------------------------------------------------------- */

/* a box of a body: its centre and half lengths in a frame, (6), (3) and (3, 3) */
static void place_mover(const struct search *s, int32_t body, const double *box,
                        const double *origin, const double *axes, struct sap_mover *mover) {
  for (int j = 0; j < 3; ++j) {
    const double *row = axes + 3 * (ptrdiff_t)j;
    mover->centre[j] = origin[j] + row[0] * box[0] + row[1] * box[1] + row[2] * box[2];
    mover->half[j] = box[3 + j];
  }
  mover->axes = axes;
  mover->round = 0.0;
  mover->turn = s->twist[body].angular;
  sap_mujoco_point_velocity(s->world, s->twist, body, mover->centre, mover->velocity);
}

static void set_radius(struct sap_mover *mover) {
  const double *h = mover->half;
  mover->radius = mover->round + sqrt(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]);
}

/* what a geom adds to the distance up to which the model itself lists contacts */
static double own_of(const struct search *s, int32_t geom) {
  ARRAY(double, geom_margin);
  ARRAY(double, geom_gap);
  return geom_margin[geom] + geom_gap[geom];
}

/* and up to which they are listed ahead */
static double travel_of(const struct search *s, int32_t geom) {
  ARRAY(double, geom_margin);
  ARRAY(double, geom_gap);
  const double own = geom_margin[geom];
  return geom_gap[geom] + (own < 0.0 ? own : sap_larger(own, s->travel->distance[geom]));
}

static const struct sap_mover *mover_of(struct search *s, int32_t geom) {
  struct sap_mover *mover = s->movers + geom;
  if (s->is_known[geom]) {
    return mover;
  }
  ARRAY(int, geom_type);
  ARRAY(double, geom_size);
  ARRAY(double, geom_aabb);
  STATE(geom_xpos);
  STATE(geom_xmat);
  const int64_t g = geom;
  const int type = geom_type[geom];
  place_mover(s, s->world->stepper->forest.geom_bodyid[geom], geom_aabb + 6 * g, geom_xpos + 3 * g,
              geom_xmat + 9 * g, mover);
  if (type == GEOM_SPHERE || type == GEOM_CAPSULE) {
    mover->half[0] = mover->half[1] = 0.0;
    mover->half[2] = type == GEOM_CAPSULE ? geom_size[3 * g + 1] : 0.0;
    mover->round = geom_size[3 * g];
  }
  set_radius(mover);
  if (type == GEOM_PLANE) {
    memcpy(mover->centre, geom_xpos + 3 * g, sizeof mover->centre);
    mover->radius = INFINITY;
  }
  mover->travel = travel_of(s, geom);
  mover->gain = s->travel->gain[geom];
  s->is_known[geom] = 1;
  return mover;
}

/* ---- bodies --------------------------------------------------------------------------------- */

static int anything_is_fast(const struct search *s) {
  ARRAY(double, geom_rbound);
  const int32_t n = s->world->stepper->forest.n_geoms;
  int32_t g = 0;
  while (g < n && !(s->travel->distance[g] > fast * geom_rbound[g])) {
    ++g;
  }
  return g < n;
}

/* a body that floats alone leaves its margins to itself, and so does one of spheres and capsules,
 * whose narrow phase is no dearer than a plane that keeps them apart */
static int looks(const struct search *s, const struct body *body) {
  const sap_forest *forest = &s->world->stepper->forest;
  const int32_t tree = forest->body_treeid[body->id];
  return tree >= 0 && body->edged && body->mover.travel > fast * body->size &&
         !(forest->body_dofnum[forest->body_weldid[body->id]] == 6 &&
           forest->tree_dofnum[tree] == 6);
}

static void list_bodies(struct search *s) {
  ARRAY(int, geom_type);
  ARRAY(int, geom_contype);
  ARRAY(int, geom_conaffinity);
  ARRAY(double, geom_rbound);
  const sap_forest *forest = &s->world->stepper->forest;
  for (int32_t g = 0; g < forest->n_geoms; ++g) {
    if ((geom_contype[g] | geom_conaffinity[g]) == 0) {
      continue;
    }
    struct body *body = s->bodies + s->n_bodies - 1;
    if (s->n_bodies == 0 || body->id != forest->geom_bodyid[g]) {
      body = s->bodies + s->n_bodies++;
      *body = (struct body){.id = forest->geom_bodyid[g], .first = g, .own = -INFINITY};
      body->mover.travel = -INFINITY;
    }
    body->end = g + 1;
    body->contype |= geom_contype[g];
    body->conaffinity |= geom_conaffinity[g];
    body->edged |= geom_type[g] > GEOM_CAPSULE;
    body->size = sap_larger(body->size, geom_rbound[g]);
    body->own = sap_larger(body->own, own_of(s, g));
    body->mover.travel = sap_larger(body->mover.travel, travel_of(s, g));
    body->mover.gain = sap_larger(body->mover.gain, s->travel->gain[g]);
  }
  int32_t next = s->n_bodies;
  for (int32_t i = s->n_bodies; i-- > 0;) {
    struct body *body = s->bodies + i;
    body->next = next;
    body->looks = looks(s, body);
    s->n_looking += body->looks;
    next = body->looks ? i : next;
  }
}

/* each as the root of its tree of boxes */
static void place_bodies(const struct search *s) {
  static const double endless[6] = {0.0, 0.0, 0.0, 1e10, 1e10, 1e10};
  ARRAY(int, body_bvhadr);
  ARRAY(double, bvh_aabb);
  STATE(xipos);
  STATE(ximat);
  for (struct body *body = s->bodies; body < s->bodies + s->n_bodies; ++body) {
    const int64_t b = body->id, root = body_bvhadr[b];
    place_mover(s, body->id, root < 0 ? endless : bvh_aabb + 6 * root, xipos + 3 * b, ximat + 9 * b,
                &body->mover);
    set_radius(&body->mover);
  }
}

/* ---- pairs of geoms ------------------------------------------------------------------------- */

/* 1 where the narrow phase takes many contacts from a mesh */
static int is_costly(int type1, int type2) {
  const int other = type1 == GEOM_MESH ? type2 : type1;
  return (type1 == GEOM_MESH || type2 == GEOM_MESH) && other >= GEOM_CAPSULE && other <= GEOM_MESH;
}

static int distance_keeps_apart(struct search *s, int32_t g1, int32_t g2, double own) {
  const struct sap_mover *a = mover_of(s, g1), *b = mover_of(s, g2);
  const double most = sap_larger(own, a->travel + b->travel);
  double ends[6], n[3];
  const double distance =
      s->world->api->mj_geomDistance(s->world->model, s->world->data, g1, g2, most, ends);
  if (!(distance < most && distance > least_distance)) {
    return distance >= most;
  }
  for (int k = 0; k < 3; ++k) {
    n[k] = (ends[3 + k] - ends[k]) / distance;
  }
  return sap_plane_keeps_apart(a, b, s->time, own, n, distance, 1);
}

static int stay_apart(struct search *s, int32_t g1, int32_t g2, double own) {
  ARRAY(int, geom_type);
  const struct sap_mover *a = mover_of(s, g1), *b = mover_of(s, g2);
  return sap_movers_stay_apart(a, b, s->time, own) ||
         (is_costly(geom_type[g1], geom_type[g2]) && s->n_distances++ < MOST_DISTANCES &&
          distance_keeps_apart(s, g1, g2, own));
}

static void look_at_explicit_pairs(struct search *s) {
  ARRAY(int, pair_geom1);
  ARRAY(int, pair_geom2);
  ARRAY(double, pair_margin);
  ARRAY(double, pair_gap);
  const int64_t n = sap_int64_at(s->world->model, s->world->api->model.npair);
  for (int64_t p = 0; p < n; ++p) {
    const int32_t g1 = pair_geom1[p], g2 = pair_geom2[p];
    if (!stay_apart(s, g1, g2, pair_margin[p] + pair_gap[p])) {
      s->meets[g1] = s->meets[g2] = 1;
    }
  }
}

/* ---- pairs of bodies ------------------------------------------------------------------------ */

static int masks_meet(int contype1, int conaffinity1, int contype2, int conaffinity2) {
  return (contype1 & conaffinity2) != 0 || (contype2 & conaffinity1) != 0;
}

static unsigned signature_of(const struct body *a, const struct body *b) {
  return ((unsigned)a->id << 16) + (unsigned)b->id;
}

/* 1 where MuJoCo does not look at two bodies, by their joints or by the model's list; to be asked
 * in the order of that */
static int is_left_out(struct search *s, const struct body *a, const struct body *b) {
  const sap_mujoco *api = s->world->api;
  const int32_t *weld = s->world->stepper->forest.body_weldid;
  ARRAY(int, body_parentid);
  ARRAY(int, exclude_signature);
  const int32_t w1 = weld[a->id], w2 = weld[b->id];
  if (w1 == w2) {
    return 1;
  }
  if (w1 != 0 && w2 != 0 &&
      !(sap_int_at(s->world->model, api->model.disableflags) & NO_PARENT_FILTER) &&
      (w1 == weld[body_parentid[w2]] || w2 == weld[body_parentid[w1]])) {
    return 1;
  }
  const int64_t n = sap_int64_at(s->world->model, api->model.nexclude);
  const unsigned signature = signature_of(a, b);
  while (s->n_passed < n && (unsigned)exclude_signature[s->n_passed] < signature) {
    ++s->n_passed;
  }
  return s->n_passed < n && (unsigned)exclude_signature[s->n_passed] == signature;
}

/* too far for any plane to be needed, as MuJoCo finds out by itself */
static int are_far(const struct body *a, const struct body *b) {
  const double *p = a->mover.centre, *q = b->mover.centre;
  const double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
  const double clear = a->mover.radius + b->mover.radius +
                       sap_larger(a->own + b->own, a->mover.travel + b->mover.travel);
  return x * x + y * y + z * z > clear * clear;
}

/* notes which geoms of two bodies may meet: 0, if none */
static int look_at_geoms(struct search *s, const struct body *a, const struct body *b) {
  ARRAY(int, geom_contype);
  ARRAY(int, geom_conaffinity);
  const int32_t n_a = a->end - a->first, n_b = b->end - b->first;
  int found = 0;
  if (sap_movers_stay_apart(&a->mover, &b->mover, s->time, a->own + b->own)) {
    return 0;
  }
  if ((int64_t)n_a * n_b > MOST_GEOM_PAIRS) {
    memset(s->meets + a->first, 1, (size_t)n_a);
    memset(s->meets + b->first, 1, (size_t)n_b);
    return 1;
  }
  for (int32_t g1 = a->first; g1 < a->end; ++g1) {
    if (!masks_meet(geom_contype[g1], geom_conaffinity[g1], b->contype, b->conaffinity) ||
        sap_movers_stay_apart(mover_of(s, g1), &b->mover, s->time, own_of(s, g1) + b->own)) {
      continue;
    }
    for (int32_t g2 = b->first; g2 < b->end; ++g2) {
      if (masks_meet(geom_contype[g1], geom_conaffinity[g1], geom_contype[g2],
                     geom_conaffinity[g2]) &&
          !stay_apart(s, g1, g2, own_of(s, g1) + own_of(s, g2))) {
        s->meets[g1] = s->meets[g2] = 1;
        found = 1;
      }
    }
  }
  return found;
}

static void look_at_bodies(struct search *s) {
  for (int32_t i = 0; i < s->n_bodies; ++i) {
    const struct body *a = s->bodies + i;
    for (int32_t j = a->looks ? i + 1 : a->next; j < s->n_bodies;
         j = a->looks ? j + 1 : s->bodies[j].next) {
      const struct body *b = s->bodies + j;
      if (!are_far(a, b) && masks_meet(a->contype, a->conaffinity, b->contype, b->conaffinity) &&
          !is_left_out(s, a, b) && !look_at_geoms(s, a, b)) {
        s->excluded[s->n_excluded++] = (int)signature_of(a, b);
      }
    }
  }
}

/* the model's own list among ours; both are sorted */
static void merge_excluded(struct search *s) {
  ARRAY(int, exclude_signature);
  int64_t n = sap_int64_at(s->world->model, s->world->api->model.nexclude), k = s->n_excluded;
  int64_t place = n + k;
  s->n_excluded = place;
  while (n > 0) {
    const int ours = k > 0 && (unsigned)s->excluded[k - 1] > (unsigned)exclude_signature[n - 1];
    s->excluded[--place] = ours ? s->excluded[--k] : exclude_signature[--n];
  }
}

/* geoms of bodies that look and have found nobody need no margin */
static void forget_travel(const struct search *s) {
  for (const struct body *body = s->bodies; body < s->bodies + s->n_bodies; ++body) {
    for (int32_t g = body->first; body->looks && g < body->end; ++g) {
      if (!s->meets[g]) {
        s->travel->distance[g] = 0.0;
      }
    }
  }
}

struct sap_pairs sap_mujoco_find_pairs(const sap_mujoco_world *world, const struct sap_twist *twist,
                                       const struct sap_travel *travel) {
  const sap_mujoco *a = world->api;
  struct search search = {.world = world,
                          .twist = twist,
                          .travel = travel,
                          .time = (1.0 + SAP_OPEN_TIME) * world->stepper->settings.dt};
  struct search *s = &search;
  ARRAY(int, exclude_signature);
  const int64_t n_own = sap_int64_at(world->model, a->model.nexclude);
  const struct sap_pairs none = {n_own, exclude_signature};
  if (sap_int_at(world->model, a->model.enableflags) & OVERRIDE ||
      sap_int64_at(world->model, a->model.nflex) > 0 || !anything_is_fast(s)) {
    return none;
  }
  const size_t n_geoms = (size_t)world->stepper->forest.n_geoms;
  s->bodies = take(s, n_geoms * sizeof *s->bodies);
  list_bodies(s);
  const int64_t n_looks = (int64_t)s->n_looking * s->n_bodies;
  if (n_looks == 0 || n_looks > MOST_BODY_PAIRS) {
    return none;
  }
  place_bodies(s);
  s->movers = take(s, n_geoms * sizeof *s->movers);
  s->is_known = take(s, 2 * n_geoms);
  s->meets = s->is_known + n_geoms;
  memset(s->is_known, 0, 2 * n_geoms);
  s->excluded = take(s, (size_t)(n_looks + n_own) * sizeof *s->excluded);
  look_at_bodies(s);
  look_at_explicit_pairs(s);
  merge_excluded(s);
  forget_travel(s);
  return (struct sap_pairs){s->n_excluded, s->excluded};
}
