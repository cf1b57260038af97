/* The options of a model on which a world depends, for callers that know nothing else of it. */
#ifndef SAPWOOD_MUJOCO_ENGINE_OPTIONS_H
#define SAPWOOD_MUJOCO_ENGINE_OPTIONS_H

#include "sapwood/mujoco.h"

typedef struct sap_mujoco_options {
  double timestep;
  int integrator, cone, disableflags, enableflags;
} sap_mujoco_options;

sap_mujoco_options sap_mujoco_read_options(const sap_mujoco *api, const void *model);
int sap_mujoco_same_options(const sap_mujoco_options *a, const sap_mujoco_options *b);

/* Checks the options. SAP_INVALID_ARGUMENT names an option with which MuJoCo and the stepper take
 * other steps. */
sap_status sap_mujoco_check_options(const sap_mujoco_options *options, const sap_stepper *stepper,
                                    sap_error *error);

/* Opens a world as sap_mujoco_open() does, with options that the caller has checked; NULL: steps
 * fail until it has options. */
sap_status sap_mujoco_open_with(sap_mujoco_world **world, const sap_mujoco *api,
                                sap_stepper *stepper, const void *model, void *data,
                                const sap_mujoco_options *options, sap_error *error);

#endif
