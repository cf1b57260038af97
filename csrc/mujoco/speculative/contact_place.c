#include "mujoco/speculative/contact_place.h"

#include "step/stepper_object.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"

/* Returns the inverse mass of the body of a geom, 0 for one that is fixed. */
static double inverse_mass(const sap_forest *forest, int geom) {
  const int moves = forest->body_treeid[forest->geom_bodyid[geom]] >= 0;
  return !moves ? 0.0 : forest->geom_inverse_mass ? forest->geom_inverse_mass[geom] : 1.0;
}

double sap_mujoco_place_share(const sap_mujoco_world *world, const int *geom) {
  const sap_forest *forest = &world->stepper->forest;
  const double w_1 = inverse_mass(forest, geom[0]), w_2 = inverse_mass(forest, geom[1]);
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
