/* Sensors of speculative contacts.
 *
 * MuJoCo computes a contact sensor without forces before the solve, when open contacts are still
 * listed (open_contacts.h). It is computed again once they have left the list.
 *
 * A touch sensor adds up the normal forces of the contacts on its body whose point lies in the zone
 * of its site, or from which the normal points into it. An impact presses in a step at whose start
 * the surfaces are apart, and the zone around one of them may miss the one point between them
 * (contact_place.h). The sensor would then read 0 while contact sensors report the force. Here its
 * body touches at its own surface,
 *
 *     middle -+ n dist/2        (first, second geom).
 *
 * All other sensors, and the contacts, stay as they are. */
#ifndef SAPWOOD_MUJOCO_STAGES_CONTACT_SENSORS_H
#define SAPWOOD_MUJOCO_STAGES_CONTACT_SENSORS_H

#include "sapwood/mujoco.h"

/* Computes the contact sensors of the stage of positions again. */
void sap_mujoco_correct_contact_sensors(const sap_mujoco_world *world);

/* Computes the touch sensors on bodies with open contacts again, after mj_sensorAcc(). */
void sap_mujoco_correct_touch_sensors(const sap_mujoco_world *world);

#endif
