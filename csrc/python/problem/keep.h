/* Keeps arrays of the caller for a _core.Problem, as read-only views in place. */
#ifndef SAPWOOD_PYTHON_KEEP_H
#define SAPWOOD_PYTHON_KEEP_H

#include "python/convert.h"

/* Keeps a read-only view of the array in *slot and returns its data, or NULL with an exception.
 * Steals the reference; NULL gives NULL. */
const double *sapwood_keep(PyArrayObject *array, PyObject **slot);

/* Does the same with a vector of this length that is made of the object. */
const double *sapwood_keep_vector(PyObject *object, const char *name, int64_t length,
                                  sapwood_rule rule, PyObject **slot);

/* Does the same for an object that may be None; *slot is then None and *data NULL. Returns 0, or -1
 * with an exception. */
int sapwood_keep_optional(PyObject *object, const char *name, int64_t length, PyObject **slot,
                          const double **data);

/* Returns a new read-only array with a copy of private indices. */
PyObject *sapwood_index_copy(const int32_t *indices, int32_t n);

/* Returns 1 if every object is given, 0 if all are None, -1 with an exception if some are. */
int sapwood_all_or_none(const char *names, PyObject *a, PyObject *b, PyObject *c);

#endif
