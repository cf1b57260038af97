#include "python/mujoco/byte_watch.h"
#include "python/parts.h"

#include <string.h>

#include "python/state.h"

/* Bytes in memory, and a copy of their earlier values. */
typedef struct bytes_watched {
  const char *now;
  char *before;
  size_t size;
} bytes_watched;

typedef struct sapwood_byte_watch {
  PyObject_HEAD
  PyObject *owner;       /* reference that keeps the memory alive */
  char *copies;          /* copies of all spans, one after the other */
  bytes_watched *places; /* (n_places) requested places, by address */
  bytes_watched *spans;  /* (n_spans) the same, with neighbours united */
  Py_ssize_t n_places, n_spans;
} sapwood_byte_watch;

/* largest padding between two arrays in the block of a model, bytes */
enum { PADDING = 64 };

/* ---- life ----------------------------------------------------------------------------------- */

static int read_place(bytes_watched *place, PyObject *object, const bytes_watched *last) {
  PyObject *address =
      PyTuple_Check(object) && PyTuple_GET_SIZE(object) == 2 ? PyTuple_GET_ITEM(object, 0) : NULL;
  if (address == NULL) {
    return SAPWOOD_FAIL(PyExc_TypeError, "places must be tuples of an address and a size");
  }
  const Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(object, 1));
  *place = (bytes_watched){.now = PyLong_AsVoidPtr(address), .size = (size_t)size};
  if (PyErr_Occurred()) {
    return -1;
  }
  if (size <= 0 || place->now == NULL || (last != NULL && place->now < last->now + last->size)) {
    return SAPWOOD_FAIL(PyExc_ValueError, "places must be in the order of memory, and not empty");
  }
  return 0;
}

/* Unites neighbours to spans, and returns their total length in bytes. */
static size_t unite(sapwood_byte_watch *self) {
  size_t length = 0;
  for (Py_ssize_t i = 0; i < self->n_places; i++) {
    const bytes_watched *place = &self->places[i];
    bytes_watched *span = self->n_spans == 0 ? NULL : &self->spans[self->n_spans - 1];
    if (span == NULL || place->now > span->now + span->size + PADDING) {
      self->spans[self->n_spans++] = *place;
      length += place->size;
    } else {
      const size_t size = (size_t)(place->now + place->size - span->now);
      length += size - span->size;
      span->size = size;
    }
  }
  return length;
}

static void accept(sapwood_byte_watch *self) {
  for (Py_ssize_t i = 0; i < self->n_spans; i++) {
    memcpy(self->spans[i].before, self->spans[i].now, self->spans[i].size);
  }
}

/* Gives each span and place its copy. */
static void point_at_copies(sapwood_byte_watch *self) {
  char *next = self->copies;
  Py_ssize_t i = 0;
  for (Py_ssize_t s = 0; s < self->n_spans; s++) {
    bytes_watched *span = &self->spans[s];
    span->before = next;
    next += span->size;
    for (; i < self->n_places && self->places[i].now < span->now + span->size; i++) {
      self->places[i].before = span->before + (self->places[i].now - span->now);
    }
  }
}

static PyObject *watch_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"owner", "places", NULL};
  PyObject *owner, *places;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO!:ByteWatch", names, &owner, &PyTuple_Type,
                                   &places)) {
    return NULL;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(places);
  sapwood_byte_watch *self = (sapwood_byte_watch *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->owner = Py_NewRef(owner);
  self->places = PyMem_New(bytes_watched, (size_t)n);
  self->spans = PyMem_New(bytes_watched, (size_t)n);
  if (self->places == NULL || self->spans == NULL) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  for (; self->n_places < n; self->n_places++) {
    bytes_watched *place = &self->places[self->n_places];
    if (read_place(place, PyTuple_GET_ITEM(places, self->n_places),
                   self->n_places == 0 ? NULL : place - 1) < 0) {
      Py_DECREF(self);
      return NULL;
    }
  }
  self->copies = PyMem_Malloc(unite(self));
  if (self->copies == NULL) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  point_at_copies(self);
  accept(self);
  return (PyObject *)self;
}

static void watch_dealloc(PyObject *object) {
  sapwood_byte_watch *self = (sapwood_byte_watch *)object;
  PyMem_Free(self->copies);
  PyMem_Free(self->places);
  PyMem_Free(self->spans);
  Py_XDECREF(self->owner);
  sapwood_free_object(object);
}

/* ---- changes -------------------------------------------------------------------------------- */

static int differs(const bytes_watched *bytes) {
  return memcmp(bytes->now, bytes->before, bytes->size) != 0;
}

int sapwood_byte_watch_has_changed(PyObject *watch) {
  const sapwood_byte_watch *self = (const sapwood_byte_watch *)watch;
  int changed = 0;
  for (Py_ssize_t i = 0; i < self->n_spans && !changed; i++) {
    changed = differs(&self->spans[i]);
  }
  return changed;
}

PyDoc_STRVAR(changed_doc, "changed($self, /)\n--\n\nWhether any byte differs from its copy.");

static PyObject *watch_changed(PyObject *self, PyObject *Py_UNUSED(unused)) {
  return PyBool_FromLong(sapwood_byte_watch_has_changed(self));
}

PyDoc_STRVAR(changes_doc,
             "changes($self, /)\n--\n\n"
             "List of the places that differ from their copies, as positions in `places`.");

static PyObject *watch_changes(PyObject *object, PyObject *Py_UNUSED(unused)) {
  const sapwood_byte_watch *self = (const sapwood_byte_watch *)object;
  PyObject *found = PyList_New(0);
  for (Py_ssize_t i = 0; i < self->n_places && found != NULL; i++) {
    if (differs(&self->places[i])) {
      PyObject *position = PyLong_FromSsize_t(i);
      if (position == NULL || PyList_Append(found, position) < 0) {
        Py_CLEAR(found);
      }
      Py_XDECREF(position);
    }
  }
  return found;
}

PyDoc_STRVAR(before_doc, "before($self, place, /)\n--\n\nCopy of the bytes of a place.");

static PyObject *watch_before(PyObject *object, PyObject *argument) {
  const sapwood_byte_watch *self = (const sapwood_byte_watch *)object;
  const Py_ssize_t i = PyLong_AsSsize_t(argument);
  if (i == -1 && PyErr_Occurred()) {
    return NULL;
  }
  if (i < 0 || i >= self->n_places) {
    return PyErr_Format(PyExc_IndexError, "place = %zd: must be a position in places", i);
  }
  return PyBytes_FromStringAndSize(self->places[i].before, (Py_ssize_t)self->places[i].size);
}

PyDoc_STRVAR(accept_doc, "accept($self, /)\n--\n\nCopy all bytes again.");

static PyObject *watch_accept(PyObject *self, PyObject *Py_UNUSED(unused)) {
  accept((sapwood_byte_watch *)self);
  Py_RETURN_NONE;
}

/* ---- type ----------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"changed", watch_changed, METH_NOARGS, changed_doc},
                                {"changes", watch_changes, METH_NOARGS, changes_doc},
                                {"before", watch_before, METH_O, before_doc},
                                {"accept", watch_accept, METH_NOARGS, accept_doc},
                                {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(
    watch_doc,
    "ByteWatch(owner, places)\n--\n\n"
    "Tells whether memory still holds what it did. places: tuple of tuples (address, size)\n"
    "in bytes, in the order of memory, which are believed; owner: keeps that memory alive.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)watch_doc},
                              {Py_tp_new, (void *)watch_new},
                              {Py_tp_dealloc, (void *)watch_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = SAPWOOD_SPEC("ByteWatch", sapwood_byte_watch, Py_TPFLAGS_IMMUTABLETYPE);

int sapwood_add_byte_watch(PyObject *module) {
  return sapwood_add_type(module, &spec, &sapwood_state_of_module(module)->byte_watch_type);
}
