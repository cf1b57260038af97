#include "python/stepper/contacts.h"

#include <stddef.h>

#include "python/stepper/ready.h"

/* ---- the dtype ------------------------------------------------------------------------------ */

/* Returns the NumPy dtype with the memory layout of sap_contact_record. */
static PyArray_Descr *contact_dtype(void) {
#define OFFSET(name) (Py_ssize_t) offsetof(sap_contact_record, name)
  PyObject *layout = Py_BuildValue(
      "{s:(sssssssssssss),s:(sssssssssssss),s:(nnnnnnnnnnnnn),s:n}", "names", "index", "face",
      "geom", "dim", "region", "position", "frame", "distance", "force", "torque", "slip_speed",
      "friction", "core_scale", "formats", "i4", "i4", "(2,)i4", "i4", "i4", "(3,)f8", "(3,3)f8",
      "f8", "(3,)f8", "(3,)f8", "f8", "f8", "f8", "offsets", OFFSET(index), OFFSET(face),
      OFFSET(geom), OFFSET(dim), OFFSET(region), OFFSET(position), OFFSET(frame), OFFSET(distance),
      OFFSET(force), OFFSET(torque), OFFSET(slip_speed), OFFSET(friction), OFFSET(core_scale),
      "itemsize", (Py_ssize_t)sizeof(sap_contact_record));
#undef OFFSET
  PyArray_Descr *dtype = NULL;
  if (layout != NULL && !PyArray_DescrConverter(layout, &dtype)) {
    dtype = NULL;
  }
  Py_XDECREF(layout);
  return dtype;
}

int sapwood_add_contact_record(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  state->contact_dtype = contact_dtype();
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
