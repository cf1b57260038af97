/* The list of contacts that a step leaves.
 *
 * The speculative search lists contacts that may close within the step. Those that stay open and
 * have no force are of no interest to a reader of the data, who takes a listed contact for a touch:
 * environments count contacts, and contact sensors find them. After the solve the list keeps a
 * contact if
 *
 *     dist <= 0,   or its force is not zero,   or a gap of the model for its geoms covers dist
 *
 * or if it belongs to a flex. All others move behind the list, in place, because rows of the engine
 * refer to contacts by their number. */
#ifndef SAPWOOD_MUJOCO_STAGES_OPEN_CONTACTS_H
#define SAPWOOD_MUJOCO_STAGES_OPEN_CONTACTS_H

#include "sapwood/mujoco.h"

/* Removes open contacts without force from the list of the data, and renumbers the contacts of the
 * stepper: `index` of a removed one becomes -1. Returns the number of removed ones. The stepper has
 * solved the step of these data, or `solved` is 0 and no contact has a force. */
int sap_mujoco_remove_open_contacts(sap_mujoco_world *world, int solved);

#endif
