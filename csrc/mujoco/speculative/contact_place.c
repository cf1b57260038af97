#include "mujoco/speculative/contact_place.h"

#include "step/stepper_object.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/margins.h"

/* Returns the inverse mass of the body of a geom, 0 for one that is fixed. */
static double inverse_mass(const sap_mujoco_world *world, int geom) {
  const double *w = world->stepper->forest.geom_inverse_mass;
  return !sap_mujoco_geom_moves(world, geom) ? 0.0 : w ? w[geom] : 1.0;
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
