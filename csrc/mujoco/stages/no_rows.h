/* Steps that constrain nothing: no contact is listed, no joint is near its limit, and the model has
 * nothing else that could make a row. There MuJoCo need not count its constraints, which takes a
 * tenth of the step of a pendulum. */
#ifndef SAPWOOD_MUJOCO_STAGES_NO_ROWS_H
#define SAPWOOD_MUJOCO_STAGES_NO_ROWS_H

#include "sapwood/mujoco.h"

/* After the collision stage, which empties the list of rows: 1 where mj_makeConstraint would leave
 * it and all that goes with it as they are. */
int sap_mujoco_has_no_rows(const sap_mujoco_world *world);

#endif
