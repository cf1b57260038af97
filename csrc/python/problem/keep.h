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

/* An array that a problem keeps: the argument, its name, its length and rule, and where the view
 * and the data go. */
typedef struct sapwood_kept {
  PyObject *given;
  const char *name;
  int64_t length;
  sapwood_rule rule;
  PyObject **slot;
  const double **data;
} sapwood_kept;

/* Keep n vectors. None leaves None and NULL where it is allowed. They return 0, or -1 with an
 * exception. */
int sapwood_keep_all(const sapwood_kept *rows, int n);
int sapwood_keep_optional(const sapwood_kept *rows, int n);

/* Returns a new read-only array with a copy of private indices. */
PyObject *sapwood_index_copy(const int32_t *indices, int32_t n);

/* Returns 1 if every object is given, 0 if all are None, -1 with an exception if some are. */
int sapwood_all_or_none(const char *names, PyObject *a, PyObject *b, PyObject *c);

#endif
