#include "python/problem/py_spin.h"

#include <string.h>

#include "python/problem/keep.h"

int sapwood_spin_read_contacts(sapwood_spin *spin, const sapwood_problem_arguments *in,
                               sap_problem *problem) {
  const int given = sapwood_all_or_none("spin_contact, spin_J and spin_mu", in->spin_contact,
                                        in->spin_J, in->spin_mu);
  if (given <= 0) {
    spin->contact = Py_NewRef(Py_None);
    return given;
  }
  PyArrayObject *contact = sapwood_as_int32(in->spin_contact, "spin_contact", -1);
  if (contact == NULL) {
    return -1;
  }
  const size_t n = (size_t)PyArray_DIM(contact, 0);
  if (n > (size_t)problem->n_contacts) {
    PyErr_Format(PyExc_ValueError, "spin_contact has shape (%zu,), expected at most (%d,)", n,
                 (int)problem->n_contacts);
    Py_DECREF(contact);
    return -1;
  }
  spin->indices = PyMem_Malloc((n + 1) * sizeof *spin->indices);
  if (spin->indices != NULL) {
    memcpy(spin->indices, sapwood_int32s(contact), n * sizeof *spin->indices);
  }
  Py_DECREF(contact);
  if (spin->indices == NULL) {
    return sapwood_no_memory();
  }
  spin->spin.n = (int32_t)n;
  spin->spin.contact = spin->indices;
  spin->contact = sapwood_index_copy(spin->indices, spin->spin.n);
  problem->spin = &spin->spin;
  return spin->contact == NULL ? -1 : 0;
}

int sapwood_spin_read_values(sapwood_spin *spin, const sapwood_problem_arguments *in, int64_t nJ) {
  if (in->spin_contact == Py_None) {
    spin->J = Py_NewRef(Py_None);
    spin->mu = Py_NewRef(Py_None);
    return 0;
  }
  spin->spin.J = sapwood_keep_vector(in->spin_J, "spin_J", nJ, SAPWOOD_ANY, &spin->J);
  spin->spin.mu =
      spin->spin.J == NULL
          ? NULL
          : sapwood_keep(sapwood_as_float64(in->spin_mu, "spin_mu", SAPWOOD_SHAPE(spin->spin.n, 3),
                                            SAPWOOD_NON_NEGATIVE),
                         &spin->mu);
  return spin->spin.mu == NULL ? -1 : 0;
}

void sapwood_spin_clear(sapwood_spin *spin) {
  PyMem_Free(spin->indices);
  Py_XDECREF(spin->contact);
  Py_XDECREF(spin->J);
  Py_XDECREF(spin->mu);
}
