#include "mujoco/speculative/contact_place.h"

#include "base/arithmetic.h"
#include "step/stepper_object.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"

/* Returns the inverse mass of the body of a geom, 0 for one that is fixed. */
static double inverse_mass(const sap_mujoco_world *world, int geom) {
  const sap_forest *f = &world->stepper->forest;
  const double *w = f->geom_inverse_mass;
  return f->body_treeid[f->geom_bodyid[geom]] < 0 ? 0.0 : w ? w[geom] : 1.0;
}

double sap_mujoco_place_share(const sap_mujoco_world *world, const int *geom) {
  const double w_1 = inverse_mass(world, geom[0]), w_2 = inverse_mass(world, geom[1]);
  return w_1 + w_2 > 0.0 ? 0.5 * (w_2 - w_1) / (w_1 + w_2) : 0.0;
}

void sap_mujoco_place_contacts(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  for (int i = 0; i < SAP_DATA(world, ncon); ++i) {
    const char *contact = SAP_CONTACT(world, i);
    const int *geom = sap_mjcontact_geom(a, contact);
    const double dist = sap_mjcontact_dist(a, contact), *n = sap_mjcontact_frame(a, contact);
    if (!(dist > 0.0) || geom[0] < 0 || geom[1] < 0) {
      continue;
    }
    const double shift = sap_mujoco_place_share(world, geom) * dist;
    double *p = sap_mjcontact_pos(a, contact);
    for (int j = 0; j < 3; ++j) {
      p[j] += shift * n[j];
    }
  }
}

/* ---- arms of fast bodies --------------------------------------------------------------------- */

/* Returns 1 if a body is the only moving one of a tree with six dofs. */
static int is_free(const sap_mujoco_world *world, int32_t body) {
  const sap_forest *f = &world->stepper->forest;
  const int32_t tree = f->body_treeid[body];
  return tree >= 0 && f->tree_dofnum[tree] == 6 &&
         SAP_MODEL(world, body_dofnum)[f->body_rootid[body]] == 6;
}

/* The centre of a free body that is in contact. */
struct centre {
  double arm[3]; /* m, from the centre to the point of the contact, in the plane of the wall */
  double share;  /* part of the arm that is left */
};

/* Finds the arm of a contact about the centre of the body on one side, 0 or 1. */
static struct centre find_centre(const sap_mujoco_world *world, const struct sap_twist *twist,
                                 const char *contact, int side) {
  const sap_mujoco *a = world->api;
  const sap_forest *f = &world->stepper->forest;
  const int *geom = sap_mjcontact_geom(a, contact);
  const double dist = sap_mjcontact_dist(a, contact), *n = sap_mjcontact_frame(a, contact);
  const double *p = sap_mjcontact_pos(a, contact);
  const int32_t body = f->geom_bodyid[geom[side]];
  const double *c = SAP_DATA(world, subtree_com) + 3 * (int64_t)f->body_rootid[body];
  double v[3], other[3], approach[3];
  struct centre centre = {.share = 1.0};
  if (!is_free(world, body)) {
    return centre;
  }
  sap_mujoco_point_velocity(world, twist, body, c, v);
  sap_mujoco_point_velocity(world, twist, f->geom_bodyid[geom[1 - side]], p, other);
  const double away = side == 1 ? 1.0 : -1.0;
  for (int j = 0; j < 3; ++j) {
    centre.arm[j] = p[j] - c[j];
    approach[j] = other[j] - v[j];
  }
  const double dt = world->stepper->settings.dt, along = sap_vector_dot(3, centre.arm, n);
  const double height = -away * along - 0.5 * dist, gap = sap_larger(dist, 0.0);
  const double way = dt * away * sap_vector_dot(3, approach, n) - gap;
  centre.share = way > height && height > 0.0 ? height / way : 1.0;
  for (int j = 0; j < 3; ++j) {
    centre.arm[j] -= along * n[j];
  }
  return centre;
}

void sap_mujoco_shorten_arms(const sap_mujoco_world *world, const struct sap_twist *twist) {
  const sap_mujoco *a = world->api;
  for (int i = 0; i < SAP_DATA(world, ncon); ++i) {
    const char *contact = SAP_CONTACT(world, i);
    const int *geom = sap_mjcontact_geom(a, contact);
    if (geom[0] < 0 || geom[1] < 0) {
      continue;
    }
    const double w_1 = inverse_mass(world, geom[0]), w_2 = inverse_mass(world, geom[1]);
    struct centre lighter = find_centre(world, twist, contact, w_2 > w_1);
    if (w_1 == w_2) {
      const struct centre second = find_centre(world, twist, contact, 1);
      lighter = second.share < lighter.share ? second : lighter;
    }
    double *p = sap_mjcontact_pos(a, contact);
    for (int j = 0; j < 3 && lighter.share < 1.0; ++j) {
      p[j] -= (1.0 - lighter.share) * lighter.arm[j];
    }
  }
}
