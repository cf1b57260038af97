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
 * their angular momentum.
 *
 * A contact bounds the velocity of its point, along a normal and by an arm of the start of the
 * step. A free body that hits with an edge keeps some half of the approach of its centre c, and
 * turns by many radians in the rest of the step: it would pass. If the centre would come through
 * the plane of the wall in the step,
 *
 *     s = u dt - max(0, dist) > h
 *
 * with the approach u of c to the wall and the height h of c above the surface of its body,
 * the point moves in that plane towards c, to an arm h/s as long. The centre then ends above the
 * plane for the inertias of rods, boxes and what is rounder. The lighter body of two counts. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_CONTACT_PLACE_H
#define SAPWOOD_MUJOCO_SPECULATIVE_CONTACT_PLACE_H

#include "mujoco/speculative/twists.h"

/* Returns s of a contact of these two geoms. */
double sap_mujoco_place_share(const sap_mujoco_world *world, const int *geom);

/* Moves the points of the open contacts in the list of the data, which the engine has just found,
 * from the middle to these places. Flexes keep theirs. */
void sap_mujoco_place_contacts(const sap_mujoco_world *world);

/* Shortens the arms of contacts of free bodies that are fast, in the list that was just found. */
void sap_mujoco_shorten_arms(const sap_mujoco_world *world, const struct sap_twist *twist);

#endif
