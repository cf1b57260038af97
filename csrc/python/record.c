#include "python/record.h"

/* Appends the parts of one field to the three lists. Returns 0, or -1 with an exception. */
static int append(PyObject *const lists[3], const sapwood_field *field) {
  PyObject *parts = Py_BuildValue("(ssn)", field->name, field->format, (Py_ssize_t)field->offset);
  int failed = parts == NULL ? -1 : 0;
  for (int i = 0; i < 3 && !failed; ++i) {
    failed = PyList_Append(lists[i], PyTuple_GET_ITEM(parts, i));
  }
  Py_XDECREF(parts);
  return failed;
}

PyArray_Descr *sapwood_record_dtype(const sapwood_field *fields, int n, size_t item_size) {
  PyArray_Descr *dtype = NULL;
  PyObject *layout = Py_BuildValue("{s:[],s:[],s:[],s:n}", "names", "formats", "offsets",
                                   "itemsize", (Py_ssize_t)item_size);
  if (layout == NULL) {
    return NULL;
  }
  PyObject *const lists[3] = {PyDict_GetItemString(layout, "names"),
                              PyDict_GetItemString(layout, "formats"),
                              PyDict_GetItemString(layout, "offsets")};
  int failed = 0;
  for (int i = 0; i < n && !failed; ++i) {
    failed = append(lists, &fields[i]);
  }
  if (!failed && !PyArray_DescrConverter(layout, &dtype)) {
    dtype = NULL;
  }
  Py_DECREF(layout);
  return dtype;
}

void *sapwood_take_structs(PyObject *object, const char *name, const char *dtype, size_t item_size,
                           npy_intp n, int flags) {
  PyArrayObject *array = PyArray_Check(object) ? (PyArrayObject *)object : NULL;
  if (array == NULL || PyArray_TYPE(array) != NPY_VOID ||
      PyArray_ITEMSIZE(array) != (npy_intp)item_size || !PyArray_ISCARRAY_RO(array) ||
      !PyArray_CHKFLAGS(array, flags)) {
    PyErr_Format(PyExc_TypeError, "%s must be a contiguous array of dtype %s", name, dtype);
    return NULL;
  }
  if (PyArray_SIZE(array) < n) {
    PyErr_Format(PyExc_ValueError, "%s has %zd entries, expected %zd or more", name,
                 PyArray_SIZE(array), n);
    return NULL;
  }
  return PyArray_DATA(array);
}
