/* _core.ContactReader: forces on chosen geoms, of the last step of a ModelStepper or of the contact
 * logs of many worlds. */
#include "python/parts.h"
#include "python/mujoco/py_recording.h"
#include "python/stepper/ready.h"
#include "step/contact_forces.h"

/* ---- life ----------------------------------------------------------------------------------- */

enum { COLUMN, MEETS, ACTING, FORCE, AIR_TIME, SINCE, N_ARRAYS };

typedef struct sapwood_contact_reader {
  PyObject_HEAD
  PyObject *source; /* ModelStepper, or tuple (n_worlds) of ContactLog */
  int is_stepper;
  npy_intp n_worlds;
  PyArrayObject *arrays[N_ARRAYS]; /* (n_geoms) twice, then (n_worlds, n) with 3 of each force */
  struct sap_contact_forces forces;
  sapwood_state *state;
} sapwood_contact_reader;

static int take_source(sapwood_contact_reader *self, PyObject *source) {
  self->is_stepper = PyObject_TypeCheck(source, self->state->model_stepper_type);
  self->source = Py_NewRef(source);
  self->n_worlds = 1;
  if (self->is_stepper) {
    return 0;
  }
  if (!PyTuple_Check(source)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "source must be a ModelStepper or a tuple of ContactLog");
  }
  self->n_worlds = PyTuple_GET_SIZE(source);
  int known = 1;
  for (Py_ssize_t i = 0; i < self->n_worlds && known; i++) {
    known = sapwood_contact_log_of(PyTuple_GET_ITEM(source, i), self->state) != NULL;
  }
  return known ? 0 : -1;
}

static int take_arrays(sapwood_contact_reader *self, PyObject *const *objects) {
  static const char *const names[N_ARRAYS] = {"column", "meets",    "acting",
                                              "force",  "air_time", "since"};
  static const int types[N_ARRAYS] = {NPY_INT32,  NPY_BOOL,   NPY_BOOL,
                                      NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};
  npy_intp n_geoms = -1, n = -1;
  for (int i = 0; i < N_ARRAYS; i++) {
    const int of_geoms = i <= MEETS, flags = of_geoms ? 0 : NPY_ARRAY_WRITEABLE;
    const npy_intp shape[3] = {of_geoms ? n_geoms : self->n_worlds, n, 3};
    const int ndim = of_geoms ? 1 : i == FORCE ? 3 : 2;
    self->arrays[i] = sapwood_in_place(objects[i], names[i], types[i], ndim, shape,
                                       NPY_ARRAY_C_CONTIGUOUS | flags);
    if (self->arrays[i] == NULL) {
      return -1;
    }
    n_geoms = i == COLUMN ? PyArray_DIM(self->arrays[i], 0) : n_geoms;
    n = i == ACTING ? PyArray_DIM(self->arrays[i], 1) : n;
  }
  self->forces.n = (int32_t)n;
  self->forces.n_geoms = (int32_t)n_geoms;
  self->forces.column = sapwood_int32s(self->arrays[COLUMN]);
  self->forces.meets = PyArray_DATA(self->arrays[MEETS]);
  for (npy_intp g = 0; g < n_geoms; g++) {
    if (self->forces.column[g] < -1 || self->forces.column[g] >= n) {
      return sapwood_value_error("column", g, self->forces.column[g],
                                 "must be a place in the results, or -1");
    }
  }
  return 0;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"source", "column",   "meets", "acting",
                          "force",  "air_time", "since", NULL};
  PyObject *source, *arrays[N_ARRAYS];
  sapwood_state *state = sapwood_state_of_type(type);
  if (state == NULL ||
      !PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOOO:ContactReader", names, &source,
                                   &arrays[COLUMN], &arrays[MEETS], &arrays[ACTING], &arrays[FORCE],
                                   &arrays[AIR_TIME], &arrays[SINCE])) {
    return NULL;
  }
  sapwood_contact_reader *self = (sapwood_contact_reader *)type->tp_alloc(type, 0);
  if (self != NULL) {
    self->state = state;
    if (take_source(self, source) < 0 || take_arrays(self, arrays) < 0) {
      Py_CLEAR(self);
    }
  }
  return (PyObject *)self;
}

static void reader_dealloc(PyObject *object) {
  sapwood_contact_reader *self = (sapwood_contact_reader *)object;
  Py_XDECREF(self->source);
  sapwood_release(self->arrays, N_ARRAYS);
  sapwood_free_object(object);
}

/* ---- reads ---------------------------------------------------------------------------------- */

/* Returns the results of one world. */
static struct sap_contact_forces forces_of(const sapwood_contact_reader *self, npy_intp world) {
  struct sap_contact_forces forces = self->forces;
  const npy_intp first = world * forces.n;
  forces.acting = (uint8_t *)PyArray_DATA(self->arrays[ACTING]) + first;
  forces.force = sapwood_doubles(self->arrays[FORCE]) + 3 * first;
  forces.air_time = sapwood_doubles(self->arrays[AIR_TIME]) + first;
  forces.since = sapwood_doubles(self->arrays[SINCE]) + first;
  return forces;
}

static int read_stepper(const sapwood_contact_reader *self) {
  sapwood_stepper *stepper = (sapwood_stepper *)self->source;
  const struct sap_contact_forces forces = forces_of(self, 0);
  if (sapwood_stepper_be_ready(stepper) < 0) {
    return -1;
  }
  SAPWOOD_BEGIN_LOCKED(&stepper->lock)
  sap_contact_forces_clear(&forces);
  sap_stepper_add_contact_forces(stepper->core, &forces);
  sap_contact_forces_end(&forces, stepper->core->end_time);
  SAPWOOD_END_LOCKED(&stepper->lock)
  return 0;
}

static int read_logs(const sapwood_contact_reader *self, PyObject *times) {
  PyArrayObject *array = sapwood_in_place(times, "time", NPY_DOUBLE, 1, &self->n_worlds, 0);
  if (array == NULL) {
    return -1;
  }
  for (npy_intp w = 0; w < self->n_worlds; w++) {
    const struct sap_contact_log *log =
        sapwood_contact_log_of(PyTuple_GET_ITEM(self->source, w), self->state);
    const struct sap_contact_forces forces = forces_of(self, w);
    sap_contact_forces_clear(&forces);
    for (int64_t c = 0; c < log->n; c++) {
      sap_contact_forces_add(&forces, log->records + c);
    }
    sap_contact_forces_end(&forces, *(const double *)PyArray_GETPTR1(array, w));
  }
  Py_DECREF(array);
  return 0;
}

PyDoc_STRVAR(read_doc,
             "read($self, time=None, /)\n--\n\n"
             "Read the contacts of the last step. time (n_worlds): of logs, s; a ModelStepper has\n"
             "its own.");

static PyObject *reader_read(PyObject *object, PyObject *const *args, Py_ssize_t n) {
  const sapwood_contact_reader *self = (const sapwood_contact_reader *)object;
  if (n != !self->is_stepper) {
    return PyErr_Format(PyExc_TypeError, "read() takes the times of worlds, and none of a stepper");
  }
  if ((self->is_stepper ? read_stepper(self) : read_logs(self, args[0])) < 0) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* ---- type ----------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"read", SAPWOOD_FAST(reader_read), METH_FASTCALL, read_doc},
                                {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(reader_doc,
             "ContactReader(source, column, meets, acting, force, air_time, since)\n--\n\n"
             "Forces on chosen geoms, written to arrays in place. source: a ModelStepper, or a\n"
             "tuple (n_worlds) of ContactLog. column, meets (n_geoms): place of a chosen geom or\n"
             "-1, and whether contacts with a geom count. acting, air_time, since (n_worlds, n)\n"
             "and force (n_worlds, n, 3) are the results; since is NaN before the first read.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)reader_doc},
                              {Py_tp_new, (void *)reader_new},
                              {Py_tp_dealloc, (void *)reader_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec =
    SAPWOOD_SPEC("ContactReader", sapwood_contact_reader, Py_TPFLAGS_IMMUTABLETYPE);

int sapwood_add_contact_reader(PyObject *module) { return sapwood_add_type(module, &spec, NULL); }
