#include "mujoco/stages/open_contacts.h"

#include <string.h>

#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/margins.h"
#include "step/stepper_object.h"

/* Returns 1 if an open contact without force stays in the list. */
static int is_listed(const sap_mujoco_world *world, const char *contact) {
  const sap_mujoco *a = world->api;
  const double dist = sap_mjcontact_dist(a, contact);
  const int *geom = sap_mjcontact_geom(a, contact);
  return !(dist > 0.0) || geom[0] < 0 || geom[1] < 0 || dist < sap_mujoco_gap_reach(world, geom);
}

static int has_force(const struct sap_gather *gather, int32_t c) {
  const double *gamma = gather->gamma + 3 * (int64_t)c;
  return gamma[0] != 0.0 || gamma[1] != 0.0 || gamma[2] != 0.0;
}

static void swap(const sap_mujoco_world *world, int i, int j) {
  char part[1024]; /* more than one contact has */
  char *one = SAP_CONTACT(world, i), *two = SAP_CONTACT(world, j);
  size_t left = (size_t)world->api->contact.size;
  while (i != j && left > 0) {
    const size_t n = left < sizeof part ? left : sizeof part;
    memcpy(part, one, n);
    memcpy(one, two, n);
    memcpy(two, part, n);
    one += n;
    two += n;
    left -= n;
  }
}

/* Writes the present numbers of the contacts to their rows. */
static void renumber_rows(const sap_mujoco_world *world, int n) {
  const sap_mujoco *a = world->api;
  const int elliptic = world->stepper->settings.cone == SAP_CONE_ELLIPTIC;
  const int nefc = SAP_DATA(world, nefc);
  int *efc_id = SAP_DATA(world, efc_id);
  for (int i = 0; i < n; ++i) {
    const char *contact = SAP_CONTACT(world, i);
    const int row = sap_mjcontact_efc_address(a, contact), dim = sap_mjcontact_dim(a, contact);
    const int rows = dim == 1 || elliptic ? dim : 2 * (dim - 1);
    for (int r = row; r >= 0 && r < row + rows && r < nefc; ++r) {
      efc_id[r] = i;
    }
  }
}

int sap_mujoco_remove_open_contacts(sap_mujoco_world *world, int solved) {
  struct sap_gather *gather = &world->stepper->gather;
  const int n = SAP_DATA(world, ncon);
  const int32_t n_gathered = solved ? gather->problem.n_contacts : 0;
  int kept = 0;
  int32_t c = 0; /* gathered contacts have the order of the list; faces of patches follow */
  for (int i = 0; i < n; ++i) {
    const int is_gathered = c < n_gathered && gather->contacts[c].index == i;
    const int is_kept =
        (is_gathered && has_force(gather, c)) || is_listed(world, SAP_CONTACT(world, i));
    if (is_gathered) {
      gather->contacts[c++].index = is_kept ? kept : -1;
    }
    if (is_kept) {
      swap(world, i, kept++);
    }
  }
  if (kept < n) {
    SAP_SET_DATA(world, ncon, kept);
    if (!world->rows_left_out) {
      renumber_rows(world, n);
    }
  }
  return n - kept;
}
