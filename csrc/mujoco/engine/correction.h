/* The rate at which MuJoCo corrects a violation, from the parameters solref and solimp of its row.
 *
 *     K = 1/(dmax tau zeta)^2   B = 2/(dmax tau)     solref = (tau, zeta)
 *     K = k/dmax^2              B = b/dmax           solref = (-k, -b)
 *
 * The module has the rules of mj_makeImpedance for K and B, so that no rows are needed. */
#ifndef SAPWOOD_MUJOCO_ENGINE_CORRECTION_H
#define SAPWOOD_MUJOCO_ENGINE_CORRECTION_H

#include "sapwood/model.h"

/* Returns the rate K/(B + sqrt(K)), 1/s, in a world; a sap_correction_rate. */
double sap_mujoco_correction_rate(const void *world, sap_engine_row kind, int32_t index);

#endif
