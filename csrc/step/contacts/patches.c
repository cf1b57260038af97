#include "step/contacts/patches.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "step/contacts/material.h"
#include "step/dissipation_time.h"

/* ---- fields --------------------------------------------------------------------------------- */

static sap_status check(const sap_fields *fields, const sap_forest *forest, sap_error *error) {
  if (fields->n_pairs < 0) {
    return sap_invalid(error, "fields.n_pairs", -1, fields->n_pairs, "must be >= 0");
  }
  for (int32_t i = 0; i < fields->n_pairs; ++i) {
    const int32_t *geom = fields->pair_geom + 2 * (int64_t)i;
    for (int side = 0; side < 2; ++side) {
      const int64_t at = 2 * (int64_t)i + side;
      if (geom[side] < 0 || geom[side] >= forest->n_geoms) {
        return sap_invalid(error, "fields.pair_geom", at, geom[side], "must be >= 0 and < n_geoms");
      }
      if (!fields->shape[geom[side]]) {
        return sap_invalid(error, "fields.pair_geom", at, geom[side], "must have a shape");
      }
    }
    const sap_status status =
        geo_check_pair(fields->shape[geom[0]], fields->shape[geom[1]], i, error);
    if (status != SAP_OK) {
      return status;
    }
    if (fields->pair_dim[i] != 1 && fields->pair_dim[i] != 3) {
      return sap_invalid(error, "fields.pair_dim", i, fields->pair_dim[i], "must be 1 or 3");
    }
  }
  for (int64_t i = 0; fields->pair_friction && i < 2 * (int64_t)fields->n_pairs; ++i) {
    const double mu = fields->pair_friction[i];
    if (!(mu >= 0.0 && mu < INFINITY)) {
      return sap_invalid(error, "fields.pair_friction", i, mu, "must be finite and >= 0");
    }
  }
  return SAP_OK;
}

static void carve(void *context, struct sap_arena *arena) {
  struct sap_patches *patches = context;
  const size_t n = (size_t)patches->fields.n_pairs;
  patches->near = sap_arena_take(arena, n, sizeof *patches->near);
  patches->pair = sap_arena_take(arena, n, sizeof *patches->pair);
}

sap_status sap_patches_set(struct sap_patches *patches, const sap_fields *fields,
                           const sap_forest *forest, const sap_allocator *allocator,
                           sap_error *error) {
  const sap_status status = check(fields, forest, error);
  if (status != SAP_OK) {
    return status;
  }
  sap_patches_release(patches, allocator);
  patches->fields = *fields;
  if (fields->n_pairs > 0 && (!sap_block_carve(&patches->block, carve, patches, allocator) ||
                              geo_workspace_create(&patches->work, allocator) != SAP_OK)) {
    sap_patches_release(patches, allocator);
    return SAP_OUT_OF_MEMORY;
  }
  return SAP_OK;
}

void sap_patches_release(struct sap_patches *patches, const sap_allocator *allocator) {
  geo_workspace_destroy(patches->work);
  sap_block_release(&patches->block, allocator);
  *patches = (struct sap_patches){0};
}

/* ---- surfaces ------------------------------------------------------------------------------- */

static geo_pose pose_of(const sap_model_state *state, int32_t geom) {
  geo_pose pose;
  memcpy(pose.R, state->geom_xmat + 9 * (int64_t)geom, sizeof pose.R);
  memcpy(pose.t, state->geom_xpos + 3 * (int64_t)geom, sizeof pose.t);
  return pose;
}

sap_status sap_patches_find(struct sap_patches *patches, const sap_model_state *state,
                            int32_t *geom) {
  const sap_fields *fields = &patches->fields;
  int32_t n = 0;
  patches->n_contacts = 0;
  patches->found = (geo_surfaces){0};
  for (int32_t i = 0; i < fields->n_pairs; ++i) {
    const int32_t *of = fields->pair_geom + 2 * (int64_t)i;
    geo_pair *pair = patches->near + n;
    *pair = (geo_pair){fields->shape[of[0]], fields->shape[of[1]], pose_of(state, of[0]),
                       pose_of(state, of[1])};
    patches->pair[n] = i;
    n += geo_may_meet(pair);
  }
  if (n == 0) {
    return SAP_OK;
  }
  sap_error error = {0};
  const sap_status status =
      geo_contact_surfaces(patches->work, n, patches->near, GEO_POLYGONS, &patches->found, &error);
  if (status == SAP_INVALID_ARGUMENT) {
    *geom = fields->pair_geom[2 * (int64_t)patches->pair[error.index < 0 ? 0 : error.index]];
  }
  if (status == SAP_OK) {
    for (int32_t f = 0; f < patches->found.n_faces; ++f) {
      patches->n_contacts += patches->found.k[f] > 0.0;
    }
  }
  return status;
}

/* ---- contacts ------------------------------------------------------------------------------- */

/* Finds two tangents of a unit vector n (Duff et al. 2017); n follows. */
static void complete(const double *n, double *axes) {
  const double sign = copysign(1.0, n[2]), a = -1.0 / (sign + n[2]), b = n[0] * n[1] * a;
  const double t[9] = {1.0 + sign * n[0] * n[0] * a,
                       sign * b,
                       -sign * n[0],
                       b,
                       sign + n[1] * n[1] * a,
                       -n[1],
                       n[0],
                       n[1],
                       n[2]};
  memcpy(axes, t, sizeof t);
}

struct sap_material sap_patches_material(const struct sap_patches *patches,
                                         const sap_forest *forest, int32_t surface, double dt) {
  const sap_fields *fields = &patches->fields;
  const int32_t pair = patches->pair[surface], *geom = fields->pair_geom + 2 * (int64_t)pair;
  struct sap_material material = sap_material_of_pair(forest, geom[0], geom[1], dt);
  if (fields->pair_dim[pair] == 1) {
    material.mu = material.mu_static = 0.0;
  } else if (!material.friction_given && fields->pair_friction) {
    material.mu = sap_friction_of_engine(fields->pair_friction + 2 * (int64_t)pair);
    material.mu_static = material.mu;
  }
  return material;
}

/* largest ratio G/g of a face that keeps its depth: a normal 45 degrees off the gradient */
static const double most_lean = 1.4142135623730951;

/* Limits the depth that a face promises by that of the fields there. */
static void limit_depth(const geo_surfaces *s, int32_t face, double dt, double release_speed,
                        struct sap_face_contact *contact) {
  const double lean = fmin(most_lean, 1.0 + contact->tau_d / dt);
  const double depth = s->p0[face] / s->steepness[face];
  const double most = fmax(depth, release_speed * (dt + contact->tau_d));
  if (depth > 0.0 && -contact->phi0 > lean * depth && -contact->phi0 > most) {
    contact->phi0 = -most;
    contact->k = s->load[face] / most;
  }
}

struct sap_face_contact sap_patches_contact(const struct sap_patches *patches,
                                            const sap_forest *forest, const int32_t geom[2],
                                            int32_t face, double dt, double release_speed) {
  const geo_surfaces *s = &patches->found;
  const double *normal = s->normal + 3 * (int64_t)face;
  const double n[3] = {-normal[0], -normal[1], -normal[2]};
  struct sap_face_contact contact;
  complete(n, contact.axes);

  /* side A has the share g/g_A of the compliance 1/g_A + 1/g_B = 1/g */
  const double share = 1.0 / (1.0 + s->g_a[face] / s->g_b[face]);
  const double tau_a = sap_dissipation_time(forest->dissipation_time[geom[0]], dt);
  const double tau_b = sap_dissipation_time(forest->dissipation_time[geom[1]], dt);
  contact.tau_d = share * tau_a + (1.0 - share) * tau_b;
  contact.phi0 = s->phi0[face];
  contact.k = s->k[face];
  limit_depth(s, face, dt, release_speed, &contact);
  return contact;
}
