/* Contacts of steps, as structured arrays of dtype CONTACT_RECORD. */
#ifndef SAPWOOD_PYTHON_STEPPER_CONTACTS_H
#define SAPWOOD_PYTHON_STEPPER_CONTACTS_H

#include "python/stepper/object.h"

/* The method of ModelStepper. */
extern const char sapwood_stepper_contacts_doc[];
PyObject *sapwood_stepper_contacts(PyObject *self, PyObject *unused);

/* The method of ModelStepper. */
extern const char sapwood_stepper_body_forces_doc[];
PyObject *sapwood_stepper_body_forces(PyObject *self, PyObject *unused);

/* Returns an array (n) for the caller to fill, or NULL with an exception. */
PyArrayObject *sapwood_new_contacts(const sapwood_state *state, npy_intp n);

/* Adds the dtype CONTACT_RECORD to the module. Returns 0, or -1 with an exception. */
int sapwood_add_contact_record(PyObject *module);

#endif
