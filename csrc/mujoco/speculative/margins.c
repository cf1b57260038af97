#include "mujoco/speculative/margins.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "step/stepper_object.h"
#include "mujoco/speculative/contact_place.h"
#include "mujoco/speculative/separation.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/model_copy.h"
#include "mujoco/speculative/pair_list.h"
#include "mujoco/engine/stack.h"
#include "mujoco/speculative/twists.h"

int sap_mujoco_is_speculative(const sap_mujoco_world *world) {
  const int none = SAP_MODEL(world, disableflags) & (SAP_MJDSBL_CONSTRAINT | SAP_MJDSBL_CONTACT);
  return world->stepper->settings.speculative && !*world->api->mjcb_contactfilter && !none;
}

int sap_mujoco_geom_moves(const sap_mujoco_world *world, int32_t geom) {
  const sap_forest *forest = &world->stepper->forest;
  return forest->body_treeid[forest->geom_bodyid[geom]] >= 0;
}

/* Returns 0 for a geom without collision masks if there are no explicit pairs: most geoms of a
 * robot are only visible. */
static int needs_margin(const sap_mujoco_world *world, int32_t geom) {
  const int *geom_contype = SAP_MODEL(world, geom_contype);
  const int *geom_conaffinity = SAP_MODEL(world, geom_conaffinity);
  return (geom_contype[geom] | geom_conaffinity[geom]) != 0 || SAP_MODEL(world, npair) > 0;
}

static const void *model_with_margins(const sap_mujoco_world *world,
                                      const struct sap_motion_bound *motion_bound) {
  for (int32_t g = 0; g < world->stepper->forest.n_geoms; ++g) {
    if (needs_margin(world, g)) {
      sap_motion_bound_of(motion_bound, g);
    } else {
      motion_bound->distance[g] = 0.0;
    }
  }
  return sap_mujoco_with_margins(world, motion_bound->distance);
}

/* ---- contacts removed from the list --------------------------------------------------------- */

/* Returns the distance up to which the model itself lists a contact of two geoms, and the sum of
 * its gaps. */
static double own_reach(const sap_mujoco_world *world, const int *geom, double *gap) {
  const double *geom_margin = SAP_MODEL(world, geom_margin);
  const double *geom_gap = SAP_MODEL(world, geom_gap);
  const double *pair_margin = SAP_MODEL(world, pair_margin);
  const double *pair_gap = SAP_MODEL(world, pair_gap);
  const int *pair_geom1 = SAP_MODEL(world, pair_geom1);
  const int *pair_geom2 = SAP_MODEL(world, pair_geom2);
  *gap = geom_gap[geom[0]] + geom_gap[geom[1]];
  double reach = geom_margin[geom[0]] + geom_margin[geom[1]] + *gap;
  const int64_t n_pairs = SAP_MODEL(world, npair);
  for (int64_t p = 0; p < n_pairs; ++p) {
    if ((pair_geom1[p] == geom[0] && pair_geom2[p] == geom[1]) ||
        (pair_geom1[p] == geom[1] && pair_geom2[p] == geom[0])) {
      reach = sap_larger(reach, pair_margin[p] + pair_gap[p]);
      *gap += pair_gap[p];
    }
  }
  return reach;
}

double sap_mujoco_gap_reach(const sap_mujoco_world *world, const int *geom) {
  double gap;
  const double reach = own_reach(world, geom, &gap);
  return gap > 0.0 ? reach : 0.0;
}

/* Returns 1 if a contact may close within the step, or is in the model's own list. */
static int may_close(const sap_mujoco_world *world, const struct sap_twist *twist,
                     const struct sap_motion_bound *motion_bound, const char *contact) {
  const sap_mujoco *a = world->api;
  const double dist = sap_mjcontact_dist(a, contact), *n = sap_mjcontact_frame(a, contact);
  const double *p = sap_mjcontact_pos(a, contact);
  const int *geom = sap_mjcontact_geom(a, contact);
  double own_gap;
  if (!(dist > 0.0) || geom[0] < 0 || geom[1] < 0 || dist < own_reach(world, geom, &own_gap)) {
    return 1;
  }
  double v[2][3], turn[3], gain = 0.0, reach = INFINITY;
  const int32_t *body_of = world->stepper->forest.geom_bodyid;
  for (int side = 0; side < 2; ++side) {
    sap_mujoco_point_velocity(world, twist, body_of[geom[side]], p, v[side]);
    if (sap_mujoco_geom_moves(world, geom[side])) {
      gain += motion_bound->gain[geom[side]];
      reach = fmin(reach, sap_motion_bound_reach(world, geom[side]));
    }
  }
  double closing = 0.0, slide[3];
  for (int j = 0; j < 3; ++j) {
    slide[j] = v[1][j] - v[0][j];
    closing -= n[j] * slide[j];
    turn[j] = twist[body_of[geom[1]]].angular[j] - twist[body_of[geom[0]]].angular[j];
  }
  const double swing = reach < INFINITY ? sap_length(turn) * reach : 0.0;
  closing += swing;
  const int32_t *tree_of = world->stepper->forest.body_treeid;
  if (tree_of[body_of[geom[0]]] == tree_of[body_of[geom[1]]]) {
    gain = fmin(gain, sap_gain_of(motion_bound->fall, sap_length(slide) + swing));
  }
  return dist < sap_motion_bound_in(world, 2.0 * sap_larger(closing, 0.0) + gain);
}

static int are_equal(int n, const double *x, const double *y) {
  int i = 0;
  while (i < n && x[i] == y[i]) {
    ++i;
  }
  return i == n;
}

/* Returns 1 if a contact has the geoms, the place, the frame and the distance of one that was kept
 * just before it: each prism of a height field lists the corner that it shares with others. */
static int is_repeated(const sap_mujoco_world *world, int kept, const char *contact) {
  const sap_mujoco *a = world->api;
  const int *geom = sap_mjcontact_geom(a, contact);
  const double dist = sap_mjcontact_dist(a, contact);
  for (int k = kept - 1; k >= 0 && geom[0] >= 0 && geom[1] >= 0; --k) {
    const char *before = SAP_CONTACT(world, k);
    const int *other = sap_mjcontact_geom(a, before);
    if (other[0] != geom[0] || other[1] != geom[1]) {
      return 0;
    }
    if (sap_mjcontact_dist(a, before) == dist &&
        are_equal(3, sap_mjcontact_pos(a, before), sap_mjcontact_pos(a, contact)) &&
        are_equal(9, sap_mjcontact_frame(a, before), sap_mjcontact_frame(a, contact))) {
      return 1;
    }
  }
  return 0;
}

static void leave_out(const sap_mujoco_world *world, const struct sap_twist *twist,
                      const struct sap_motion_bound *motion_bound) {
  const sap_mujoco *a = world->api;
  char *contacts = SAP_DATA(world, contact);
  const size_t size = (size_t)a->contact.size;
  const int n = SAP_DATA(world, ncon);
  int kept = 0;
  for (int i = 0; i < n; ++i) {
    const char *contact = contacts + (size_t)i * size;
    if (may_close(world, twist, motion_bound, contact) && !is_repeated(world, kept, contact)) {
      if (kept < i) {
        memcpy(contacts + (size_t)kept * size, contact, size);
      }
      ++kept;
    }
  }
  SAP_SET_DATA(world, ncon, kept);
}

/* Takes the pairs of a nearby state, with the margins of their geoms. */
static int32_t take_kept_pairs(const struct sap_motion_bound *motion_bound,
                               const struct sap_kept_pairs *kept, struct sap_geom_pair *pair) {
  memcpy(pair, kept->pair, (size_t)kept->n * sizeof *pair);
  for (int32_t i = 0; i < kept->n; ++i) {
    sap_motion_bound_of(motion_bound, pair[i].geom[0]);
    sap_motion_bound_of(motion_bound, pair[i].geom[1]);
  }
  return kept->n;
}

/* Writes the pairs that may meet, and returns their number, as sap_mujoco_find_pairs() does. */
static int32_t find_pairs(const sap_mujoco_world *world,
                          const struct sap_motion_bound *motion_bound, struct sap_geom_pair *pair) {
  struct sap_kept_pairs *kept = world->pairs;
  if (kept && kept->n >= 0) {
    return take_kept_pairs(motion_bound, kept, pair);
  }
  const int32_t n = sap_mujoco_find_pairs(motion_bound, pair);
  if (kept && n <= SAP_KEPT_PAIRS) {
    kept->n = n;
    memcpy(kept->pair, pair, (size_t)(n > 0 ? n : 0) * sizeof *pair);
  }
  return n;
}

void sap_mujoco_find_contacts(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const size_t n_bodies = (size_t)world->stepper->forest.n_bodies;
  a->mj_markStack(world->data);
  struct sap_geom_pair *pair;
  struct sap_twist *twist =
      sap_stack_take(world, n_bodies * sizeof *twist + SAP_MOST_PAIRS * sizeof *pair);
  pair = (struct sap_geom_pair *)(void *)(twist + n_bodies);
  sap_mujoco_twists(world, twist);
  const struct sap_motion_bound motion_bound = sap_motion_bound_begin(world, twist);
  const int32_t n_pairs = find_pairs(world, &motion_bound, pair);
  a->mj_collision(n_pairs < 0 ? model_with_margins(world, &motion_bound)
                              : sap_mujoco_with_pairs(&motion_bound, pair, n_pairs),
                  world->data);
  leave_out(world, twist, &motion_bound);
  sap_mujoco_shorten_arms(world, twist);
  a->mj_freeStack(world->data);
}
