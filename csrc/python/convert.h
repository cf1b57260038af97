/* Every array that enters the extension module passes here.
 *
 * A conversion accepts anything NumPy can make an array of. It checks dtype, number of dimensions,
 * shape and (on request) values. It returns a C-contiguous, aligned array in native byte order. An
 * array that is all of that already is used in place; anything else is converted once. Complex
 * numbers, booleans, objects, strings, dates and masked entries are refused. Error texts name the
 * argument, the index and the rule:
 *
 *     mu[3] = -0.5: must be >= 0
 *     J has shape (60,), expected (72,)
 *     v_star must hold real numbers, not complex128
 *
 * Ownership: functions returning an array return a new reference, or NULL with TypeError or
 * ValueError set. */
#ifndef SAPWOOD_PYTHON_CONVERT_H
#define SAPWOOD_PYTHON_CONVERT_H

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#ifndef NPY_NO_DEPRECATED_API
#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#endif
#define PY_ARRAY_UNIQUE_SYMBOL sapwood_array_api
/* numpy_api.c alone defines SAPWOOD_IMPORT_ARRAY: it holds NumPy's table of functions */
#ifndef SAPWOOD_IMPORT_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <stdint.h>

/* Rules for the entries of a float array. All but the first and the last imply that the entries are
 * finite. */
typedef enum sapwood_rule {
  SAPWOOD_ANY = 0,
  SAPWOOD_FINITE,
  SAPWOOD_NON_NEGATIVE,
  SAPWOOD_POSITIVE,
  SAPWOOD_POSITIVE_OR_INFINITE
} sapwood_rule;

/* Stands for two arguments: the number of dimensions, and the lengths of a shape. */
#define SAPWOOD_SHAPE(...) \
  (int)(sizeof((npy_intp[]){__VA_ARGS__}) / sizeof(npy_intp)), (npy_intp[]) { __VA_ARGS__ }

/* Returns a float64 array with `ndim` dimensions; shape (ndim) gives their lengths, -1 leaves one
 * open. With ndim = -1 all are open and shape is not read. Read only: the array may be the
 * caller's. */
PyArrayObject *sapwood_as_float64(PyObject *object, const char *name, int ndim,
                                  const npy_intp *shape, sapwood_rule rule);

/* Returns the same for vectors: (length), or any length for -1. */
PyArrayObject *sapwood_as_vector(PyObject *object, const char *name, npy_intp length,
                                 sapwood_rule rule);

/* Returns an int32 vector (length), or any length for -1, from any integer dtype. A value that does
 * not fit is an error with its index. */
PyArrayObject *sapwood_as_int32(PyObject *object, const char *name, npy_intp length);

/* Checks that the entries of an int32 array are >= least and below a length. Returns 0, or -1 with
 * an exception. */
int sapwood_check_range(PyArrayObject *array, const char *name, int32_t least, npy_intp end);

/* Returns an array that must be used in place, for memory shared with another owner. It is an
 * ndarray of exactly the NumPy type `typenum`, aligned, in native byte order, with the given shape
 * (as above). `flags` is 0 for any strides or NPY_ARRAY_C_CONTIGUOUS, or'ed with
 * NPY_ARRAY_WRITEABLE if it is written. */
PyArrayObject *sapwood_in_place(PyObject *object, const char *name, int typenum, int ndim,
                                const npy_intp *shape, int flags);

/* Reads a finite real number (int, float or a NumPy scalar, not a bool) that satisfies `rule`.
 * Returns 0, or -1 with an exception. */
int sapwood_as_double(PyObject *object, const char *name, sapwood_rule rule, double *value);

/* Returns the position of a str among `choices` (ended by NULL), or -1 with an exception that lists
 * them. */
int sapwood_as_choice(PyObject *object, const char *name, const char *const *choices);

/* Finds the item of a dict under a name, borrowed, NULL if there is none. Returns 0, or -1 with
 * MemoryError, which PyDict_GetItemString could not distinguish from a missing item. */
int sapwood_item(PyObject *dict, const char *name, PyObject **item);

/* Returns a new array for the caller to fill, or NULL with MemoryError. */
static inline PyArrayObject *sapwood_new(int typenum, int ndim, const npy_intp *shape) {
  return (PyArrayObject *)PyArray_SimpleNew(ndim, shape, typenum);
}

/* Returns the content of a capsule that the function `kind` of the module made. NULL with TypeError
 * for anything else, which calls it `name`. */
void *sapwood_capsule_content(PyObject *capsule, const char *kind, const char *name);

/* Drops the references to n arrays, some of which may be NULL, and sets them to NULL. */
void sapwood_release(PyArrayObject **arrays, int n);

/* Return pointers to the data of an array from the functions above. */
static inline double *sapwood_doubles(PyArrayObject *array) {
  return (double *)PyArray_DATA(array);
}
static inline double *sapwood_optional_doubles(PyArrayObject *array) {
  return array == NULL ? NULL : sapwood_doubles(array); /* NULL for no array */
}
static inline int32_t *sapwood_int32s(PyArrayObject *array) {
  return (int32_t *)PyArray_DATA(array);
}

/* Raises ValueError `name[index] = value: rule` (without the index for index < 0, without the value
 * for NaN). Always returns -1. */
int sapwood_value_error(const char *name, int64_t index, double value, const char *rule);

/* Raise an exception by the arguments of PyErr_Format(), or MemoryError. Always -1. */
#define SAPWOOD_FAIL(...) (PyErr_Format(__VA_ARGS__), -1)
static inline int sapwood_no_memory(void) {
  PyErr_NoMemory();
  return -1;
}

#endif /* SAPWOOD_PYTHON_CONVERT_H */
