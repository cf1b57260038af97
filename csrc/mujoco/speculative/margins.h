/* Contacts that may close within a step.
 *
 * MuJoCo lists a contact while the distance of two geoms is below the sum of their margins. For the
 * search of a step the margin of a geom is its own or, where that is more,
 *
 *     (1 + SAP_OPEN_TIME) dt (v + g(v))
 *     v = |V| + |W| r
 *     g(v) = min(dt |g|, dt |g|/10 + 4 v)
 *
 * V: velocity of the centre of the geom, W: its angular velocity; r: the most that a point of it
 * that can come closer by a rotation is away from there; g: what gravity adds. Geoms without a dof
 * keep their own margin. Such margins know nothing of the directions, and geoms that move together
 * are near to each other: what they alone have brought into the list leaves it again unless
 *
 *     dist < (1 + SAP_OPEN_TIME) dt (2 (|W_2 - W_1| r - v_n) + g_1 + g_2)
 *
 * where v_n is the normal velocity of the two points, and r = 0 for spheres. What moves as one
 * falls as one: of two geoms of one tree g_1 + g_2 is no more than g of their relative speed. This
 * decides what is listed; what acts is for sap_gather_run(). */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_MARGINS_H
#define SAPWOOD_MUJOCO_SPECULATIVE_MARGINS_H

#include "sapwood/mujoco.h"

/* MuJoCo's collision stage with such margins, for a state whose kinematics are known. */
void sap_mujoco_find_contacts(const sap_mujoco_world *world);

#endif
