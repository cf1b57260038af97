/* The place where an open contact acts.
 *
 * MuJoCo's point of a contact lies in the middle between the two surfaces. From there, friction of
 * an open contact would have too long an arm, and a small body too small an effective mass: at
 * 50 m/s a bullet would pass a wall. So the masses divide the gap,
 *
 *     p = middle + s n dist,     s = (w_2 - w_1)/(2 (w_1 + w_2))
 *
 * with the inverse masses w by which the engine weighs the two bodies: what moves alone is touched
 * at its own surface, the lighter one of two near its own. It is one place for both, which keeps
 * their angular momentum. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_CONTACT_PLACE_H
#define SAPWOOD_MUJOCO_SPECULATIVE_CONTACT_PLACE_H

#include "sapwood/mujoco.h"

/* Returns s of a contact of these two geoms. */
double sap_mujoco_place_share(const sap_mujoco_world *world, const int *geom);

/* Moves the points of the open contacts in the list of the data, which the engine has just found,
 * from the middle to these places. Flexes keep theirs. */
void sap_mujoco_place_contacts(const sap_mujoco_world *world);

#endif
