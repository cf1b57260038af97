#include "python/stepper/byte_watch.h"

#include <string.h>

#include "python/state.h"

typedef struct byte_span {
  const void *now, *before;
  size_t size;
} byte_span;

typedef struct sapwood_byte_watch {
  PyObject_HEAD
  PyObject *arrays, *copies; /* tuples; whose memory it is stays the business of the caller */
  byte_span *spans;
  Py_ssize_t n;
} sapwood_byte_watch;

/* ---- life ----------------------------------------------------------------------------------- */

static int are_bytes(PyObject *object) {
  PyArrayObject *array = (PyArrayObject *)object;
  return PyArray_Check(object) && PyArray_TYPE(array) == NPY_UINT8 && PyArray_NDIM(array) == 1 &&
         PyArray_IS_C_CONTIGUOUS(array);
}

static int take_span(byte_span *out, PyObject *one, PyObject *other) {
  PyArrayObject *now = (PyArrayObject *)one, *before = (PyArrayObject *)other;
  if (!are_bytes(one) || !are_bytes(other) || PyArray_SIZE(now) != PyArray_SIZE(before)) {
    PyErr_SetString(PyExc_TypeError, "arrays must be contiguous bytes, as long as their copies");
    return -1;
  }
  *out = (byte_span){PyArray_DATA(now), PyArray_DATA(before), (size_t)PyArray_SIZE(now)};
  return 0;
}

static PyObject *watch_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"arrays", "copies", NULL};
  PyObject *arrays, *copies;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!:ByteWatch", names, &PyTuple_Type, &arrays,
                                   &PyTuple_Type, &copies)) {
    return NULL;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(arrays);
  if (PyTuple_GET_SIZE(copies) != n) {
    PyErr_SetString(PyExc_ValueError, "copies must be as many as arrays");
    return NULL;
  }
  sapwood_byte_watch *self = (sapwood_byte_watch *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->arrays = Py_NewRef(arrays);
  self->copies = Py_NewRef(copies);
  self->spans = PyMem_New(byte_span, (size_t)n);
  if (self->spans == NULL) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  for (; self->n < n; self->n++) {
    if (take_span(&self->spans[self->n], PyTuple_GET_ITEM(arrays, self->n),
                  PyTuple_GET_ITEM(copies, self->n)) < 0) {
      Py_DECREF(self);
      return NULL;
    }
  }
  return (PyObject *)self;
}

static void watch_dealloc(PyObject *object) {
  sapwood_byte_watch *self = (sapwood_byte_watch *)object;
  PyTypeObject *type = Py_TYPE(object);
  PyMem_Free(self->spans);
  Py_XDECREF(self->arrays);
  Py_XDECREF(self->copies);
  type->tp_free(object);
  Py_DECREF(type);
}

/* ---- what has changed ----------------------------------------------------------------------- */

int sapwood_byte_watch_has_changed(PyObject *watch) {
  const sapwood_byte_watch *self = (const sapwood_byte_watch *)watch;
  int changed = 0;
  for (Py_ssize_t i = 0; i < self->n && !changed; i++) {
    changed = memcmp(self->spans[i].now, self->spans[i].before, self->spans[i].size) != 0;
  }
  return changed;
}

PyDoc_STRVAR(changed_doc, "changed($self, /)\n--\n\nWhether any byte differs from its copy.");

static PyObject *watch_changed(PyObject *self, PyObject *Py_UNUSED(unused)) {
  return PyBool_FromLong(sapwood_byte_watch_has_changed(self));
}

/* ---- type ----------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"changed", watch_changed, METH_NOARGS, changed_doc},
                                {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(watch_doc,
             "ByteWatch(arrays, copies)\n--\n\n"
             "Tells whether contiguous arrays of bytes, a tuple, still hold what those of another\n"
             "tuple do.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)watch_doc},
                              {Py_tp_new, (void *)watch_new},
                              {Py_tp_dealloc, (void *)watch_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {
    .name = "sapwood._core.ByteWatch",
    .basicsize = sizeof(sapwood_byte_watch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int sapwood_add_byte_watch(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  state->byte_watch_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
  return state->byte_watch_type == NULL ? -1 : PyModule_AddType(module, state->byte_watch_type);
}
