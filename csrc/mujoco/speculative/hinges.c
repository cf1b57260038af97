#include "mujoco/speculative/hinges.h"

#include <math.h>

#include "base/arithmetic.h"
#include "step/contacts/separation_bounds.h"
#include "step/stepper_object.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/speculative_tuning.h"

/* Returns the unit axis of the single hinge between two bodies, or NULL. */
static const double *hinge_between(const sap_mujoco_world *world, int32_t body1, int32_t body2) {
  const sap_forest *forest = &world->stepper->forest;
  const int *body_parentid = SAP_MODEL(world, body_parentid);
  const double *cdof = SAP_DATA(world, cdof);
  const int32_t *weld = forest->body_weldid;
  int32_t upper = weld[body1], lower = weld[body2];
  if (lower == 0 || weld[body_parentid[lower]] != upper) {
    const int32_t swapped = lower;
    lower = upper;
    upper = swapped;
  }
  if (lower == 0 || weld[body_parentid[lower]] != upper || forest->body_dofnum[lower] != 1) {
    return NULL;
  }
  const double *axis = cdof + 6 * (int64_t)forest->body_dofadr[lower];
  return sap_vector_dot(3, axis, axis) > 0.5 ? axis : NULL; /* a slide has 0 */
}

struct extent {
  double low, high;
};

/* Returns the extent of a geom along u. */
static struct extent extent_of(const sap_mujoco_world *world, int32_t geom, const double *u) {
  const int *geom_type = SAP_MODEL(world, geom_type);
  const double *geom_size = SAP_MODEL(world, geom_size);
  const double *geom_aabb = SAP_MODEL(world, geom_aabb);
  const double *geom_xpos = SAP_DATA(world, geom_xpos);
  const double *geom_xmat = SAP_DATA(world, geom_xmat);
  const int64_t g = geom;
  const int type = geom_type[g];
  const double *R = geom_xmat + 9 * g, *box = geom_aabb + 6 * g, *size = geom_size + 3 * g;
  const double at = sap_vector_dot(3, geom_xpos + 3 * g, u);
  double w[3];
  for (int k = 0; k < 3; ++k) {
    w[k] = R[k] * u[0] + R[3 + k] * u[1] + R[6 + k] * u[2];
  }
  if (type == SAP_MJGEOM_SPHERE || type == SAP_MJGEOM_CAPSULE) {
    const double reach = size[0] + (type == SAP_MJGEOM_CAPSULE ? size[1] * fabs(w[2]) : 0.0);
    return (struct extent){at - reach, at + reach};
  }
  if (type != SAP_MJGEOM_MESH) {
    const double centre = at + sap_vector_dot(3, box, w);
    const double reach = box[3] * fabs(w[0]) + box[4] * fabs(w[1]) + box[5] * fabs(w[2]);
    return (struct extent){centre - reach, centre + reach};
  }
  const int *geom_dataid = SAP_MODEL(world, geom_dataid);
  const int *mesh_vertadr = SAP_MODEL(world, mesh_vertadr);
  const int *mesh_vertnum = SAP_MODEL(world, mesh_vertnum);
  const float *mesh_vert = SAP_MODEL(world, mesh_vert);
  const float *x = mesh_vert + 3 * (int64_t)mesh_vertadr[geom_dataid[g]];
  struct extent extent = {INFINITY, -INFINITY};
  for (int i = 0; i < mesh_vertnum[geom_dataid[g]]; ++i, x += 3) {
    const double height = w[0] * (double)x[0] + w[1] * (double)x[1] + w[2] * (double)x[2];
    extent.low = fmin(extent.low, at + height);
    extent.high = sap_larger(extent.high, at + height);
  }
  return extent;
}

int sap_mujoco_hinge_keeps_apart(const sap_mujoco_world *world, struct sap_separation_bounds *gaps,
                                 int32_t g1, int32_t g2, double own) {
  const int32_t *body = world->stepper->forest.geom_bodyid;
  const double *axis = hinge_between(world, body[g1], body[g2]), least = own - sap_flange_overlap;
  if (!axis) {
    return 0;
  }
  struct sap_separation_bound now = {.geom = {g2, g1}}, *known = NULL;
  if (gaps) {
    const double *geom_rbound = SAP_MODEL(world, geom_rbound);
    const double *geom_xpos = SAP_DATA(world, geom_xpos);
    const double *geom_xmat = SAP_DATA(world, geom_xmat);
    const double *R = geom_xmat + 9 * (int64_t)g2;
    for (int k = 0; k < 3; ++k) {
      now.normal[k] = R[k] * axis[0] + R[3 + k] * axis[1] + R[6 + k] * axis[2];
    }
    now.pose = sap_relative_pose_of(geom_xpos + 3 * (int64_t)g2, R, geom_xpos + 3 * (int64_t)g1,
                                    geom_xmat + 9 * (int64_t)g1);
    known = sap_separation_bounds_at(gaps, g2, g1);
    const double change =
        sap_gap_round_off +
        sap_separation_bound_change(known, g2, g1, now.normal, &now.pose, geom_rbound[g1]);
    if (known->gap - change > least || known->gap + change < least) {
      return known->gap > least;
    }
  }
  const struct extent a = extent_of(world, g1, axis), b = extent_of(world, g2, axis);
  now.gap = sap_larger(b.low - a.high, a.low - b.high);
  if (known) {
    *known = now;
  }
  return now.gap > least;
}
