/* _core.ContactReader: forces on chosen geoms, of the last step of a ModelStepper or of the contact
 * logs of many worlds. */
#ifndef SAPWOOD_PYTHON_MUJOCO_CONTACT_READER_H
#define SAPWOOD_PYTHON_MUJOCO_CONTACT_READER_H

#include "python/state.h"

/* Adds the type to the module. Returns 0, or -1 with an exception. */
int sapwood_add_contact_reader(PyObject *module);

#endif
