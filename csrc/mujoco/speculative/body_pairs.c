/* Finds the pairs of bodies that may be near, by their separation bounds, and tests these. */
#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "step/contacts/separation_bounds.h"
#include "step/stepper_object.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/pair_search.h"
#include "mujoco/speculative/speculative_tuning.h"

/* half lengths and radius of an unbounded geom, m */
static const double endless = 1e10;

/* ---- the list of bodies --------------------------------------------------------------------- */

static int moves(const struct sap_search *s, const struct sap_geom_body *body) {
  return s->world->stepper->forest.body_treeid[body->id] >= 0;
}

static int is_single(const struct sap_geom_body *body) { return body->end - body->first == 1; }

static double reach_of(const struct sap_search *s, int32_t geom) {
  const int *geom_type = SAP_MODEL(s->world, geom_type);
  return geom_type[geom] == SAP_MJGEOM_PLANE ? endless : sap_motion_bound_reach(s->world, geom);
}

/* Lists the bodies. A geom of the world, or of a body welded to it, counts as one body, as there
 * may be many. */
static void list_bodies(const struct sap_search *s) {
  const int *geom_contype = SAP_MODEL(s->world, geom_contype);
  const int *geom_conaffinity = SAP_MODEL(s->world, geom_conaffinity);
  const double *geom_gap = SAP_MODEL(s->world, geom_gap);
  struct sap_body_separation *bodies = s->bodies;
  const int32_t *geom_bodyid = s->world->stepper->forest.geom_bodyid;
  bodies->n = 0;
  for (int32_t g = 0; g < bodies->n_geoms; ++g) {
    bodies->reach[g] = reach_of(s, g);
    if ((geom_contype[g] | geom_conaffinity[g]) == 0) {
      continue;
    }
    struct sap_geom_body *body = bodies->body + bodies->n - 1;
    if (bodies->n == 0 || body->id != geom_bodyid[g] || !moves(s, body)) {
      body = bodies->body + bodies->n++;
      *body = (struct sap_geom_body){
          .id = geom_bodyid[g], .first = g, .own = -INFINITY, .gap = -INFINITY};
    }
    body->end = g + 1;
    body->contype |= geom_contype[g];
    body->conaffinity |= geom_conaffinity[g];
    body->own = sap_larger(body->own, sap_search_own(s, g));
    body->gap = sap_larger(body->gap, geom_gap[g]);
  }
}

/* Returns 1 if there are few pairs of bodies, and of their geoms. */
static int are_few(const struct sap_search *s) {
  struct sap_body_separation *bodies = s->bodies;
  int64_t geoms = 0, pairs = 0;
  bodies->first = 0;
  while (bodies->first < bodies->n && !moves(s, bodies->body + bodies->first)) {
    ++bodies->first;
  }
  for (int32_t i = 0; i < bodies->n; ++i) {
    const int32_t n = bodies->body[i].end - bodies->body[i].first;
    pairs += i < bodies->first ? 0 : n * geoms;
    geoms += n;
  }
  const int64_t n = bodies->n - bodies->first;
  return pairs <= SAP_MOST_GEOM_PAIRS && n * (n - 1) / 2 + n * bodies->first <= SAP_MOST_BODY_PAIRS;
}

/* Returns 1 if the bodies were listed for another model. The model stays the same during the lean
 * steps of a run. */
static int has_changed(const struct sap_search *s) {
  if (s->world->lean && s->world->goes_on && s->gaps->last == s->world) {
    return 0;
  }
  s->gaps->last = s->world;
  const double *geom_size = SAP_MODEL(s->world, geom_size);
  const double *geom_aabb = SAP_MODEL(s->world, geom_aabb);
  const double *geom_rbound = SAP_MODEL(s->world, geom_rbound);
  const double *geom_margin = SAP_MODEL(s->world, geom_margin);
  const double *geom_gap = SAP_MODEL(s->world, geom_gap);
  const int *geom_type = SAP_MODEL(s->world, geom_type);
  const int *geom_contype = SAP_MODEL(s->world, geom_contype);
  const int *geom_conaffinity = SAP_MODEL(s->world, geom_conaffinity);
  const int *pair_geom1 = SAP_MODEL(s->world, pair_geom1);
  const int *pair_geom2 = SAP_MODEL(s->world, pair_geom2);
  const int *exclude_signature = SAP_MODEL(s->world, exclude_signature);
  const size_t n = (size_t)s->bodies->n_geoms, n_given = (size_t)s->n_given;
  const int64_t n_excluded = SAP_MODEL(s->world, nexclude);
  const int numbers[] = {SAP_MODEL(s->world, disableflags) & SAP_MJDSBL_FILTERPARENT, (int)n_given,
                         (int)n_excluded};
  const struct sap_followed arrays[] = {
      {numbers, sizeof numbers},           {geom_size, 3 * n * sizeof(double)},
      {geom_aabb, 6 * n * sizeof(double)}, {geom_rbound, n * sizeof(double)},
      {geom_margin, n * sizeof(double)},   {geom_gap, n * sizeof(double)},
      {geom_type, n * sizeof(int)},        {geom_contype, n * sizeof(int)},
      {geom_conaffinity, n * sizeof(int)}, {pair_geom1, n_given * sizeof(int)},
      {pair_geom2, n_given * sizeof(int)}, {exclude_signature, (size_t)n_excluded * sizeof(int)}};
  return sap_separation_bounds_check(s->gaps, arrays, sizeof arrays / sizeof *arrays);
}

/* Takes the known bodies, or new ones for this search alone. */
static void take_bodies(struct sap_search *s, struct sap_body_separation *own) {
  if (s->gaps) {
    s->bodies = &s->gaps->bodies;
    if (!has_changed(s) && s->bodies->are_listed) {
      return;
    }
  } else {
    const sap_forest *forest = &s->world->stepper->forest;
    struct sap_arena arena = {0};
    *own = (struct sap_body_separation){.n_geoms = forest->n_geoms};
    sap_body_separation_carve(own, &arena);
    arena = (struct sap_arena){.base = sap_search_take(s, arena.used)};
    sap_body_separation_carve(own, &arena);
    sap_permit(arena.base, arena.used); /* the engine uses its stack again, without red zones */
    s->bodies = own;
  }
  list_bodies(s);
  s->bodies->are_few = are_few(s);
  s->bodies->are_listed = 1;
  s->bodies->are_known = 0;
}

/* ---- pairs that may meet -------------------------------------------------------------------- */

static int masks_meet(int contype1, int conaffinity1, int contype2, int conaffinity2) {
  return (contype1 & conaffinity2) != 0 || (contype2 & conaffinity1) != 0;
}

/* Returns 1 if the model's sorted list of excluded pairs of bodies has these. */
static int is_excluded(const struct sap_search *s, const struct sap_geom_body *a,
                       const struct sap_geom_body *b) {
  const int *exclude_signature = SAP_MODEL(s->world, exclude_signature);
  const unsigned signature = ((unsigned)a->id << 16) + (unsigned)b->id;
  const int64_t n = SAP_MODEL(s->world, nexclude);
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

/* Returns 1 if MuJoCo never tests two bodies, by their masks, their joints or the model's list. */
static int never_meet(const struct sap_search *s, const struct sap_geom_body *a,
                      const struct sap_geom_body *b) {
  const sap_forest *forest = &s->world->stepper->forest;
  const int32_t *weld = forest->body_weldid;
  const int *body_parentid = SAP_MODEL(s->world, body_parentid);
  const int32_t w1 = weld[a->id], w2 = weld[b->id];
  if (!masks_meet(a->contype, a->conaffinity, b->contype, b->conaffinity) || w1 == w2 ||
      (!moves(s, a) && !moves(s, b))) {
    return 1;
  }
  if (w1 != 0 && w2 != 0 && !(SAP_MODEL(s->world, disableflags) & SAP_MJDSBL_FILTERPARENT) &&
      (w1 == weld[body_parentid[w2]] || w2 == weld[body_parentid[w1]])) {
    return 1;
  }
  return is_excluded(s, a, b);
}

/* ---- boxes and spheres around them ---------------------------------------------------------- */

/* Returns the mover of a geom, or of the root of a tree of boxes. */
static const struct sap_mover *mover_of(struct sap_search *s, int32_t i) {
  static const double all[6] = {0.0, 0.0, 0.0, 1e10, 1e10, 1e10};
  const int *body_bvhadr = SAP_MODEL(s->world, body_bvhadr);
  const double *bvh_aabb = SAP_MODEL(s->world, bvh_aabb);
  const double *xipos = SAP_DATA(s->world, xipos);
  const double *ximat = SAP_DATA(s->world, ximat);
  const struct sap_geom_body *body = s->bodies->body + i;
  struct sap_mover *box = s->boxes + i;
  if (is_single(body)) {
    return sap_search_mover(s, body->first);
  }
  if (!s->is_boxed[i]) {
    const int64_t b = body->id, root = body_bvhadr[b];
    sap_search_place_box(s, body->id, root < 0 ? all : bvh_aabb + 6 * root, xipos + 3 * b,
                         ximat + 9 * b, box);
    box->motion_bound = s->distance[i];
    box->gain = s->gain[i];
    s->is_boxed[i] = 1;
  }
  return box;
}

struct sphere {
  const double *centre;
  double radius;
};

static struct sphere sphere_of(struct sap_search *s, int32_t i) {
  const int *geom_type = SAP_MODEL(s->world, geom_type);
  const double *geom_rbound = SAP_MODEL(s->world, geom_rbound);
  const double *geom_xpos = SAP_DATA(s->world, geom_xpos);
  const struct sap_geom_body *body = s->bodies->body + i;
  const int64_t g = body->first;
  if (is_single(body)) {
    return (struct sphere){geom_xpos + 3 * g,
                           geom_type[g] == SAP_MJGEOM_PLANE ? endless : geom_rbound[g]};
  }
  const struct sap_mover *box = mover_of(s, i);
  return (struct sphere){box->centre, box->radius};
}

static double gap_of_spheres(struct sap_search *s, int32_t i, int32_t j) {
  const struct sphere a = sphere_of(s, i), b = sphere_of(s, j);
  const double x = b.centre[0] - a.centre[0], y = b.centre[1] - a.centre[1],
               z = b.centre[2] - a.centre[2];
  return sqrt(x * x + y * y + z * z) - a.radius - b.radius;
}

/* ---- pairs that are near -------------------------------------------------------------------- */

/* Lists the geoms of two bodies that may meet; returns a lower bound of the distance of all others,
 * except explicit pairs. */
static double look_at_geoms(struct sap_search *s, int32_t i, int32_t j) {
  const int *geom_contype = SAP_MODEL(s->world, geom_contype);
  const int *geom_conaffinity = SAP_MODEL(s->world, geom_conaffinity);
  const struct sap_geom_body *a = s->bodies->body + i, *b = s->bodies->body + j;
  double gap, least = INFINITY;
  if (!(is_single(a) && is_single(b)) &&
      sap_movers_stay_apart(mover_of(s, i), mover_of(s, j), s->time, a->own + b->own, &gap)) {
    return gap;
  }
  for (int32_t g1 = a->first; g1 < a->end; ++g1) {
    if (!masks_meet(geom_contype[g1], geom_conaffinity[g1], b->contype, b->conaffinity)) {
      continue;
    }
    if (!is_single(a) && !is_single(b) &&
        sap_movers_stay_apart(sap_search_mover(s, g1), mover_of(s, j), s->time,
                              sap_search_own(s, g1) + b->own, &gap)) {
      least = gap < least ? gap : least;
      continue;
    }
    for (int32_t g2 = b->first; g2 < b->end; ++g2) {
      if (masks_meet(geom_contype[g1], geom_conaffinity[g1], geom_contype[g2],
                     geom_conaffinity[g2]) &&
          !sap_search_is_given(s, g1, g2)) {
        gap = sap_search_look_at_geoms(s, g1, g2);
        least = gap < least ? gap : least;
      }
    }
  }
  return least;
}

static int has_box(const struct sap_search *s, int32_t i) {
  const int *geom_type = SAP_MODEL(s->world, geom_type);
  int32_t g = s->bodies->body[i].first;
  while (g < s->bodies->body[i].end && geom_type[g] != SAP_MJGEOM_BOX) {
    ++g;
  }
  return g < s->bodies->body[i].end;
}

/* MuJoCo separates two boxes by planes along their faces and across their edges. The normals that
 * meet at a corner of their difference lie in one octant, where the weights of a unit sum add up to
 * sqrt(3) at most. So the best plane leaves at least this share of the distance. */
static const double least_share = 0.577;

/* Does the same if spheres around the bodies leave less than `clear`. For boxes it returns a lower
 * bound of the gap that MuJoCo's planes leave, because later steps rely on it. */
static double look_at(struct sap_search *s, int32_t i, int32_t j, double clear) {
  const double gap = gap_of_spheres(s, i, j);
  if (gap > clear) {
    return gap;
  }
  const double least = look_at_geoms(s, i, j);
  if (!(least > 0 && least < INFINITY && has_box(s, i) && has_box(s, j))) {
    return least;
  }
  return fmax(fmin(least, gap), least_share * least);
}

/* Finds the distances up to which contacts of bodies are listed; the distance of a pair is the sum
 * of two. */
static void find_distances(const struct sap_search *s) {
  const struct sap_body_separation *bodies = s->bodies;
  for (int32_t i = 0; i < bodies->n; ++i) {
    const struct sap_geom_body *body = bodies->body + i;
    const double motion_bound =
        sap_motion_bound_of_body(s->motion_bound, body->id, body->first, body->end, s->gain + i);
    s->distance[i] = sap_larger(body->own, body->gap + motion_bound);
  }
}

int sap_search_bodies(struct sap_search *s) {
  const double *geom_xpos = SAP_DATA(s->world, geom_xpos);
  const double *geom_xmat = SAP_DATA(s->world, geom_xmat);
  struct sap_body_separation own;
  take_bodies(s, &own);
  struct sap_body_separation *bodies = s->bodies;
  if (!bodies->are_few) {
    return 0;
  }
  const size_t n = (size_t)bodies->n;
  s->boxes = sap_search_take(s, n * (sizeof *s->boxes + 3 * sizeof(double) + 1));
  s->distance = (double *)(void *)(s->boxes + n);
  s->gain = s->distance + n;
  double *spent = s->gain + n;
  s->is_boxed = (int8_t *)(spent + n);
  memset(s->is_boxed, 0, n);
  sap_body_separation_follow(bodies, geom_xpos, geom_xmat);
  find_distances(s);
  for (int32_t i = 0; i < bodies->n; ++i) {
    spent[i] = bodies->moved[i] + s->distance[i];
  }
  for (int32_t i = 0; i < bodies->n; ++i) {
    if (sap_body_separation_near(bodies, i, spent) == 0) {
      continue;
    }
    for (int32_t j = sap_first_after(bodies, i); j < bodies->n; ++j) {
      const double bound = *sap_body_separation_bound(bodies, i, j);
      if (bound > spent[i] + spent[j]) {
        continue;
      }
      const int is_new = bound == -INFINITY;
      const int meet = !is_new || !never_meet(s, bodies->body + i, bodies->body + j);
      sap_body_separation_keep(bodies, i, j,
                               meet ? look_at(s, i, j, s->distance[i] + s->distance[j]) : INFINITY);
    }
  }
  return 1;
}
