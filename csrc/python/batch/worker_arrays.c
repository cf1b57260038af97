#include "python/batch/worker_arrays.h"

int sapwood_world_batch_places(const sapwood_world_batch *self, PyObject *arrays, const char *name,
                               void **places, size_t *bytes, int *typenum) {
  if (!PyTuple_Check(arrays) || PyTuple_GET_SIZE(arrays) != self->n_workers) {
    return SAPWOOD_FAIL(PyExc_ValueError, "%s must be a tuple of %d arrays", name,
                        (int)self->n_workers);
  }
  for (int32_t i = 0; i < self->n_workers; i++) {
    PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(arrays, i);
    if (!PyArray_Check(array) || !PyArray_ISCARRAY_RO(array)) {
      return SAPWOOD_FAIL(PyExc_TypeError, "%s must be contiguous arrays", name);
    }
    const size_t size = (size_t)PyArray_NBYTES(array);
    if (i > 0 && size != *bytes) {
      return SAPWOOD_FAIL(PyExc_ValueError, "%s must be arrays of one size", name);
    }
    places[i] = PyArray_DATA(array);
    *bytes = size;
    *typenum = PyArray_TYPE(array);
  }
  return 0;
}
