#include "python/problem/core_table.h"

#include <string.h>

#include "constraints/barrier_table.h"
#include "python/errors.h"

/* Copies the nodes to private memory and finds slope and value. */
static int copy_nodes(sapwood_core_table *self, PyArrayObject *nodes) {
  npy_intp shape[2] = {4, PyArray_DIM(nodes, 1)};
  const size_t n = (size_t)shape[1];
  PyArrayObject *rows = sapwood_new(NPY_DOUBLE, 2, shape);
  self->rows = (PyObject *)rows;
  if (rows == NULL) {
    return -1;
  }
  double *s = sapwood_doubles(rows), *curvature = s + n, *slope = s + 2 * n, *value = s + 3 * n;
  memcpy(s, PyArray_DATA(nodes), 2 * n * sizeof *s);
  self->table = (sap_barrier_table){(int32_t)n, s, curvature, slope, value};
  sap_barrier_integrate((int32_t)n, s, curvature, slope, value);
  PyArray_CLEARFLAGS(rows, NPY_ARRAY_WRITEABLE);
  self->given = PySequence_GetSlice((PyObject *)rows, 0, 2);
  return self->given == NULL ? -1 : 0;
}

int sapwood_core_table_read(sapwood_core_table *self, PyObject *object) {
  if (object == Py_None) {
    self->given = Py_NewRef(Py_None);
    return 0;
  }
  PyArrayObject *nodes =
      sapwood_as_float64(object, "core_table", SAPWOOD_SHAPE(2, -1), SAPWOOD_ANY);
  if (nodes == NULL) {
    return -1;
  }
  const int fits = PyArray_DIM(nodes, 1) < INT32_MAX;
  const int failed = fits ? copy_nodes(self, nodes) : -1;
  Py_DECREF(nodes);
  if (failed) {
    return fits ? -1 : sapwood_value_error("core_table", -1, NAN, "must have fewer nodes");
  }
  sap_error error = {0};
  return sapwood_raise(sap_barrier_table_check(&self->table, &error), &error);
}

void sapwood_core_table_clear(sapwood_core_table *self) {
  Py_CLEAR(self->rows);
  Py_CLEAR(self->given);
}
