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
  Py_ssize_t n, always; /* of them those that each glance is at */
  Py_ssize_t turn;      /* the other one that the next glance is at, */
  size_t at;            /* and the byte of it that comes first */
} sapwood_byte_watch;

enum { GLANCE = 2048 }; /* bytes of the others */

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
  static char *names[] = {"arrays", "copies", "always", NULL};
  PyObject *arrays, *copies;
  Py_ssize_t always;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!n:ByteWatch", names, &PyTuple_Type, &arrays,
                                   &PyTuple_Type, &copies, &always)) {
    return NULL;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(arrays);
  if (PyTuple_GET_SIZE(copies) != n || always < 0 || always > n) {
    PyErr_SetString(PyExc_ValueError, "copies must be as many as arrays, and always no more");
    return NULL;
  }
  sapwood_byte_watch *self = (sapwood_byte_watch *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->arrays = Py_NewRef(arrays);
  self->copies = Py_NewRef(copies);
  self->always = self->turn = always;
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

static int differs(const byte_span *span, size_t from, size_t size) {
  return memcmp((const char *)span->now + from, (const char *)span->before + from, size) != 0;
}

static int any_differs(const sapwood_byte_watch *self, Py_ssize_t n) {
  int changed = 0;
  for (Py_ssize_t i = 0; i < n && !changed; i++) {
    changed = differs(&self->spans[i], 0, self->spans[i].size);
  }
  return changed;
}

/* some of the others, from where the last glance ended */
static int next_differs(sapwood_byte_watch *self) {
  int changed = 0;
  size_t left = GLANCE;
  for (Py_ssize_t i = self->always; i < self->n && left > 0 && !changed; i++) {
    const byte_span *span = &self->spans[self->turn];
    const size_t rest = span->size - self->at, size = rest < left ? rest : left;
    changed = differs(span, self->at, size);
    left -= size;
    self->at += size;
    if (self->at == span->size) {
      self->at = 0;
      self->turn = self->turn + 1 == self->n ? self->always : self->turn + 1;
    }
  }
  return changed;
}

int sapwood_byte_watch_glance(PyObject *watch) {
  sapwood_byte_watch *self = (sapwood_byte_watch *)watch;
  return any_differs(self, self->always) || next_differs(self);
}

PyDoc_STRVAR(glance_doc,
             "glance($self, /)\n--\n\n"
             "The same of those that are always looked at, and of the next 2 kB of the others.");

static PyObject *watch_glance(PyObject *self, PyObject *Py_UNUSED(unused)) {
  return PyBool_FromLong(sapwood_byte_watch_glance(self));
}

PyDoc_STRVAR(changed_doc, "changed($self, /)\n--\n\nWhether any byte differs from its copy.");

static PyObject *watch_changed(PyObject *object, PyObject *Py_UNUSED(unused)) {
  const sapwood_byte_watch *self = (const sapwood_byte_watch *)object;
  return PyBool_FromLong(any_differs(self, self->n));
}

/* ---- type ----------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"changed", watch_changed, METH_NOARGS, changed_doc},
                                {"glance", watch_glance, METH_NOARGS, glance_doc},
                                {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(watch_doc,
             "ByteWatch(arrays, copies, always)\n--\n\n"
             "Tells whether contiguous arrays of bytes, a tuple, still hold what those of another\n"
             "tuple do. always: how many of them, from the first on, each glance is at.");

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
