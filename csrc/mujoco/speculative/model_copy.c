#include "mujoco/speculative/model_copy.h"

#include <string.h>

#include "base/arithmetic.h"
#include "step/stepper_object.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/engine/stack.h"
#include "mujoco/speculative/motion_bound.h"

static char *copy_of(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const size_t size = (size_t)a->model.size;
  return memcpy(sap_stack_take(world, size), world->model, size);
}

/* Returns a kept copy, made anew unless the step continues a run, whose model stays the same. */
static char *kept_copy_of(const sap_mujoco_world *world, enum sap_kept_copy which) {
  const size_t size = (size_t)world->api->model.size;
  char *copy = (char *)(world->copies + 1) + which * size;
  if (!(world->lean && world->goes_on && world->copies->is_made[which])) {
    memcpy(copy, world->model, size);
    world->copies->is_made[which] = 1;
  }
  return copy;
}

/* ---- flags ---------------------------------------------------------------------------------- */

const void *sap_mujoco_with_disabled(const sap_mujoco_world *world, int flags) {
  char *copy = kept_copy_of(world, SAP_FLAGS_COPY);
  sap_mjmodel_set_disableflags(world->api, copy, SAP_MODEL(world, disableflags) | flags);
  return copy;
}

/* ---- sensors -------------------------------------------------------------------------------- */

const void *sap_mujoco_with_stages(const sap_mujoco_world *world, int *needstage) {
  char *copy = copy_of(world);
  sap_mjmodel_set_sensor_needstage(world->api, copy, needstage);
  sap_mjmodel_set_nplugin(world->api, copy, 0);
  return copy;
}

/* ---- margins -------------------------------------------------------------------------------- */

const void *sap_mujoco_with_margins(const sap_mujoco_world *world, const double *motion_bound) {
  const sap_mujoco *a = world->api;
  const double *geom_margin = SAP_MODEL(world, geom_margin);
  const double *geom_gap = SAP_MODEL(world, geom_gap);
  const double *body_margin = SAP_MODEL(world, body_margin);
  const double *pair_margin = SAP_MODEL(world, pair_margin);
  const int *pair_geom1 = SAP_MODEL(world, pair_geom1);
  const int *pair_geom2 = SAP_MODEL(world, pair_geom2);
  const sap_forest *forest = &world->stepper->forest;
  const int64_t n_pairs = SAP_MODEL(world, npair);
  const size_t n_numbers = (size_t)(forest->n_geoms + forest->n_bodies + n_pairs);
  char *copy = copy_of(world);
  double *of_geom = sap_stack_take(world, n_numbers * sizeof *of_geom);
  double *of_body = of_geom + forest->n_geoms, *of_pair = of_body + forest->n_bodies;
  memcpy(of_body, body_margin, (size_t)forest->n_bodies * sizeof *of_body);
  for (int32_t g = 0; g < forest->n_geoms; ++g) {
    double *body = of_body + forest->geom_bodyid[g];
    of_geom[g] = sap_widened_margin(geom_margin[g], motion_bound[g]);
    *body = sap_larger(*body, of_geom[g] + geom_gap[g]);
  }
  for (int64_t p = 0; p < n_pairs; ++p) {
    of_pair[p] = sap_widened_margin(pair_margin[p],
                                    motion_bound[pair_geom1[p]] + motion_bound[pair_geom2[p]]);
  }
  sap_mjmodel_set_geom_margin(a, copy, of_geom);
  sap_mjmodel_set_body_margin(a, copy, of_body);
  sap_mjmodel_set_pair_margin(a, copy, of_pair);
  return copy;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

/* The arrays of explicit pairs. */
struct pairs {
  double *margin, *gap, *solref, *solreffriction, *solimp, *friction, *adhesion;
  int *geom1, *geom2, *dim;
};

static struct pairs take_pairs(const sap_mujoco_world *world, char *copy, size_t n) {
  enum { NUMBERS = 3 + 2 * SAP_MJNREF + SAP_MJNIMP + SAP_FRICTIONS };
  const sap_mujoco *a = world->api;
  struct pairs p;
  p.margin = sap_stack_take(world, NUMBERS * n * sizeof(double));
  p.gap = p.margin + n;
  p.solref = p.gap + n;
  p.solreffriction = p.solref + SAP_MJNREF * n;
  p.solimp = p.solreffriction + SAP_MJNREF * n;
  p.friction = p.solimp + SAP_MJNIMP * n;
  p.adhesion = p.friction + SAP_FRICTIONS * n;
  p.geom1 = sap_stack_take(world, 3 * n * sizeof(int));
  p.geom2 = p.geom1 + n;
  p.dim = p.geom2 + n;
  sap_mjmodel_set_pair_margin(a, copy, p.margin);
  sap_mjmodel_set_pair_gap(a, copy, p.gap);
  sap_mjmodel_set_pair_solref(a, copy, p.solref);
  sap_mjmodel_set_pair_solreffriction(a, copy, p.solreffriction);
  sap_mjmodel_set_pair_solimp(a, copy, p.solimp);
  sap_mjmodel_set_pair_friction(a, copy, p.friction);
  sap_mjmodel_set_pair_adhesion(a, copy, p.adhesion);
  sap_mjmodel_set_pair_geom1(a, copy, p.geom1);
  sap_mjmodel_set_pair_geom2(a, copy, p.geom2);
  sap_mjmodel_set_pair_dim(a, copy, p.dim);
  return p;
}

/* Copies a pair of the model's own list, except its margin. */
static void copy_given(const sap_mujoco_world *world, int64_t given, const struct pairs *to,
                       int64_t i) {
  const double *pair_gap = SAP_MODEL(world, pair_gap);
  const double *pair_solref = SAP_MODEL(world, pair_solref);
  const double *pair_solreffriction = SAP_MODEL(world, pair_solreffriction);
  const double *pair_solimp = SAP_MODEL(world, pair_solimp);
  const double *pair_friction = SAP_MODEL(world, pair_friction);
  const double *pair_adhesion = SAP_MODEL(world, pair_adhesion);
  const int *pair_dim = SAP_MODEL(world, pair_dim);
  to->gap[i] = pair_gap[given];
  to->dim[i] = pair_dim[given];
  memcpy(to->solref + SAP_MJNREF * i, pair_solref + SAP_MJNREF * given,
         SAP_MJNREF * sizeof(double));
  memcpy(to->solreffriction + SAP_MJNREF * i, pair_solreffriction + SAP_MJNREF * given,
         SAP_MJNREF * sizeof(double));
  memcpy(to->solimp + SAP_MJNIMP * i, pair_solimp + SAP_MJNIMP * given,
         SAP_MJNIMP * sizeof(double));
  memcpy(to->friction + SAP_FRICTIONS * i, pair_friction + SAP_FRICTIONS * given,
         SAP_FRICTIONS * sizeof(double));
  to->adhesion[i] = pair_adhesion[given];
}

/* Returns the share of the first of two geoms in a mixed parameter. */
static double share_of(double mix1, double mix2) {
  if (mix1 >= SAP_MJMINVAL && mix2 >= SAP_MJMINVAL) {
    return mix1 / (mix1 + mix2);
  }
  return mix1 < SAP_MJMINVAL && mix2 < SAP_MJMINVAL ? 0.5 : mix1 >= SAP_MJMINVAL;
}

/* Mixes the parameters of two geoms, except the margin. A geom of higher priority gives its own;
 * else dimension and friction are the larger ones, and solref and solimp are means weighted by
 * solmix. If one solref is direct, the smaller entries of both apply. */
static void mix(const sap_mujoco_world *world, const struct pairs *to, int64_t i) {
  const double *geom_gap = SAP_MODEL(world, geom_gap);
  const double *geom_solmix = SAP_MODEL(world, geom_solmix);
  const double *geom_solref = SAP_MODEL(world, geom_solref);
  const double *geom_solimp = SAP_MODEL(world, geom_solimp);
  const double *geom_friction = SAP_MODEL(world, geom_friction);
  const double *geom_adhesion = SAP_MODEL(world, geom_adhesion);
  const int *geom_condim = SAP_MODEL(world, geom_condim);
  const int *geom_priority = SAP_MODEL(world, geom_priority);
  const int64_t g = to->geom1[i], h = to->geom2[i];
  const int first = geom_priority[g] > geom_priority[h];
  const int second = geom_priority[g] < geom_priority[h];
  const double *solref[2] = {geom_solref + SAP_MJNREF * g, geom_solref + SAP_MJNREF * h};
  const double *solimp[2] = {geom_solimp + SAP_MJNIMP * g, geom_solimp + SAP_MJNIMP * h};
  const double *friction[2] = {geom_friction + 3 * g, geom_friction + 3 * h};
  const double share = first ? 1.0 : second ? 0.0 : share_of(geom_solmix[g], geom_solmix[h]);
  const int is_mean = first || second || (solref[0][0] > 0.0 && solref[1][0] > 0.0);
  double mu[3];
  to->gap[i] = geom_gap[g] + geom_gap[h];
  to->dim[i] =
      second || (!first && geom_condim[h] > geom_condim[g]) ? geom_condim[h] : geom_condim[g];
  for (int k = 0; k < SAP_MJNREF; ++k) {
    const double x = solref[0][k], y = solref[1][k];
    to->solref[SAP_MJNREF * i + k] = is_mean ? share * x + (1.0 - share) * y : x < y ? x : y;
    to->solreffriction[SAP_MJNREF * i + k] = 0.0;
  }
  for (int k = 0; k < SAP_MJNIMP; ++k) {
    to->solimp[SAP_MJNIMP * i + k] = share * solimp[0][k] + (1.0 - share) * solimp[1][k];
  }
  for (int k = 0; k < 3; ++k) {
    mu[k] = first    ? friction[0][k]
            : second ? friction[1][k]
                     : sap_larger(friction[0][k], friction[1][k]);
  }
  const double five[SAP_FRICTIONS] = {mu[0], mu[0], mu[1], mu[2], mu[2]};
  memcpy(to->friction + SAP_FRICTIONS * i, five, sizeof five);
  to->adhesion[i] = (second ? 0.0 : geom_adhesion[g]) + (first ? 0.0 : geom_adhesion[h]);
}

/* Returns the margin of a pair: the distance at which its contacts may close, but no less than the
 * model's own, and no more than the sum of both motion bounds. */
static double margin_of(const struct sap_motion_bound *motion_bound,
                        const struct sap_geom_pair *pair) {
  const sap_mujoco_world *world = motion_bound->world;
  const double *geom_margin = SAP_MODEL(world, geom_margin);
  const double *pair_margin = SAP_MODEL(world, pair_margin);
  const int32_t g = pair->geom[0], h = pair->geom[1];
  const double of_g = motion_bound->distance[g], of_h = motion_bound->distance[h];
  const int is_given = pair->given >= 0;
  const double own = is_given ? pair_margin[pair->given] : geom_margin[g] + geom_margin[h];
  const double most = is_given ? sap_widened_margin(own, of_g + of_h)
                               : sap_widened_margin(geom_margin[g], of_g) +
                                     sap_widened_margin(geom_margin[h], of_h);
  return most > own ? sap_larger(own, sap_motion_bound_of_pair(motion_bound, g, h, most)) : most;
}

const void *sap_mujoco_with_pairs(const struct sap_motion_bound *motion_bound,
                                  const struct sap_geom_pair *pair, int32_t n_pairs) {
  static const double nothing[2048]; /* without bodies mj_collision() only empties its lists */
  static const int masks[2] = {0, 0};
  const sap_mujoco_world *world = motion_bound->world;
  const sap_mujoco *a = world->api;
  if (n_pairs == 0 && (size_t)a->model.size <= sizeof nothing) {
    return nothing;
  }
  char *copy = kept_copy_of(world, SAP_PAIRS_COPY);
  const struct pairs to = take_pairs(world, copy, (size_t)n_pairs);
  for (int32_t i = 0; i < n_pairs; ++i) {
    to.geom1[i] = pair[i].geom[0];
    to.geom2[i] = pair[i].geom[1];
    if (pair[i].given >= 0) {
      copy_given(world, pair[i].given, &to, i);
    } else {
      mix(world, &to, i);
    }
    to.margin[i] = margin_of(motion_bound, pair + i);
  }
  sap_mjmodel_set_npair(a, copy, n_pairs);
  sap_mjmodel_set_nbody(a, copy, 2);
  sap_mjmodel_set_ngeom(a, copy, 0);
  sap_mjmodel_set_body_contype(a, copy, masks);
  sap_mjmodel_set_body_conaffinity(a, copy, masks);
  return copy;
}
