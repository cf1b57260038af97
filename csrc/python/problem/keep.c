#include "python/problem/keep.h"

#include <string.h>

const double *sapwood_keep(PyArrayObject *array, PyObject **slot) {
  if (array == NULL) {
    return NULL;
  }
  PyObject *view = PyArray_View(array, NULL, NULL);
  Py_DECREF(array);
  if (view == NULL) {
    return NULL;
  }
  PyArray_CLEARFLAGS((PyArrayObject *)view, NPY_ARRAY_WRITEABLE);
  Py_XSETREF(*slot, view);
  return sapwood_doubles((PyArrayObject *)view);
}

const double *sapwood_keep_vector(PyObject *object, const char *name, int64_t length,
                                  sapwood_rule rule, PyObject **slot) {
  return sapwood_keep(sapwood_as_vector(object, name, (npy_intp)length, rule), slot);
}

int sapwood_keep_all(const sapwood_kept *rows, int n) {
  for (const sapwood_kept *r = rows; r < rows + n; r++) {
    *r->data = sapwood_keep_vector(r->given, r->name, r->length, r->rule, r->slot);
    if (*r->data == NULL) {
      return -1;
    }
  }
  return 0;
}

int sapwood_keep_optional(const sapwood_kept *rows, int n) {
  for (const sapwood_kept *r = rows; r < rows + n; r++) {
    *r->data = NULL;
    if (r->given == Py_None) {
      *r->slot = Py_NewRef(Py_None);
    } else if (sapwood_keep_all(r, 1) < 0) {
      return -1;
    }
  }
  return 0;
}

PyObject *sapwood_index_copy(const int32_t *indices, int32_t n) {
  npy_intp length = n;
  PyObject *copy = PyArray_SimpleNew(1, &length, NPY_INT32);
  if (copy != NULL) {
    memcpy(PyArray_DATA((PyArrayObject *)copy), indices, (size_t)n * sizeof *indices);
    PyArray_CLEARFLAGS((PyArrayObject *)copy, NPY_ARRAY_WRITEABLE);
  }
  return copy;
}

int sapwood_all_or_none(const char *names, PyObject *a, PyObject *b, PyObject *c) {
  const int given = (a != Py_None) + (b != Py_None) + (c != Py_None);
  if (given == 1 || given == 2) {
    return SAPWOOD_FAIL(PyExc_TypeError, "%s must be given together", names);
  }
  return given == 3;
}
