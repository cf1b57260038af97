/* Arrays of the caller that a _core.Problem keeps: as read-only views, where they lie. */
#ifndef SAPWOOD_PYTHON_KEEP_H
#define SAPWOOD_PYTHON_KEEP_H

#include "python/convert.h"

/* Keeps a read-only view of the array in *slot and returns its data, or NULL with an exception;
 * steals the reference. NULL where the array is. */
const double *sapwood_keep(PyArrayObject *array, PyObject **slot);

/* The same with a vector of this length that is made of the object. */
const double *sapwood_keep_vector(PyObject *object, const char *name, int64_t length,
                                  sapwood_rule rule, PyObject **slot);

/* The same where the object may be None, as *slot is then and *data NULL. 0, or -1 with an
 * exception. */
int sapwood_keep_optional(PyObject *object, const char *name, int64_t length, PyObject **slot,
                          const double **data);

/* New read-only array with a copy of private indices. */
PyObject *sapwood_index_copy(const int32_t *indices, int32_t n);

/* 1 when every object is given, 0 when all are None, -1 with an exception when some are */
int sapwood_all_or_none(const char *names, PyObject *a, PyObject *b, PyObject *c);

#endif
