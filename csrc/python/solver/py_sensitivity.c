/* _core.Sensitivity: a sap_sensitivity linearized at a solution, its problem, and the lock that
 * serialises its calls. */
#include "python/parts.h"
#include "python/solver/response.h"

#include <stddef.h>
#include <structmember.h>

#include "python/errors.h"
#include "python/lock.h"
#include "python/solver/calls.h"
#include "python/solver/py_settings.h"

typedef struct sensitivity {
  PyObject_HEAD
  sap_sensitivity *held;
  sapwood_lock lock;
  sapwood_problem *problem;
  sap_parameters parameters;
  PyObject *regions, *distance, *row_distance;
  sap_linear_point point;
} sensitivity;

/* ---- life ----------------------------------------------------------------------------------- */

/* Finds the arrays of regions and distances. Returns 0, or -1 with MemoryError. */
static int find_regions(sensitivity *self) {
  npy_intp contacts = self->problem->problem.n_contacts;
  npy_intp rows = (npy_intp)self->problem->sizes.n_rows;
  self->regions = PyArray_SimpleNew(1, &contacts, NPY_INT8);
  self->distance = PyArray_SimpleNew(1, &contacts, NPY_DOUBLE);
  self->row_distance = PyArray_SimpleNew(1, &rows, NPY_DOUBLE);
  if (self->regions == NULL || self->distance == NULL || self->row_distance == NULL) {
    return -1;
  }
  sap_sensitivity_regions(self->held, PyArray_DATA((PyArrayObject *)self->regions),
                          sapwood_doubles((PyArrayObject *)self->distance),
                          sapwood_doubles((PyArrayObject *)self->row_distance));
  PyArray_CLEARFLAGS((PyArrayObject *)self->regions, NPY_ARRAY_WRITEABLE);
  PyArray_CLEARFLAGS((PyArrayObject *)self->distance, NPY_ARRAY_WRITEABLE);
  PyArray_CLEARFLAGS((PyArrayObject *)self->row_distance, NPY_ARRAY_WRITEABLE);
  return 0;
}

/* Returns 1 if any part of the problem follows from physical parameters. */
static int is_physical(const sapwood_problem *of) {
  int any = of->is_physical;
  for (int32_t g = 0; g < of->problem.n_groups; g++) {
    any |= of->groups.physical[g].parameters.value != NULL;
  }
  return any;
}

/* ---- linearization -------------------------------------------------------------------------- */

typedef struct linearization {
  sensitivity *made;
  sap_settings settings;
  PyArrayObject *v, *scale; /* scale: NULL if the solution has none */
  sap_status status;
  sap_error error;
} linearization;

static int prepare_linearization(void *call, PyObject *self, PyObject *args) {
  linearization *l = call;
  PyTypeObject *type = (PyTypeObject *)self;
  PyObject *problem, *settings_object, *v, *scale;
  sapwood_state *state = sapwood_state_of_type(type);
  if (state == NULL ||
      !PyArg_ParseTuple(args, "OOOO:Sensitivity", &problem, &settings_object, &v, &scale) ||
      sapwood_load_settings(state, &settings_object, &l->settings) < 0) {
    return -1;
  }
  sapwood_problem *of = sapwood_as_problem(state, problem);
  if (of == NULL ||
      (l->v = sapwood_as_vector(v, "v", (npy_intp)of->sizes.nv, SAPWOOD_FINITE)) == NULL ||
      (scale != Py_None &&
       (l->scale = sapwood_as_vector(scale, "core_scale", of->problem.n_contacts,
                                     SAPWOOD_POSITIVE)) == NULL)) {
    return -1;
  }
  l->made = (sensitivity *)type->tp_alloc(type, 0);
  if (l->made == NULL) {
    return -1;
  }
  l->made->problem = (sapwood_problem *)Py_NewRef(problem);
  l->made->parameters = of->parameters;
  l->made->parameters.groups = of->groups.physical;
  return sapwood_lock_make(&l->made->lock, &state->forks);
}

static void run_linearization(void *call) {
  linearization *l = call;
  sensitivity *self = l->made;
  const sapwood_problem *of = self->problem;
  l->status = sap_sensitivity_create(&self->held, &l->settings, NULL, &l->error);
  if (l->status == SAP_OK) {
    l->status = sap_sensitivity_linearize(
        self->held, &of->problem, is_physical(of) ? &self->parameters : NULL, sapwood_doubles(l->v),
        sapwood_optional_doubles(l->scale), &self->point, &l->error);
  }
}

static PyObject *finish_linearization(void *call) {
  linearization *l = call;
  return sapwood_raise(l->status, &l->error) < 0 || find_regions(l->made) < 0 ? NULL
                                                                              : Py_NewRef(l->made);
}

static void clear_linearization(void *call) {
  linearization *l = call;
  Py_CLEAR(l->made);
  Py_CLEAR(l->v);
  Py_CLEAR(l->scale);
}

static const sapwood_call_kind linearization_kind = {sizeof(linearization), 1,
                                                     prepare_linearization, run_linearization,
                                                     finish_linearization,  clear_linearization};

static PyObject *sensitivity_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
    return PyErr_Format(PyExc_TypeError, "Sensitivity takes no keywords");
  }
  return sapwood_call_one(&linearization_kind, (PyObject *)type, args);
}

static void sensitivity_dealloc(PyObject *object) {
  sensitivity *self = (sensitivity *)object;
  if (!sapwood_lock_is_lost(&self->lock)) {
    sap_sensitivity_destroy(self->held);
  }
  sapwood_lock_free(&self->lock);
  Py_XDECREF(self->problem);
  Py_XDECREF(self->regions);
  Py_XDECREF(self->distance);
  Py_XDECREF(self->row_distance);
  sapwood_free_object(object);
}

/* Keeps the linearization: calls change only its workspace. */
static int renew(void *Py_UNUSED(owner)) { return 0; }

/* ---- both directions ------------------------------------------------------------------------ */

/* The common fields of both directions. */
typedef struct derivative {
  sensitivity *of;
  Py_ssize_t m;
  int frozen;
  PyObject *dict; /* dict of the gradient */
  sapwood_response response;
  sapwood_differential differential;
  sap_status status;
  sap_error error;
  double residual; /* largest residual of m */
} derivative;

static void clear_derivative(void *call) {
  derivative *d = call;
  Py_CLEAR(d->of);
  Py_CLEAR(d->dict);
  sapwood_response_clear(&d->response);
  sapwood_differential_clear(&d->differential);
}

/* Keeps a reference to the sensitivity and prepares the call. Returns 0, or -1 with an
 * exception. */
static int begin(derivative *d, PyObject *self) {
  d->of = (sensitivity *)Py_NewRef(self);
  return sapwood_lock_be_ready(&d->of->lock, renew, d->of);
}

static int prepare_vjp(void *call, PyObject *self, PyObject *args) {
  derivative *d = call;
  PyObject *object[SAPWOOD_RESPONSES];
  int matrices;
  if (begin(d, self) < 0 ||
      !PyArg_ParseTuple(args, "nOOOOpp:vjp", &d->m, &object[0], &object[1], &object[2], &object[3],
                        &d->frozen, &matrices) ||
      sapwood_response_read(&d->response, d->of->problem, d->m, object) < 0) {
    return -1;
  }
  d->dict = sapwood_differential_make(&d->differential, d->of->problem, d->m, matrices);
  return d->dict == NULL ? -1 : 0;
}

static void run_vjp(void *call) {
  derivative *d = call;
  sapwood_lock_take(&d->of->lock);
  for (Py_ssize_t i = 0; i < d->m && d->status == SAP_OK; i++) {
    d->status = sapwood_pull(d->of->held, &d->differential, &d->response, i, d->frozen,
                             &d->residual, &d->error);
  }
  sapwood_lock_leave(&d->of->lock);
}

static PyObject *finish_vjp(void *call) {
  const derivative *d = call;
  return sapwood_raise(d->status, &d->error) < 0 ? NULL
                                                 : Py_BuildValue("(Od)", d->dict, d->residual);
}

static const sapwood_call_kind vjp_kind = {sizeof(derivative), 0, prepare_vjp, run_vjp, finish_vjp,
                                           clear_derivative};

PyDoc_STRVAR(vjp_doc,
             "vjp($self, m, v_bar, gamma_bar, group_gamma_bar, spin_gamma_bar, frozen, matrices, "
             "/)\n--\n\n"
             "Dict of the gradients of m losses, from arrays (m, n) or None, and the residual; "
             "without matrices no A and J.");

static PyObject *sensitivity_vjp(PyObject *self, PyObject *args) {
  return sapwood_call_one(&vjp_kind, self, args);
}

static int prepare_jvp(void *call, PyObject *self, PyObject *args) {
  derivative *d = call;
  PyObject *dict;
  return begin(d, self) < 0 ||
                 !PyArg_ParseTuple(args, "nO!p:jvp", &d->m, &PyDict_Type, &dict, &d->frozen) ||
                 sapwood_differential_read(&d->differential, d->of->problem, d->m, dict,
                                           SAPWOOD_FINITE, 1) < 0 ||
                 sapwood_response_make(&d->response, d->of->problem, d->m) < 0
             ? -1
             : 0;
}

static void run_jvp(void *call) {
  derivative *d = call;
  sapwood_lock_take(&d->of->lock);
  for (Py_ssize_t i = 0; i < d->m && d->status == SAP_OK; i++) {
    d->status = sapwood_push(d->of->held, &d->differential, &d->response, i, d->frozen,
                             &d->residual, &d->error);
  }
  sapwood_lock_leave(&d->of->lock);
}

static PyObject *finish_jvp(void *call) {
  const derivative *d = call;
  PyArrayObject *const *of = d->response.array;
  return sapwood_raise(d->status, &d->error) < 0
             ? NULL
             : Py_BuildValue("(OOOOd)", of[0], of[1], of[2], of[3], d->residual);
}

static const sapwood_call_kind jvp_kind = {sizeof(derivative), 0, prepare_jvp, run_jvp, finish_jvp,
                                           clear_derivative};

PyDoc_STRVAR(jvp_doc,
             "jvp($self, m, change, frozen, /)\n--\n\n"
             "Changes (m, n) of v, gamma, group_gamma and spin_gamma, and the residual.");

static PyObject *sensitivity_jvp(PyObject *self, PyObject *args) {
  return sapwood_call_one(&jvp_kind, self, args);
}

/* ---- type ----------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"vjp", sensitivity_vjp, METH_VARARGS, vjp_doc},
                                {"jvp", sensitivity_jvp, METH_VARARGS, jvp_doc},
                                {NULL, NULL, 0, NULL}};

#define MEMBER(name, kind, place, text) {#name, kind, offsetof(sensitivity, place), READONLY, text}

static PyMemberDef members[] = {
    MEMBER(regions, T_OBJECT_EX, regions, "region of each contact (n_contacts) int8"),
    MEMBER(distance, T_OBJECT_EX, distance, "of each contact to its boundary, m/s"),
    MEMBER(row_distance, T_OBJECT_EX, row_distance, "of the rows of all groups, m/s or rad/s"),
    MEMBER(momentum_error, T_DOUBLE, point.momentum_error, "e_m (24) at v"),
    MEMBER(tree, T_INT, point.tree, "where H is singular to round-off, else -1"),
    {NULL, 0, 0, 0, NULL}};

PyDoc_STRVAR(sensitivity_doc,
             "Sensitivity(problem, settings, v, core_scale)\n--\n\n"
             "A problem linearized at its solution. See sapwood.Sensitivity.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)sensitivity_doc},
                              {Py_tp_new, (void *)sensitivity_new},
                              {Py_tp_dealloc, (void *)sensitivity_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {0, NULL}};

static PyType_Spec spec =
    SAPWOOD_SPEC("Sensitivity", sensitivity, Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE);

/* ---- many ----------------------------------------------------------------------------------- */

static PyObject *call_list(PyObject *module, PyObject *args, const sapwood_call_kind *kind,
                           const char *name) {
  sapwood_state *state = sapwood_state_of_module(module);
  PyObject *list;
  int n_threads;
  if (!PyArg_ParseTuple(args, "O!i", &PyList_Type, &list, &n_threads)) {
    return NULL;
  }
  return sapwood_call_many(state, kind, state->sensitivity_type, name, list, n_threads);
}

PyDoc_STRVAR(linearize_batch_doc,
             "linearize_batch(calls, threads, /)\n--\n\n"
             "List of Sensitivities, from tuples of their type and its arguments.");

static PyObject *linearize_batch(PyObject *module, PyObject *args) {
  return call_list(module, args, &linearization_kind, "problems");
}

PyDoc_STRVAR(vjp_batch_doc,
             "vjp_batch(calls, threads, /)\n--\n\n"
             "List of what vjp returns, from tuples of a Sensitivity and its arguments.");

static PyObject *vjp_batch(PyObject *module, PyObject *args) {
  return call_list(module, args, &vjp_kind, "solutions");
}

PyDoc_STRVAR(jvp_batch_doc,
             "jvp_batch(calls, threads, /)\n--\n\n"
             "List of what jvp returns, from tuples of a Sensitivity and its arguments.");

static PyObject *jvp_batch(PyObject *module, PyObject *args) {
  return call_list(module, args, &jvp_kind, "solutions");
}

static PyMethodDef functions[] = {
    {"linearize_batch", linearize_batch, METH_VARARGS, linearize_batch_doc},
    {"vjp_batch", vjp_batch, METH_VARARGS, vjp_batch_doc},
    {"jvp_batch", jvp_batch, METH_VARARGS, jvp_batch_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_sensitivity(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  const int failed = sapwood_add_type(module, &spec, &state->sensitivity_type) < 0 ||
                     PyModule_AddFunctions(module, functions) < 0;
  return failed ? -1 : 0;
}
