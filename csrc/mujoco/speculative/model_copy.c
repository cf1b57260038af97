#include "mujoco/speculative/model_copy.h"

#include <string.h>

#include "base/arithmetic.h"
#include "step/stepper_object.h"
#include "mujoco/engine/fields.h"
#include "mujoco/stages/stack.h"

/* of MuJoCo's enums and constants */
enum { NREF = 2, NIMP = 5, NFRICTION = 5 };
static const double least_mix = 1e-15;

/* an array of the model */
#define ARRAY(type, name) const type *name = sap_pointer_at(m, a->model.name)

static char *copy_of(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const size_t size = (size_t)a->model.size;
  return memcpy(sap_stack_take(world, size), world->model, size);
}

static void set_pointer(char *base, ptrdiff_t offset, const void *pointer) {
  memcpy(base + offset, (const void *)&pointer, sizeof pointer);
}

static void set_size(char *base, ptrdiff_t offset, int64_t size) {
  memcpy(base + offset, &size, sizeof size);
}

/* ---- flags ---------------------------------------------------------------------------------- */

const void *sap_mujoco_with_disabled(const sap_mujoco_world *world, int flags) {
  const ptrdiff_t at = world->api->model.disableflags;
  char *copy = copy_of(world);
  flags |= sap_int_at(copy, at);
  memcpy(copy + at, &flags, sizeof flags);
  return copy;
}

/* ---- margins -------------------------------------------------------------------------------- */

const void *sap_mujoco_with_margins(const sap_mujoco_world *world, const double *travel) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  ARRAY(double, geom_margin);
  ARRAY(double, geom_gap);
  ARRAY(double, body_margin);
  ARRAY(double, pair_margin);
  ARRAY(int, pair_geom1);
  ARRAY(int, pair_geom2);
  const sap_forest *forest = &world->stepper->forest;
  const int64_t n_pairs = sap_int64_at(m, a->model.npair);
  const size_t n_numbers = (size_t)(forest->n_geoms + forest->n_bodies + n_pairs);
  char *copy = copy_of(world);
  double *of_geom = sap_stack_take(world, n_numbers * sizeof *of_geom);
  double *of_body = of_geom + forest->n_geoms, *of_pair = of_body + forest->n_bodies;
  memcpy(of_body, body_margin, (size_t)forest->n_bodies * sizeof *of_body);
  for (int32_t g = 0; g < forest->n_geoms; ++g) {
    double *body = of_body + forest->geom_bodyid[g];
    of_geom[g] = sap_widened_margin(geom_margin[g], travel[g]);
    *body = sap_larger(*body, of_geom[g] + geom_gap[g]);
  }
  for (int64_t p = 0; p < n_pairs; ++p) {
    of_pair[p] = sap_widened_margin(pair_margin[p], travel[pair_geom1[p]] + travel[pair_geom2[p]]);
  }
  set_pointer(copy, a->model.geom_margin, of_geom);
  set_pointer(copy, a->model.body_margin, of_body);
  set_pointer(copy, a->model.pair_margin, of_pair);
  return copy;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

/* the arrays of explicit pairs */
struct pairs {
  double *margin, *gap, *solref, *solreffriction, *solimp, *friction;
  double *adhesion; /* NULL before MuJoCo 4.0 */
  int *geom1, *geom2, *dim;
};

static struct pairs take_pairs(const sap_mujoco_world *world, char *copy, size_t n) {
  enum { NUMBERS = 3 + 2 * NREF + NIMP + NFRICTION };
  const sap_mujoco *a = world->api;
  struct pairs p;
  p.margin = sap_stack_take(world, NUMBERS * n * sizeof(double));
  p.gap = p.margin + n;
  p.solref = p.gap + n;
  p.solreffriction = p.solref + NREF * n;
  p.solimp = p.solreffriction + NREF * n;
  p.friction = p.solimp + NIMP * n;
  p.adhesion = a->model.pair_adhesion < 0 ? NULL : p.friction + NFRICTION * n;
  p.geom1 = sap_stack_take(world, 3 * n * sizeof(int));
  p.geom2 = p.geom1 + n;
  p.dim = p.geom2 + n;
  set_pointer(copy, a->model.pair_margin, p.margin);
  set_pointer(copy, a->model.pair_gap, p.gap);
  set_pointer(copy, a->model.pair_solref, p.solref);
  set_pointer(copy, a->model.pair_solreffriction, p.solreffriction);
  set_pointer(copy, a->model.pair_solimp, p.solimp);
  set_pointer(copy, a->model.pair_friction, p.friction);
  if (p.adhesion) {
    set_pointer(copy, a->model.pair_adhesion, p.adhesion);
  }
  set_pointer(copy, a->model.pair_geom1, p.geom1);
  set_pointer(copy, a->model.pair_geom2, p.geom2);
  set_pointer(copy, a->model.pair_dim, p.dim);
  return p;
}

/* one of the model's own */
static void copy_given(const sap_mujoco_world *world, const double *travel, int64_t given,
                       const struct pairs *to, int64_t i) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  ARRAY(double, pair_margin);
  ARRAY(double, pair_gap);
  ARRAY(double, pair_solref);
  ARRAY(double, pair_solreffriction);
  ARRAY(double, pair_solimp);
  ARRAY(double, pair_friction);
  ARRAY(int, pair_dim);
  to->margin[i] =
      sap_widened_margin(pair_margin[given], travel[to->geom1[i]] + travel[to->geom2[i]]);
  to->gap[i] = pair_gap[given];
  to->dim[i] = pair_dim[given];
  memcpy(to->solref + NREF * i, pair_solref + NREF * given, NREF * sizeof(double));
  memcpy(to->solreffriction + NREF * i, pair_solreffriction + NREF * given, NREF * sizeof(double));
  memcpy(to->solimp + NIMP * i, pair_solimp + NIMP * given, NIMP * sizeof(double));
  memcpy(to->friction + NFRICTION * i, pair_friction + NFRICTION * given,
         NFRICTION * sizeof(double));
  if (to->adhesion) {
    ARRAY(double, pair_adhesion);
    to->adhesion[i] = pair_adhesion[given];
  }
}

/* the share of the first of two geoms in what is mixed */
static double share_of(double mix1, double mix2) {
  if (mix1 >= least_mix && mix2 >= least_mix) {
    return mix1 / (mix1 + mix2);
  }
  return mix1 < least_mix && mix2 < least_mix ? 0.5 : mix1 >= least_mix;
}

/* Parameters of two geoms: those of the one of higher priority; else the larger dimension and
 * friction, and the means of the others, by the mix of each, but for the lesser references where
 * one is direct. */
static void mix(const sap_mujoco_world *world, const double *travel, const struct pairs *to,
                int64_t i) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  ARRAY(double, geom_margin);
  ARRAY(double, geom_gap);
  ARRAY(double, geom_solmix);
  ARRAY(double, geom_solref);
  ARRAY(double, geom_solimp);
  ARRAY(double, geom_friction);
  ARRAY(int, geom_condim);
  ARRAY(int, geom_priority);
  const int64_t g = to->geom1[i], h = to->geom2[i];
  const int first = geom_priority[g] > geom_priority[h];
  const int second = geom_priority[g] < geom_priority[h];
  const double *solref[2] = {geom_solref + NREF * g, geom_solref + NREF * h};
  const double *solimp[2] = {geom_solimp + NIMP * g, geom_solimp + NIMP * h};
  const double *friction[2] = {geom_friction + 3 * g, geom_friction + 3 * h};
  const double share = first ? 1.0 : second ? 0.0 : share_of(geom_solmix[g], geom_solmix[h]);
  const int is_mean = first || second || (solref[0][0] > 0.0 && solref[1][0] > 0.0);
  double mu[3];
  to->margin[i] =
      sap_widened_margin(geom_margin[g], travel[g]) + sap_widened_margin(geom_margin[h], travel[h]);
  to->gap[i] = geom_gap[g] + geom_gap[h];
  to->dim[i] =
      second || (!first && geom_condim[h] > geom_condim[g]) ? geom_condim[h] : geom_condim[g];
  for (int k = 0; k < NREF; ++k) {
    const double x = solref[0][k], y = solref[1][k];
    to->solref[NREF * i + k] = is_mean ? share * x + (1.0 - share) * y : x < y ? x : y;
    to->solreffriction[NREF * i + k] = 0.0;
  }
  for (int k = 0; k < NIMP; ++k) {
    to->solimp[NIMP * i + k] = share * solimp[0][k] + (1.0 - share) * solimp[1][k];
  }
  for (int k = 0; k < 3; ++k) {
    mu[k] = first    ? friction[0][k]
            : second ? friction[1][k]
                     : sap_larger(friction[0][k], friction[1][k]);
  }
  const double five[NFRICTION] = {mu[0], mu[0], mu[1], mu[2], mu[2]};
  memcpy(to->friction + NFRICTION * i, five, sizeof five);
  if (to->adhesion) {
    ARRAY(double, geom_adhesion);
    to->adhesion[i] = (second ? 0.0 : geom_adhesion[g]) + (first ? 0.0 : geom_adhesion[h]);
  }
}

const void *sap_mujoco_with_pairs(const sap_mujoco_world *world, const double *travel,
                                  const struct sap_geom_pair *pair, int32_t n_pairs) {
  static const double nothing[2048]; /* without bodies mj_collision() empties its lists alone */
  static const int masks[2] = {0, 0};
  const sap_mujoco *a = world->api;
  if (n_pairs == 0 && (size_t)a->model.size <= sizeof nothing) {
    return nothing;
  }
  char *copy = copy_of(world);
  const struct pairs to = take_pairs(world, copy, (size_t)n_pairs);
  for (int32_t i = 0; i < n_pairs; ++i) {
    to.geom1[i] = pair[i].geom[0];
    to.geom2[i] = pair[i].geom[1];
    if (pair[i].given >= 0) {
      copy_given(world, travel, pair[i].given, &to, i);
    } else {
      mix(world, travel, &to, i);
    }
  }
  set_size(copy, a->model.npair, n_pairs);
  set_size(copy, a->model.nbody, 2);
  set_size(copy, a->model.ngeom, 0);
  set_pointer(copy, a->model.body_contype, masks);
  set_pointer(copy, a->model.body_conaffinity, masks);
  return copy;
}
