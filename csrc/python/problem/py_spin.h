/* Torsional and rolling friction of a _core.Problem: a sap_spin and its arrays.
 *
 * As for the contacts, float arrays are the caller's if they were contiguous float64, and the
 * indices are a private copy. */
#ifndef SAPWOOD_PYTHON_PROBLEM_PY_SPIN_H
#define SAPWOOD_PYTHON_PROBLEM_PY_SPIN_H

#include "python/problem/problem_arguments.h"
#include "sapwood.h"

typedef struct sapwood_spin {
  sap_spin spin;
  int32_t *indices;  /* spin.contact, from PyMem_Malloc */
  PyObject *contact; /* read-only copy for Python; None without friction, as below */
  PyObject *J, *mu;  /* read-only views */
} sapwood_spin;

/* Reads the indices, unchecked, and points `problem` at the spin, unless the arguments are None.
 * Returns 0, or -1 with an exception. */
int sapwood_spin_read_contacts(sapwood_spin *spin, const sapwood_problem_arguments *in,
                               sap_problem *problem);

/* Reads J of this length, and mu. Returns 0, or -1 with an exception. */
int sapwood_spin_read_values(sapwood_spin *spin, const sapwood_problem_arguments *in, int64_t nJ);

void sapwood_spin_clear(sapwood_spin *spin);

#endif
