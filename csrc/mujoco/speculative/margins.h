/* Speculative contacts: contacts that may close within a step.
 *
 * MuJoCo lists a contact while the distance of two geoms is below the sum of their margins. In the
 * search of a step the margin of a geom is the larger one of its own and
 *
 *     (1 + SAP_OPEN_TIME) dt (v + g(v))
 *     v = |V| + |W| r
 *     g(v) = min(dt |g|, dt |g|/10 + 4 v)
 *
 * V is the velocity of the centre of the geom, W its angular velocity, and g(v) the speed that
 * gravity adds. r is the largest distance from the centre of a point that a rotation can bring
 * closer. Geoms without a dof keep their own margin. Such margins ignore directions, and geoms that
 * move together are near to each other. So a contact that only the larger margins listed is removed
 * again unless
 *
 *     dist < (1 + SAP_OPEN_TIME) dt (2 (|W_2 - W_1| r - v_n) + g_1 + g_2)
 *
 * where v_n is the normal velocity of the two points, and r = 0 for spheres. Bodies that move as
 * one fall as one: for two geoms of one tree g_1 + g_2 is at most g of their relative speed. Of
 * contacts that agree in geoms, place, frame and distance one stays. This decides which contacts
 * are listed; sap_gather_run() decides which of them act. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_MARGINS_H
#define SAPWOOD_MUJOCO_SPECULATIVE_MARGINS_H

#include "sapwood/mujoco.h"

/* Returns 1 if margins are widened. Margins stay if a contact filter is set, because the position
 * stage passes it the model, and if there are no contacts. */
int sap_mujoco_is_speculative(const sap_mujoco_world *world);

/* Returns 1 if the body of a geom moves, 0 if it is fixed. */
int sap_mujoco_geom_moves(const sap_mujoco_world *world, int32_t geom);

/* Runs MuJoCo's collision stage with such margins, for a state with known kinematics. */
void sap_mujoco_find_contacts(const sap_mujoco_world *world);

/* Returns the distance up to which a gap of the model lists open contacts of two geoms; 0 without a
 * gap. */
double sap_mujoco_gap_reach(const sap_mujoco_world *world, const int *geom);

#endif
