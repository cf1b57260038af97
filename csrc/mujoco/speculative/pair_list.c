#include "mujoco/speculative/pair_list.h"

#include <string.h>

#include "step/contacts/separation_bounds.h"
#include "step/stepper_object.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/pair_search.h"

int32_t sap_mujoco_find_pairs(const struct sap_motion_bound *motion_bound,
                              struct sap_geom_pair *pair) {
  const sap_mujoco_world *world = motion_bound->world;
  struct sap_search search = {.world = world,
                              .motion_bound = motion_bound,
                              .time = (1.0 + SAP_OPEN_TIME) * world->stepper->settings.dt,
                              .n_given = SAP_MODEL(world, npair),
                              .pair = pair};
  struct sap_search *s = &search;
  if (!sap_mujoco_knows_pairs(world->api) ||
      SAP_MODEL(world, enableflags) &
          (SAP_MJENBL_OVERRIDE | SAP_MJENBL_SLEEP | SAP_MJENBL_SPECULATIVE) ||
      SAP_MODEL(world, nflex) > 0 || s->n_given > SAP_MOST_GIVEN ||
      SAP_MODEL(world, nexclude) > SAP_MOST_EXCLUDED) {
    return -1;
  }
  const size_t n_geoms = (size_t)world->stepper->forest.n_geoms;
  s->movers = sap_search_take(s, n_geoms * (sizeof *s->movers + 1));
  s->is_known = (int8_t *)(s->movers + n_geoms);
  memset(s->is_known, 0, n_geoms);
  /* an error of MuJoCo leaves them taken; later steps then do without */
  s->gaps = world->stepper->gaps && sap_separation_bounds_take(world->stepper->gaps)
                ? world->stepper->gaps
                : NULL;
  const int are_few = sap_search_bodies(s);
  if (are_few) {
    sap_search_look_at_given_pairs(s);
  }
  if (s->gaps) {
    sap_separation_bounds_leave(s->gaps);
  }
  return are_few && s->n_pairs <= SAP_MOST_PAIRS ? s->n_pairs : -1;
}
