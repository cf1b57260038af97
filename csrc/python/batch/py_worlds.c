/* The type _core.WorldBatch; see world_batch.h. */
#include "python/parts.h"

#include <string.h>

#include "mujoco/batch/batch_object.h"
#include "python/errors.h"
#include "python/batch/batch_call.h"
#include "python/batch/worker_arrays.h"
#include "python/batch/world_batch.h"
#include "python/stepper/py_memory.h"
#include "python/stepper/ready.h"

/* ---- life ----------------------------------------------------------------------------------- */

/* Reads one worker, a tuple (ModelStepper, MjModel, MjData, FrictionMemory or None). */
static int read_worker(const sapwood_world_batch *self, PyObject *api, PyObject *object,
                       sap_batch_worker *worker) {
  PyObject *stepper, *model, *data, *memory;
  sapwood_place place;
  if (!PyTuple_Check(object)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "workers must be a list of tuples");
  }
  if (!PyArg_ParseTuple(object, "O!OOO:worker", self->state->model_stepper_type, &stepper, &model,
                        &data, &memory)) {
    return -1;
  }
  sapwood_stepper *owner = (sapwood_stepper *)stepper;
  if (sapwood_stepper_be_ready(owner) < 0 ||
      sapwood_place_find(&place, owner, api, model, data) < 0 ||
      sapwood_memory_of(owner, memory, &worker->memory) < 0) {
    return -1;
  }
  worker->stepper = owner->core;
  worker->data = place.data;
  /* the caller hands out its model */
  memcpy(&worker->model, &place.model, sizeof worker->model);
  return 0;
}

static int open_batch(sapwood_world_batch *self, PyObject *api, PyObject *workers) {
  enum { MOST = SAP_MOST_THREADS };
  sap_batch_worker read[MOST] = {0};
  const Py_ssize_t n = PyList_GET_SIZE(workers);
  if (n < 1 || n > MOST) {
    return SAPWOOD_FAIL(PyExc_ValueError, "workers has %zd entries, expected 1 to %d", n, MOST);
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    if (read_worker(self, api, PyList_GET_ITEM(workers, i), &read[i]) < 0) {
      return -1;
    }
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    self->steppers[i] = read[i].stepper;
  }
  sap_error error = {0};
  self->n_workers = (int32_t)n;
  self->n_bodies = read[0].stepper->forest.n_bodies;
  return sapwood_raise(
      sap_batch_open_checked(&self->core, self->api, read, self->n_workers, &error), &error);
}

static PyObject *batch_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"api", "workers", NULL};
  PyObject *api, *workers;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO!:WorldBatch", names, &api, &PyList_Type,
                                   &workers)) {
    return NULL;
  }
  const sapwood_engine *engine = sapwood_engine_of(api);
  sapwood_world_batch *self =
      engine == NULL ? NULL : (sapwood_world_batch *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->state = sapwood_state_of_type(type);
  self->api = &engine->api;
  self->n_worlds = -1;
  self->kept = Py_BuildValue("(ON)", api, PyList_AsTuple(workers));
  if (self->state == NULL || self->kept == NULL || open_batch(self, api, workers) < 0) {
    Py_CLEAR(self);
  }
  return (PyObject *)self;
}

static void batch_dealloc(PyObject *object) {
  sapwood_world_batch *self = (sapwood_world_batch *)object;
  sap_batch_close(self->core);
  Py_XDECREF(self->kept);
  Py_XDECREF(self->fields);
  PyMem_Free(self->places);
  PyMem_Free(self->of);
  sapwood_free_object(object);
}

/* ---- bound fields --------------------------------------------------------------------------- */

static const char *const ways[] = {"in", "out", "both", "float", NULL};

/* Reads a field, a tuple (arrays of the workers, rows, way, is_kept). */
static int read_field(sapwood_world_batch *self, PyObject *object, void **places, npy_intp n_worlds,
                      sap_batch_field *field) {
  PyObject *arrays, *rows, *way;
  int typenum = NPY_VOID;
  if (!PyTuple_Check(object) ||
      !PyArg_ParseTuple(object, "OOOp:field", &arrays, &rows, &way, &field->is_kept)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "a field must be a tuple (arrays, rows, way, is_kept)");
  }
  const int choice = sapwood_as_choice(way, "way", ways);
  if (choice < 0 ||
      sapwood_world_batch_places(self, arrays, "arrays", places, &field->bytes, &typenum) < 0) {
    return -1;
  }
  const int to_float = choice == SAP_BATCH_FLOAT;
  PyArrayObject *array = PyArray_Check(rows) ? (PyArrayObject *)rows : NULL;
  if (array == NULL || PyArray_NDIM(array) != 2 ||
      PyArray_TYPE(array) != (to_float ? NPY_FLOAT : typenum) || !PyArray_ISBEHAVED(array) ||
      (to_float && typenum != NPY_DOUBLE)) {
    return SAPWOOD_FAIL(
        PyExc_TypeError,
        "rows must be a writeable array of two dimensions with the type of the field");
  }
  const size_t item = (size_t)PyArray_ITEMSIZE(array);
  const size_t columns = (size_t)PyArray_DIM(array, 1);
  const size_t expected = field->bytes / (to_float ? sizeof(double) : item);
  if (PyArray_DIM(array, 0) != n_worlds || columns != expected ||
      (columns > 1 && PyArray_STRIDE(array, 1) != (npy_intp)item)) {
    return SAPWOOD_FAIL(PyExc_ValueError,
                        "rows must have shape (%zd, %zu), contiguous along the last "
                        "axis",
                        (Py_ssize_t)n_worlds, expected);
  }
  field->places = places;
  field->rows = PyArray_DATA(array);
  field->stride = PyArray_STRIDE(array, 0);
  field->way = (sap_batch_way)choice;
  return 0;
}

PyDoc_STRVAR(
    bind_doc,
    "bind($self, n_worlds, fields, /)\n--\n\n"
    "Bind fields in place of those before. A field is a tuple: the arrays of the workers,\n"
    "rows (n_worlds, n), 'in', 'out', 'both' or 'float', and whether lean steps keep it, as in\n"
    "sapwood/batch.h.");

static PyObject *batch_bind(PyObject *object, PyObject *args) {
  sapwood_world_batch *self = (sapwood_world_batch *)object;
  Py_ssize_t n_worlds;
  PyObject *list;
  if (!PyArg_ParseTuple(args, "nO!:bind", &n_worlds, &PyTuple_Type, &list)) {
    return NULL;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(list);
  void **places = PyMem_Calloc((size_t)n + 1, sizeof *places * (size_t)self->n_workers);
  sap_batch_field *fields = PyMem_Calloc((size_t)n + 1, sizeof *fields);
  sap_status status = SAP_OUT_OF_MEMORY;
  if (places != NULL && fields != NULL) {
    status = SAP_OK;
    for (Py_ssize_t i = 0; i < n && status == SAP_OK; i++) {
      if (read_field(self, PyTuple_GET_ITEM(list, i), places + i * self->n_workers, n_worlds,
                     &fields[i]) < 0) {
        status = SAP_INVALID_ARGUMENT;
      }
    }
  }
  if (status == SAP_OK) {
    status = sap_batch_bind(self->core, fields, n);
  }
  if (status != SAP_OK) {
    PyMem_Free(places);
    PyMem_Free(fields);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  PyMem_Free(self->places);
  PyMem_Free(self->of);
  self->places = places;
  self->of = fields;
  self->n_worlds = n > 0 ? n_worlds : -1;
  Py_XSETREF(self->fields, Py_NewRef(list));
  Py_RETURN_NONE;
}

PyDoc_STRVAR(accept_doc,
             "accept_options($self)\n--\n\n"
             "Take the options of the models as they are now for being in order.");

static PyObject *batch_accept(PyObject *object, PyObject *Py_UNUSED(unused)) {
  sap_batch_take_options(((sapwood_world_batch *)object)->core);
  Py_RETURN_NONE;
}

/* ---- type ----------------------------------------------------------------------------------- */

PyDoc_STRVAR(memory_size_doc,
             "memory_size($self, n, /)\n--\n\n"
             "Number of values behind a state that remember n contacts of lagged friction.");

static PyObject *batch_memory_size(PyObject *object, PyObject *n) {
  const long long count = PyLong_AsLongLong(n);
  if (PyErr_Occurred()) {
    return NULL;
  }
  return PyLong_FromLongLong(
      sap_batch_memory_size(((sapwood_world_batch *)object)->core, (int64_t)count));
}

static PyMethodDef methods[] = {{"bind", batch_bind, METH_VARARGS, bind_doc},
                                {"accept_options", batch_accept, METH_NOARGS, accept_doc},
                                {"memory_size", batch_memory_size, METH_O, memory_size_doc},
                                {"run", SAPWOOD_FAST(sapwood_world_batch_run),
                                 METH_VARARGS | METH_KEYWORDS, sapwood_world_batch_run_doc},
                                {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(batch_doc,
             "WorldBatch(api, workers)\n--\n\n"
             "Many worlds on a thread per worker, a tuple (ModelStepper, MjModel, MjData,\n"
             "FrictionMemory or None). See sapwood.mujoco.Batch.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)batch_doc},
                              {Py_tp_new, (void *)batch_new},
                              {Py_tp_dealloc, (void *)batch_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = SAPWOOD_SPEC("WorldBatch", sapwood_world_batch, Py_TPFLAGS_IMMUTABLETYPE);

int sapwood_add_world_batch(PyObject *module) {
  return sapwood_add_type(module, &spec, &sapwood_state_of_module(module)->world_batch_type);
}
