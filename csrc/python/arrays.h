/* The arrays of a call by tables: those that it reads, and new ones for its results. */
#ifndef SAPWOOD_PYTHON_ARRAYS_H
#define SAPWOOD_PYTHON_ARRAYS_H

#include "python/convert.h"

/* The type and the shape of a new array. */
typedef struct sapwood_layout {
  int typenum, ndim;
  npy_intp shape[3];
} sapwood_layout;

/* Makes the n arrays of a table; a row without dimensions leaves NULL. Returns 0, or -1 with
 * MemoryError; the caller releases the arrays in both cases. */
int sapwood_new_all(PyArrayObject **arrays, const sapwood_layout *layouts, int n);

/* A float array among the arguments of a call. */
typedef struct sapwood_argument {
  const char *name;
  npy_intp shape[3];
  int which, ndim; /* position of the argument, number of dimensions */
  sapwood_rule rule;
  int is_optional; /* 1: may be None */
} sapwood_argument;

/* The rows of a table, by position, name, rule, whether None is allowed, and lengths. */
#define SAPWOOD_READ(which, name, rule, is_optional, ...)                            \
  {name, {__VA_ARGS__}, which, sizeof((npy_intp[]){__VA_ARGS__}) / sizeof(npy_intp), \
   rule, is_optional}
#define SAPWOOD_ARGUMENT(which, name, ...) SAPWOOD_READ(which, name, SAPWOOD_ANY, 0, __VA_ARGS__)
#define SAPWOOD_OPTIONAL(which, name, ...) SAPWOOD_READ(which, name, SAPWOOD_ANY, 1, __VA_ARGS__)

/* Reads the arguments of a table to in[which]; NULL stands for None. Returns 0, or -1 with an
 * exception; the caller releases the arrays in both cases. */
int sapwood_read_all(PyArrayObject **in, PyObject *const *args, const sapwood_argument *given,
                     int n);

#endif
