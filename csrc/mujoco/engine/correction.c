#include "mujoco/engine/correction.h"

#include <math.h>

#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"

/* MuJoCo's bounds of dmax, and its default of tau, s, with zeta = 1 */
static const double least_dmax = 1e-4, most_dmax = 0.9999, default_tau = 0.02;

/* Parameters of a row. */
struct reference {
  const double *solref, *solimp;
};

static struct reference reference_of(const sap_mujoco_world *world, sap_engine_row kind,
                                     int32_t index) {
  const int64_t ref = SAP_MJNREF * (int64_t)index, imp = SAP_MJNIMP * (int64_t)index;
  switch (kind) {
    case SAP_ROW_EQUALITY:
      return (struct reference){SAP_MODEL(world, eq_solref) + ref,
                                SAP_MODEL(world, eq_solimp) + imp};
    case SAP_ROW_JOINT_LIMIT:
      return (struct reference){SAP_MODEL(world, jnt_solref) + ref,
                                SAP_MODEL(world, jnt_solimp) + imp};
    case SAP_ROW_TENDON_LIMIT:
      return (struct reference){SAP_MODEL(world, tendon_solref_lim) + ref,
                                SAP_MODEL(world, tendon_solimp_lim) + imp};
    default:
      return (struct reference){sap_mjcontact_solref(world->api, SAP_CONTACT(world, index)),
                                sap_mjcontact_solimp(world->api, SAP_CONTACT(world, index))};
  }
}

static double at_least(double x, double least) { return x > least ? x : least; }

double sap_mujoco_correction_rate(const void *context, sap_engine_row kind, int32_t index) {
  const sap_mujoco_world *world = context;
  const struct reference row = reference_of(world, kind, index);
  const double dmax = fmin(most_dmax, at_least(row.solimp[1], least_dmax));
  double x = row.solref[0], y = row.solref[1];
  if ((x > 0.0) != (y > 0.0)) {
    x = default_tau;
    y = 1.0;
  }
  if (x > 0.0 && !(SAP_MODEL(world, disableflags) & SAP_MJDSBL_REFSAFE)) {
    x = at_least(x, 2.0 * SAP_MODEL(world, timestep));
  }
  const double K = x > 0.0 ? 1.0 / at_least(dmax * dmax * x * x * y * y, SAP_MJMINVAL)
                           : -x / at_least(dmax * dmax, SAP_MJMINVAL);
  const double B =
      y > 0.0 ? 2.0 / at_least(dmax * x, SAP_MJMINVAL) : -y / at_least(dmax, SAP_MJMINVAL);
  return K > 0.0 ? K / (B + sqrt(K)) : 0.0;
}
