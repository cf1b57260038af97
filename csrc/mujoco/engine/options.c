#include "mujoco/engine/options.h"

#include <math.h>

#include "base/fail.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "step/stepper_object.h"

sap_mujoco_options sap_mujoco_read_options(const sap_mujoco *api, const void *model) {
  return (sap_mujoco_options){.timestep = sap_mjmodel_timestep(api, model),
                              .integrator = sap_mjmodel_integrator(api, model),
                              .cone = sap_mjmodel_cone(api, model),
                              .disableflags = sap_mjmodel_disableflags(api, model),
                              .enableflags = sap_mjmodel_enableflags(api, model)};
}

int sap_mujoco_same_options(const sap_mujoco_options *a, const sap_mujoco_options *b) {
  return a->timestep == b->timestep && a->integrator == b->integrator && a->cone == b->cone &&
         a->disableflags == b->disableflags && a->enableflags == b->enableflags;
}

static sap_status refuse(sap_error *error, const char *argument, double value, const char *rule) {
  return sap_fail(error, SAP_INVALID_ARGUMENT, argument, -1, value, rule);
}

sap_status sap_mujoco_check_options(const sap_mujoco_options *o, const sap_stepper *stepper,
                                    sap_error *error) {
  const sap_step_settings *settings = &stepper->settings;
  const int cone =
      settings->cone == SAP_CONE_PYRAMIDAL ? SAP_MJCONE_PYRAMIDAL : SAP_MJCONE_ELLIPTIC;
  const int flags = SAP_MJDSBL_EULERDAMP | SAP_MJDSBL_ISLAND;
  if (o->timestep != settings->dt) {
    return refuse(error, "model.opt.timestep", o->timestep, "must be that of the stepper");
  }
  if (stepper->forest.nD == 0 && o->integrator != SAP_MJINT_EULER) {
    return refuse(error, "model.opt.integrator", o->integrator, "must be mjINT_EULER");
  }
  if (stepper->forest.nD > 0 && o->integrator != SAP_MJINT_IMPLICIT &&
      o->integrator != SAP_MJINT_IMPLICITFAST) {
    return refuse(error, "model.opt.integrator", o->integrator,
                  "must be mjINT_IMPLICIT or mjINT_IMPLICITFAST");
  }
  if (o->cone != cone) {
    return refuse(error, "model.opt.cone", o->cone, "must be that of the stepper");
  }
  if ((o->disableflags & flags) != flags) {
    return refuse(error, "model.opt.disableflags", o->disableflags,
                  "must have mjDSBL_EULERDAMP and mjDSBL_ISLAND");
  }
  return SAP_OK;
}
