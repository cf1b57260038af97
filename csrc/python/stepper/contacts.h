/* Contacts of steps, as structured arrays of dtype CONTACT_RECORD. */
#ifndef SAPWOOD_PYTHON_STEPPER_CONTACTS_H
#define SAPWOOD_PYTHON_STEPPER_CONTACTS_H

#include "python/stepper/object.h"

/* Returns an array (n) for the caller to fill, or NULL with an exception. */
PyArrayObject *sapwood_new_contacts(const sapwood_state *state, npy_intp n);

#endif
