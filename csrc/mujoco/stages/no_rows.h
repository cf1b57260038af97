/* Steps that constrain nothing: no contact is listed, no joint is near its limit, and the model has
 * nothing else that could make a row. MuJoCo need not count its constraints in such a step, which
 * takes a tenth of the step of a pendulum. */
#ifndef SAPWOOD_MUJOCO_STAGES_NO_ROWS_H
#define SAPWOOD_MUJOCO_STAGES_NO_ROWS_H

#include "sapwood/mujoco.h"

/* Returns 1 if mj_makeConstraint would change nothing. It runs after the collision stage, which
 * empties the list of rows. */
int sap_mujoco_has_no_rows(const sap_mujoco_world *world);

#endif
