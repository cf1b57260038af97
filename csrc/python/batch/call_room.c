#include "python/batch/call_room.h"

#include "mujoco/batch/batch_object.h"
#include "python/mujoco/py_recording.h"
#include "python/batch/worker_arrays.h"

npy_intp sapwood_state_length(const sapwood_world_batch *self, int spec, const char *name) {
  const int size = spec == 0 ? 0 : sap_batch_state_size(self->core, spec);
  if (size < 0) {
    PyErr_Format(PyExc_ValueError, "%s = %d: no state has these bits", name, spec);
  }
  return size;
}

/* Reads a record, a tuple (arrays of the workers or None, spec, array). */
static int take_record(const sapwood_world_batch *self, PyObject *object,
                       const sap_batch_call *call, void **places, sap_batch_record *record) {
  PyObject *arrays, *to;
  int spec, typenum = NPY_DOUBLE;
  if (!PyTuple_Check(object) || !PyArg_ParseTuple(object, "OiO:record", &arrays, &spec, &to)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "a record must be a tuple (arrays, spec, array)");
  }
  const npy_intp length = arrays == Py_None ? sapwood_state_length(self, spec, "spec") : 0;
  record->bytes = sizeof(double) * (size_t)length;
  if (length < 0 ||
      (arrays != Py_None &&
       sapwood_world_batch_places(self, arrays, "arrays", places, &record->bytes, &typenum) < 0)) {
    return -1;
  }
  PyArrayObject *array = PyArray_Check(to) ? (PyArrayObject *)to : NULL;
  if (array == NULL || PyArray_TYPE(array) != typenum || !PyArray_ISCARRAY(array)) {
    return SAPWOOD_FAIL(PyExc_TypeError,
                        "record must be a contiguous array of the type of the field");
  }
  if (PyArray_NDIM(array) < 2 || PyArray_DIM(array, 0) != call->n_worlds ||
      PyArray_DIM(array, 1) != call->steps ||
      (size_t)PyArray_NBYTES(array) !=
          record->bytes * (size_t)call->n_worlds * (size_t)call->steps) {
    return SAPWOOD_FAIL(PyExc_ValueError, "record has another shape than (worlds, steps, ...)");
  }
  record->places = arrays == Py_None ? NULL : places;
  record->spec = spec;
  record->base = PyArray_DATA(array);
  return 0;
}

int sapwood_take_call_records(const sapwood_world_batch *self, PyObject *records,
                              struct sapwood_call_room *room, sap_batch_call *call) {
  const Py_ssize_t n = PyTuple_GET_SIZE(records);
  room->records = PyMem_Calloc((size_t)n + 1, sizeof *room->records);
  room->places = PyMem_Calloc((size_t)n + 1, sizeof *room->places * (size_t)self->n_workers);
  if (room->records == NULL || room->places == NULL) {
    return sapwood_no_memory();
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    if (take_record(self, PyTuple_GET_ITEM(records, i), call, room->places + i * self->n_workers,
                    &room->records[i]) < 0) {
      return -1;
    }
  }
  call->records = room->records;
  call->n_records = n;
  return 0;
}

int sapwood_take_call_logs(const sapwood_world_batch *self, PyObject *logs, npy_intp rows,
                           struct sapwood_call_room *room) {
  if (logs == Py_None) {
    return 0;
  }
  if (!PyTuple_Check(logs) || PyTuple_GET_SIZE(logs) != rows) {
    return SAPWOOD_FAIL(PyExc_ValueError, "contacts must be a tuple of %zd", (Py_ssize_t)rows);
  }
  room->logs = PyMem_Calloc((size_t)rows + 1, sizeof *room->logs);
  if (room->logs == NULL) {
    return sapwood_no_memory();
  }
  for (npy_intp i = 0; i < rows; i++) {
    room->logs[i] = sapwood_contact_log_of(PyTuple_GET_ITEM(logs, i), self->state);
    if (room->logs[i] == NULL) {
      return -1;
    }
  }
  return 0;
}

void sapwood_release_call_room(struct sapwood_call_room *room) {
  PyMem_Free(room->records);
  PyMem_Free(room->places);
  PyMem_Free(room->logs);
}
