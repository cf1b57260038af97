#include "python/stepper/contacts.h"
#include "python/stepper/methods.h"
#include "python/parts.h"

#include "python/record.h"
#include "python/stepper/ready.h"

/* ---- the dtype ------------------------------------------------------------------------------ */

/* Fields of the dtype with the memory layout of sap_contact_record. */
static const sapwood_field contact_fields[] = {
    SAPWOOD_FIELD(sap_contact_record, index, "i4"),
    SAPWOOD_FIELD(sap_contact_record, face, "i4"),
    SAPWOOD_FIELD(sap_contact_record, geom, "(2,)i4"),
    SAPWOOD_FIELD(sap_contact_record, dim, "i4"),
    SAPWOOD_FIELD(sap_contact_record, region, "i4"),
    SAPWOOD_FIELD(sap_contact_record, position, "(3,)f8"),
    SAPWOOD_FIELD(sap_contact_record, frame, "(3,3)f8"),
    SAPWOOD_FIELD(sap_contact_record, distance, "f8"),
    SAPWOOD_FIELD(sap_contact_record, force, "(3,)f8"),
    SAPWOOD_FIELD(sap_contact_record, torque, "(3,)f8"),
    SAPWOOD_FIELD(sap_contact_record, slip_speed, "f8"),
    SAPWOOD_FIELD(sap_contact_record, friction, "f8"),
    SAPWOOD_FIELD(sap_contact_record, core_scale, "f8"),
};

int sapwood_add_contact_record(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  state->contact_dtype = SAPWOOD_RECORD(sap_contact_record, contact_fields);
  return state->contact_dtype == NULL
             ? -1
             : PyModule_AddObjectRef(module, "CONTACT_RECORD", (PyObject *)state->contact_dtype);
}

PyArrayObject *sapwood_new_contacts(const sapwood_state *state, npy_intp n) {
  /* the call steals the descriptor; padding is zero */
  Py_INCREF(state->contact_dtype);
  return (PyArrayObject *)PyArray_Zeros(1, &n, state->contact_dtype, 0);
}

/* ---- contacts of the last step -------------------------------------------------------------- */

/* Returns the number of contacts, and copies them if `room` is that number. */
static npy_intp copy_contacts(sapwood_stepper *self, sap_contact_record *records, npy_intp room) {
  sapwood_lock_take(&self->lock);
  const npy_intp n = sap_stepper_problem(self->core)->n_contacts;
  if (n == room) {
    sap_stepper_contacts(self->core, records);
  }
  sapwood_lock_leave(&self->lock);
  return n;
}

const char sapwood_stepper_contacts_doc[] =
    "contacts($self)\n--\n\n"
    "The contacts of the last step, an array of CONTACT_RECORD. Of a problem that was gathered\n"
    "alone none acts.";

PyObject *sapwood_stepper_contacts(PyObject *object, PyObject *Py_UNUSED(unused)) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  PyArrayObject *contacts = NULL;
  npy_intp n = 0, room;
  if (sapwood_stepper_be_ready(self) < 0) {
    return NULL;
  }
  /* this repeats if a step in another thread changed the number in between */
  do {
    Py_XDECREF(contacts);
    room = n;
    contacts = sapwood_new_contacts(self->state, room);
    if (contacts == NULL) {
      return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    n = copy_contacts(self, PyArray_DATA(contacts), room);
    Py_END_ALLOW_THREADS
  } while (n != room);
  return (PyObject *)contacts;
}

const char sapwood_stepper_body_forces_doc[] =
    "body_forces($self)\n--\n\n"
    "Sum of the contact forces of the last step on each body (n_bodies, 3), N, in the world.";

PyObject *sapwood_stepper_body_forces(PyObject *object, PyObject *Py_UNUSED(unused)) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  if (sapwood_stepper_be_ready(self) < 0) {
    return NULL;
  }
  PyArrayObject *forces =
      sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(sap_stepper_forest(self->core)->n_bodies, 3));
  if (forces == NULL) {
    return NULL;
  }
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  sap_stepper_body_forces(self->core, PyArray_DATA(forces));
  SAPWOOD_END_LOCKED(&self->lock)
  return (PyObject *)forces;
}
