/* This module keeps contacts in a plan while their geoms are near, whether or not they are listed.
 *
 * A held contact follows its two bodies: a point of each, the frame on the first one. A pair of
 * geoms that lists at least as many contacts as are held takes the listed ones. Otherwise each
 * listed contact takes the place of the nearest held one, and the others stay until their gap
 * exceeds the hysteresis.
 *
 * Ownership: all arrays are the caller's; nothing is allocated. Indices are not checked here. */
#ifndef SAPWOOD_INVDYN_TASKS_HELD_CONTACTS_H
#define SAPWOOD_INVDYN_TASKS_HELD_CONTACTS_H

#include <stdint.h>

struct tasks_contact {
  int32_t geoms[2], bodies[2];
  double position[3]; /* m */
  double frame[9];    /* rows: two tangents, then the normal from the first geom to the second */
  double mu;
  double radii[3]; /* rolling friction about both tangents and torsional friction, m */
  double gap;      /* m, negative where the geoms overlap */
  double xpos[2][3], xmat[2][9]; /* poses of the bodies to which the contact is fixed */
};

/* Fixes a contact to its bodies where they are now: xpos (n_bodies, 3), xmat (n_bodies, 9). */
void tasks_fix_contact(const double *xpos, const double *xmat, struct tasks_contact *contact);

/* Moves a contact with its bodies to where they are now, and fixes it there. */
void tasks_move_contact(const double *xpos, const double *xmat, struct tasks_contact *contact);

/* Writes to `chosen` (n) the contacts that are in the plan, by their pairs in the order in which
 * these first occur: held ones, then listed ones. The first n_held of all n are held, the others
 * listed. Returns the number of chosen ones. dropped: (n) work. */
int32_t tasks_merge_contacts(const struct tasks_contact *contacts, int32_t n_held, int32_t n,
                             double hysteresis, int8_t *dropped, int32_t *chosen);

#endif
