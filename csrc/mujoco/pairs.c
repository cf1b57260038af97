#include "mujoco/pairs.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "model/known_gaps.h"
#include "model/stepper.h"
#include "mujoco/apart.h"
#include "mujoco/fields.h"
#include "mujoco/hinges.h"

/* of MuJoCo's enums */
enum { GEOM_PLANE = 0, GEOM_SPHERE = 2, GEOM_CAPSULE = 3, GEOM_MESH = 7 };
enum { NO_PARENT_FILTER = 1 << 10, OVERRIDE = 1 << 0, SLEEP = 1 << 4, SPECULATIVE = 1 << 7 };

/* Pairs of bodies, of their geoms, and of the model's own list, that are looked at: beyond, trees
 * of boxes are faster. And of meshes whose distance is asked for: in vain where many touch. */
enum {
  MOST_BODY_PAIRS = 1 << 12,
  MOST_GEOM_PAIRS = 1 << 14,
  MOST_GIVEN = 1 << 8,
  MOST_DISTANCES = 24
};

/* what moves less, as a share of its size, has few meshes within its margin */
static const double fast = 0.005;

/* what has moved by such a share of the sizes of two geoms is measured again, up to a share of them
 * beyond what matters; and what measuring may miss, m */
static const double again = 0.01, beyond = 0.5, error = 1e-6;

/* distances below have no direction that could be trusted, m */
static const double least_distance = 1e-6;

/* a body with geoms that meet others, or one of them where it does not move: these, and a box
 * around them */
struct body {
  int32_t id, first, end;
  int contype, conaffinity;
  double own; /* the most that its geoms add to the distance up to which the model lists contacts */
  struct sap_mover mover;
};

struct search {
  const sap_mujoco_world *world;
  const struct sap_twist *twist;
  const struct sap_travel *travel;
  double time;
  struct sap_mover *movers;    /* (n_geoms) where they are known */
  int8_t *is_known;            /* (n_geoms) */
  struct sap_known_gaps *gaps; /* NULL: another thread has them */
  struct body *bodies;
  double *centres[3], *extents; /* of spheres around bodies, with what they may travel */
  int32_t n_bodies;
  int32_t n_distances, n_measured; /* apart, as what is measured anew depends on earlier steps */
  int32_t first;                   /* that moves */
  int64_t n_given;                 /* pairs of the model's own list */
  struct sap_geom_pair *pair;
  int32_t n_pairs;
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
  mover->fall = s->travel->fall;
  mover->tree = s->world->stepper->forest.body_treeid[body];
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
  return geom_gap[geom] + sap_widened_margin(geom_margin[geom], s->travel->distance[geom]);
}

static const struct sap_mover *place_geom(struct search *s, int32_t geom) {
  struct sap_mover *mover = s->movers + geom;
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

static inline const struct sap_mover *mover_of(struct search *s, int32_t geom) {
  return s->is_known[geom] ? s->movers + geom : place_geom(s, geom);
}

/* ---- bodies --------------------------------------------------------------------------------- */

static int moves(const struct search *s, const struct body *body) {
  return s->world->stepper->forest.body_treeid[body->id] >= 0;
}

/* geoms of the world and of what is welded to it each by itself: of these there may be many */
static void list_bodies(struct search *s) {
  ARRAY(int, geom_contype);
  ARRAY(int, geom_conaffinity);
  const sap_forest *forest = &s->world->stepper->forest;
  for (int32_t g = 0; g < forest->n_geoms; ++g) {
    if ((geom_contype[g] | geom_conaffinity[g]) == 0) {
      continue;
    }
    struct body *body = s->bodies + s->n_bodies - 1;
    if (s->n_bodies == 0 || body->id != forest->geom_bodyid[g] || !moves(s, body)) {
      body = s->bodies + s->n_bodies++;
      *body = (struct body){.id = forest->geom_bodyid[g], .first = g, .own = -INFINITY};
      body->mover.travel = -INFINITY;
    }
    body->end = g + 1;
    body->contype |= geom_contype[g];
    body->conaffinity |= geom_conaffinity[g];
    body->own = sap_larger(body->own, own_of(s, g));
    body->mover.travel = sap_larger(body->mover.travel, travel_of(s, g));
    body->mover.gain = sap_larger(body->mover.gain, s->travel->gain[g]);
  }
}

static int is_single(const struct body *body) { return body->end - body->first == 1; }

/* each in a sphere: that of its geom, or around the root of its tree of boxes */
static void place_bodies(struct search *s) {
  static const double endless[6] = {0.0, 0.0, 0.0, 1e10, 1e10, 1e10};
  ARRAY(int, geom_type);
  ARRAY(double, geom_rbound);
  ARRAY(int, body_bvhadr);
  ARRAY(double, bvh_aabb);
  STATE(geom_xpos);
  STATE(xipos);
  STATE(ximat);
  for (int32_t i = 0; i < s->n_bodies; ++i) {
    struct body *body = s->bodies + i;
    struct sap_mover *mover = &body->mover;
    const int64_t b = body->id, g = body->first, root = body_bvhadr[b];
    const double *centre = geom_xpos + 3 * g;
    if (is_single(body)) {
      mover->radius = geom_type[g] == GEOM_PLANE ? endless[3] : geom_rbound[g];
    } else {
      place_mover(s, body->id, root < 0 ? endless : bvh_aabb + 6 * root, xipos + 3 * b,
                  ximat + 9 * b, mover);
      set_radius(mover);
      centre = mover->centre;
    }
    for (int k = 0; k < 3; ++k) {
      s->centres[k][i] = centre[k];
    }
    s->extents[i] = mover->radius + sap_larger(body->own, mover->travel);
  }
}

static const struct sap_mover *mover_of_body(struct search *s, const struct body *body) {
  return is_single(body) ? mover_of(s, body->first) : &body->mover;
}

/* ---- pairs of geoms ------------------------------------------------------------------------- */

/* 1 where the narrow phase takes many contacts from a mesh */
static int is_costly(int type1, int type2) {
  const int other = type1 == GEOM_MESH ? type2 : type1;
  return (type1 == GEOM_MESH || type2 == GEOM_MESH) && other >= GEOM_CAPSULE && other <= GEOM_MESH;
}

static int is_slow(const struct search *s, int32_t geom) {
  ARRAY(double, geom_rbound);
  return s->travel->distance[geom] <= fast * geom_rbound[geom];
}

/* a geom of a robot, as bodies that float alone come to rest on each other */
static int is_fast(const struct search *s, int32_t geom) {
  const sap_forest *forest = &s->world->stepper->forest;
  const int32_t body = forest->geom_bodyid[geom], tree = forest->body_treeid[body];
  return tree >= 0 && !is_slow(s, geom) &&
         !(forest->body_dofnum[forest->body_weldid[body]] == 6 && forest->tree_dofnum[tree] == 6);
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

/* 1 where spheres around two geoms, or one and a plane, tell that they are apart */
static int are_clear(const struct search *s, int32_t g1, int32_t g2, double clear) {
  ARRAY(int, geom_type);
  ARRAY(double, geom_rbound);
  STATE(geom_xpos);
  STATE(geom_xmat);
  const double *p = geom_xpos + 3 * (int64_t)g1, *q = geom_xpos + 3 * (int64_t)g2;
  const double x = q[0] - p[0], y = q[1] - p[1], z = q[2] - p[2];
  if (geom_type[g1] == GEOM_PLANE || geom_type[g2] == GEOM_PLANE) {
    const int first = geom_type[g1] == GEOM_PLANE;
    const double *R = geom_xmat + 9 * (int64_t)(first ? g1 : g2);
    const double height = R[2] * x + R[5] * y + R[8] * z;
    return (first ? height : -height) > geom_rbound[first ? g2 : g1] + clear;
  }
  clear += geom_rbound[g1] + geom_rbound[g2];
  return x * x + y * y + z * z > clear * clear;
}

/* 1 where neither is a plane, a field of heights or of distances */
static int are_convex(int type1, int type2) {
  return type1 >= GEOM_SPHERE && type2 >= GEOM_SPHERE && type1 <= GEOM_MESH && type2 <= GEOM_MESH;
}

static double length(const double *x) { return sqrt(sap_vector_dot(3, x, x)); }

/* Contacts of two geoms of one tree that are farther apart than that leave the list, whatever their
 * normals, by a bound of the speed of one as the other sees it; they are looked for up to `most`. */
static double clear_in_tree(const struct search *s, int32_t g1, int32_t g2, double most) {
  ARRAY(double, geom_rbound);
  STATE(geom_xpos);
  const int32_t *body = s->world->stepper->forest.geom_bodyid;
  const double *centre = geom_xpos + 3 * (int64_t)g2;
  const struct sap_twist *one = s->twist + body[g1], *other = s->twist + body[g2];
  double u[3], v[3], turn[3];
  sap_mujoco_point_velocity(s->world, s->twist, body[g1], centre, u);
  sap_mujoco_point_velocity(s->world, s->twist, body[g2], centre, v);
  for (int j = 0; j < 3; ++j) {
    v[j] -= u[j];
    turn[j] = other->angular[j] - one->angular[j];
  }
  const double reach = fmin(geom_rbound[g1], geom_rbound[g2]) + geom_rbound[g2] + 0.5 * most;
  const double speed = length(v) + length(turn) * reach;
  const double gain =
      fmin(s->travel->gain[g1] + s->travel->gain[g2], sap_gain_of(s->travel->fall, speed));
  return fmin(most, s->time * (2.0 * speed + gain));
}

/* Slow ones, whose distance serves many steps. */
static int are_known_to_be_clear(struct search *s, int32_t g1, int32_t g2, double own,
                                 double clear) {
  ARRAY(int, geom_type);
  ARRAY(double, geom_rbound);
  STATE(geom_xpos);
  STATE(geom_xmat);
  const int64_t a = g1, b = g2;
  const double size = geom_rbound[a] + geom_rbound[b];
  if (!s->gaps || !are_convex(geom_type[a], geom_type[b]) || !is_slow(s, g1) || !is_slow(s, g2)) {
    return 0;
  }
  struct sap_known_gap *known = sap_known_gaps_at(s->gaps, g1, g2);
  const struct sap_relative_pose pose = sap_relative_pose_of(geom_xpos + 3 * a, geom_xmat + 9 * a,
                                                             geom_xpos + 3 * b, geom_xmat + 9 * b);
  const double lost = sap_known_gap_lost(known, g1, g2, &pose, geom_rbound[b]);
  const sap_forest *forest = &s->world->stepper->forest;
  const int32_t *tree = forest->body_treeid, *body = forest->geom_bodyid;
  if (tree[body[a]] == tree[body[b]]) {
    clear = sap_larger(own, clear_in_tree(s, g1, g2, clear));
  }
  if (known->gap - lost > clear) {
    return 1;
  }
  if (!(lost > again * size) || s->n_measured++ >= MOST_DISTANCES) {
    return 0;
  }
  const double distance = s->world->api->mj_geomDistance(s->world->model, s->world->data, g1, g2,
                                                         clear + beyond * size, NULL);
  *known = (struct sap_known_gap){.geom = {g1, g2}, .gap = distance - error, .pose = pose};
  return known->gap > clear;
}

static void look_at_pair(struct search *s, int32_t g1, int32_t g2, int32_t given, double own,
                         double travel) {
  ARRAY(int, geom_type);
  const int type1 = geom_type[g1], type2 = geom_type[g2];
  const double clear = sap_larger(own, travel);
  if (are_clear(s, g1, g2, clear) ||
      ((type1 > GEOM_CAPSULE || type2 > GEOM_CAPSULE) &&
       ((are_convex(type1, type2) &&
         sap_mujoco_hinge_keeps_apart(s->world, s->gaps, g1, g2, own)) ||
        are_known_to_be_clear(s, g1, g2, own, clear) ||
        sap_movers_stay_apart(mover_of(s, g1), mover_of(s, g2), s->time, own) ||
        (is_costly(type1, type2) && (is_fast(s, g1) || is_fast(s, g2)) &&
         s->n_distances++ < MOST_DISTANCES && distance_keeps_apart(s, g1, g2, own))))) {
    return;
  }
  if (s->n_pairs < SAP_MOST_PAIRS) {
    s->pair[s->n_pairs] = (struct sap_geom_pair){{g1, g2}, given};
  }
  ++s->n_pairs;
}

static void look_at_given_pairs(struct search *s) {
  ARRAY(int, pair_geom1);
  ARRAY(int, pair_geom2);
  ARRAY(double, pair_margin);
  ARRAY(double, pair_gap);
  for (int32_t p = 0; p < s->n_given; ++p) {
    const int32_t g1 = pair_geom1[p], g2 = pair_geom2[p];
    const double own = pair_margin[p] + pair_gap[p];
    look_at_pair(s, g1, g2, p, own,
                 sap_larger(own, pair_gap[p] + s->travel->distance[g1] + s->travel->distance[g2]));
  }
}

/* 1 where the model's own list has the two geoms */
static int is_given(const struct search *s, int32_t g1, int32_t g2) {
  ARRAY(int, pair_geom1);
  ARRAY(int, pair_geom2);
  int64_t p = 0;
  while (p < s->n_given && !(pair_geom1[p] == g1 && pair_geom2[p] == g2) &&
         !(pair_geom1[p] == g2 && pair_geom2[p] == g1)) {
    ++p;
  }
  return p < s->n_given;
}

/* ---- pairs of bodies ------------------------------------------------------------------------ */

static int masks_meet(int contype1, int conaffinity1, int contype2, int conaffinity2) {
  return (contype1 & conaffinity2) != 0 || (contype2 & conaffinity1) != 0;
}

/* 1 where the model's list of pairs of bodies that are left out, which is sorted, has these */
static int is_excluded(const struct search *s, const struct body *a, const struct body *b) {
  ARRAY(int, exclude_signature);
  const unsigned signature = ((unsigned)a->id << 16) + (unsigned)b->id;
  const int64_t n = sap_int64_at(s->world->model, s->world->api->model.nexclude);
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if ((unsigned)exclude_signature[middle] < signature) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < n && (unsigned)exclude_signature[low] == signature;
}

/* 1 where MuJoCo does not look at two bodies, by their joints or by the model's list */
static int is_left_out(const struct search *s, const struct body *a, const struct body *b) {
  const sap_mujoco *api = s->world->api;
  const sap_forest *forest = &s->world->stepper->forest;
  const int32_t *weld = forest->body_weldid;
  ARRAY(int, body_parentid);
  const int32_t w1 = weld[a->id], w2 = weld[b->id];
  if (w1 == w2 || (!moves(s, a) && !moves(s, b))) {
    return 1;
  }
  if (w1 != 0 && w2 != 0 &&
      !(sap_int_at(s->world->model, api->model.disableflags) & NO_PARENT_FILTER) &&
      (w1 == weld[body_parentid[w2]] || w2 == weld[body_parentid[w1]])) {
    return 1;
  }
  return is_excluded(s, a, b);
}

static void look_at_geoms(struct search *s, const struct body *a, const struct body *b) {
  ARRAY(int, geom_contype);
  ARRAY(int, geom_conaffinity);
  if (!(is_single(a) && is_single(b)) &&
      sap_movers_stay_apart(mover_of_body(s, a), mover_of_body(s, b), s->time, a->own + b->own)) {
    return;
  }
  for (int32_t g1 = a->first; g1 < a->end; ++g1) {
    if (!masks_meet(geom_contype[g1], geom_conaffinity[g1], b->contype, b->conaffinity) ||
        (!is_single(a) && !is_single(b) &&
         sap_movers_stay_apart(mover_of(s, g1), &b->mover, s->time, own_of(s, g1) + b->own))) {
      continue;
    }
    for (int32_t g2 = b->first; g2 < b->end; ++g2) {
      if (masks_meet(geom_contype[g1], geom_conaffinity[g1], geom_contype[g2],
                     geom_conaffinity[g2]) &&
          !is_given(s, g1, g2)) {
        look_at_pair(s, g1, g2, -1, own_of(s, g1) + own_of(s, g2),
                     travel_of(s, g1) + travel_of(s, g2));
      }
    }
  }
}

/* those of the world, which come first, do not meet each other */
static int32_t first_after(const struct search *s, int32_t i) {
  return i < s->first ? s->first : i + 1;
}

/* what spheres around bodies leave between body i and those that follow; (n_bodies) */
static void find_gaps(const struct search *s, int32_t i, double *gaps) {
  const double *x = s->centres[0], *y = s->centres[1], *z = s->centres[2], *e = s->extents;
  for (int32_t j = first_after(s, i); j < s->n_bodies; ++j) {
    const double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i], clear = e[j] + e[i];
    gaps[j] = dx * dx + dy * dy + dz * dz - clear * clear;
  }
}

static void look_at_bodies(struct search *s) {
  double *gaps = take(s, (size_t)s->n_bodies * sizeof *gaps);
  for (int32_t i = 0; i < s->n_bodies; ++i) {
    const struct body *a = s->bodies + i;
    find_gaps(s, i, gaps);
    for (int32_t j = first_after(s, i); j < s->n_bodies; ++j) {
      const struct body *b = s->bodies + j;
      if (!(gaps[j] > 0.0) && masks_meet(a->contype, a->conaffinity, b->contype, b->conaffinity) &&
          !is_left_out(s, a, b)) {
        look_at_geoms(s, a, b);
      }
    }
  }
}

/* pairs of bodies, and of their geoms */
static int are_few(struct search *s) {
  int64_t geoms = 0, pairs = 0;
  while (s->first < s->n_bodies && !moves(s, s->bodies + s->first)) {
    ++s->first;
  }
  for (int32_t i = 0; i < s->n_bodies; ++i) {
    const int32_t n = s->bodies[i].end - s->bodies[i].first;
    pairs += i < s->first ? 0 : n * geoms;
    geoms += n;
  }
  const int64_t n = s->n_bodies - s->first;
  return pairs <= MOST_GEOM_PAIRS && n * (n - 1) / 2 + n * s->first <= MOST_BODY_PAIRS;
}

/* an error of MuJoCo on the way leaves them taken, and steps that follow do without */
static void take_gaps(struct search *s) {
  ARRAY(double, geom_size);
  ARRAY(double, geom_aabb);
  ARRAY(double, geom_rbound);
  struct sap_known_gaps *gaps = s->world->stepper->gaps;
  if (gaps && sap_known_gaps_take(gaps)) {
    sap_known_gaps_check(gaps, geom_size, geom_aabb, geom_rbound);
    s->gaps = gaps;
  }
}

int32_t sap_mujoco_find_pairs(const sap_mujoco_world *world, const struct sap_twist *twist,
                              const struct sap_travel *travel, struct sap_geom_pair *pair) {
  const sap_mujoco *a = world->api;
  struct search search = {.world = world,
                          .twist = twist,
                          .travel = travel,
                          .time = (1.0 + SAP_OPEN_TIME) * world->stepper->settings.dt,
                          .n_given = sap_int64_at(world->model, a->model.npair),
                          .pair = pair};
  struct search *s = &search;
  if (a->model.pair_dim < 0 ||
      sap_int_at(world->model, a->model.enableflags) & (OVERRIDE | SLEEP | SPECULATIVE) ||
      sap_int64_at(world->model, a->model.nflex) > 0 || s->n_given > MOST_GIVEN) {
    return -1;
  }
  const size_t n_geoms = (size_t)world->stepper->forest.n_geoms;
  s->bodies = take(s, n_geoms * sizeof *s->bodies);
  list_bodies(s);
  if (!are_few(s)) {
    return -1;
  }
  s->extents = take(s, 4 * (size_t)s->n_bodies * sizeof *s->extents);
  for (int k = 0; k < 3; ++k) {
    s->centres[k] = s->extents + (k + 1) * (ptrdiff_t)s->n_bodies;
  }
  place_bodies(s);
  s->movers = take(s, n_geoms * sizeof *s->movers);
  s->is_known = take(s, n_geoms);
  memset(s->is_known, 0, n_geoms);
  take_gaps(s);
  look_at_bodies(s);
  look_at_given_pairs(s);
  if (s->gaps) {
    sap_known_gaps_leave(s->gaps);
  }
  return s->n_pairs <= SAP_MOST_PAIRS ? s->n_pairs : -1;
}
