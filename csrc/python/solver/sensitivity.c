/* _core.Sensitivity: a sap_sensitivity linearized at a solution, the problem that it is of, and the
 * lock that serialises its calls. */
#include "python/solver/differential.h"

#include <stddef.h>
#include <structmember.h>

#include "python/errors.h"
#include "python/lock.h"
#include "python/solver/settings.h"
#include "python/solver/solver.h"
#include "sapwood/sensitivity.h"

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

/* arrays of regions and distances; 0, or -1 with MemoryError */
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

/* does anything of the problem follow from physical parameters? */
static int is_physical(const sapwood_problem *of) {
  int any = of->is_physical;
  for (int32_t g = 0; g < of->problem.n_groups; g++) {
    any |= of->groups.physical[g].parameters.value != NULL;
  }
  return any;
}

/* linearizes at v; 0, or -1 with an exception */
static int linearize(sensitivity *self, const sap_settings *settings, PyArrayObject *v,
                     PyArrayObject *scale) {
  const sapwood_problem *of = self->problem;
  self->parameters = of->parameters;
  self->parameters.groups = of->groups.physical;
  sap_error error = {0};
  sap_status status;
  Py_BEGIN_ALLOW_THREADS
  status = sap_sensitivity_create(&self->held, settings, NULL, &error);
  if (status == SAP_OK) {
    status = sap_sensitivity_linearize(
        self->held, &of->problem, is_physical(of) ? &self->parameters : NULL, sapwood_doubles(v),
        scale == NULL ? NULL : sapwood_doubles(scale), &self->point, &error);
  }
  Py_END_ALLOW_THREADS
  return sapwood_raise(status, &error);
}

static PyObject *sensitivity_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"problem", "settings", "v", "core_scale", NULL};
  PyObject *problem, *settings_object, *v_object, *scale_object;
  sap_settings settings;
  sapwood_state *state = sapwood_state_of_type(type);
  if (state == NULL ||
      !PyArg_ParseTupleAndKeywords(args, keywords, "OOOO:Sensitivity", names, &problem,
                                   &settings_object, &v_object, &scale_object) ||
      sapwood_recall_settings(state, &settings_object, &settings) < 0) {
    return NULL;
  }
  sapwood_problem *of = sapwood_as_problem(state, problem);
  if (of == NULL) {
    return NULL;
  }
  PyArrayObject *scale = NULL;
  sensitivity *self = NULL;
  PyArrayObject *v = sapwood_as_vector(v_object, "v", (npy_intp)of->sizes.nv, SAPWOOD_FINITE);
  if (v == NULL || (scale_object != Py_None &&
                    (scale = sapwood_as_vector(scale_object, "core_scale", of->problem.n_contacts,
                                               SAPWOOD_POSITIVE)) == NULL)) {
    goto done;
  }
  self = (sensitivity *)type->tp_alloc(type, 0);
  if (self == NULL) {
    goto done;
  }
  self->problem = (sapwood_problem *)Py_NewRef(problem);
  if (sapwood_lock_make(&self->lock, &state->forks) < 0 ||
      linearize(self, &settings, v, scale) < 0 || find_regions(self) < 0) {
    Py_CLEAR(self);
  }
done:
  Py_XDECREF(v);
  Py_XDECREF(scale);
  return (PyObject *)self;
}

static void sensitivity_dealloc(PyObject *object) {
  sensitivity *self = (sensitivity *)object;
  PyTypeObject *type = Py_TYPE(object);
  if (!sapwood_lock_is_lost(&self->lock)) {
    sap_sensitivity_destroy(self->held);
  }
  sapwood_lock_free(&self->lock);
  Py_XDECREF(self->problem);
  Py_XDECREF(self->regions);
  Py_XDECREF(self->distance);
  Py_XDECREF(self->row_distance);
  type->tp_free(object);
  Py_DECREF(type);
}

/* In a process made while another thread was at work: the linearization stands, what was worked on is
 * room. 0, or -1 with an exception. */
static int be_ready(sensitivity *self) {
  return sapwood_lock_is_lost(&self->lock) ? sapwood_lock_make(&self->lock, self->lock.forks)
                                           : sapwood_lock_check(&self->lock);
}

/* ---- numbers in the shape of a solution, m times --------------------------------------------- */

enum { N_RESPONSES = 4 };
static const char *const response_names[N_RESPONSES] = {"v", "gamma", "group_gamma", "spin_gamma"};

typedef struct response {
  PyArrayObject *array[N_RESPONSES]; /* (m, n) or NULL */
  npy_intp n[N_RESPONSES];
} response;

static void measure(const sensitivity *self, response *r) {
  const sap_problem *p = &self->problem->problem;
  *r = (response){.n = {(npy_intp)self->problem->sizes.nv, 3 * (npy_intp)p->n_contacts,
                        (npy_intp)self->problem->sizes.n_rows,
                        p->spin == NULL ? 0 : 3 * (npy_intp)p->spin->n}};
}

static sap_response point_at(const response *r, npy_intp i) {
  double *at[N_RESPONSES];
  for (int k = 0; k < N_RESPONSES; k++) {
    at[k] = r->array[k] == NULL ? NULL : sapwood_doubles(r->array[k]) + i * r->n[k];
  }
  return (sap_response){at[0], at[1], at[2], at[3]};
}

static void clear_response(response *r) {
  for (int k = 0; k < N_RESPONSES; k++) {
    Py_CLEAR(r->array[k]);
  }
}

/* ---- both directions ------------------------------------------------------------------------ */

static sap_coupling worse(sap_coupling a, sap_coupling b) {
  return (sap_coupling){a.residual > b.residual ? a.residual : b.residual, a.products + b.products};
}

PyDoc_STRVAR(vjp_doc,
             "vjp($self, m, v_bar, gamma_bar, group_gamma_bar, spin_gamma_bar, frozen, matrices, "
             "/)\n--\n\n"
             "Dict of the gradients of m losses, from arrays (m, n) or None, and the residual; "
             "without matrices no A and J.");

static PyObject *sensitivity_vjp(sensitivity *self, PyObject *args) {
  PyObject *object[N_RESPONSES], *dict = NULL, *result = NULL;
  Py_ssize_t m;
  int frozen, matrices;
  response bar;
  sapwood_differential gradient = {.n_slots = 0};
  measure(self, &bar);
  if (!PyArg_ParseTuple(args, "nOOOOpp:vjp", &m, &object[0], &object[1], &object[2], &object[3],
                        &frozen, &matrices) ||
      be_ready(self) < 0) {
    return NULL;
  }
  for (int k = 0; k < N_RESPONSES; k++) {
    const npy_intp shape[2] = {m, bar.n[k]};
    if (object[k] != Py_None &&
        (bar.array[k] =
             sapwood_as_float64(object[k], response_names[k], 2, shape, SAPWOOD_FINITE)) == NULL) {
      goto done;
    }
  }
  dict = sapwood_differential_make(&gradient, self->problem, m, matrices);
  if (dict == NULL) {
    goto done;
  }
  sap_error error = {0};
  sap_status status = SAP_OK;
  sap_coupling worst = {0, 0};
  Py_BEGIN_ALLOW_THREADS
  sapwood_lock_take(&self->lock);
  for (Py_ssize_t i = 0; i < m && status == SAP_OK; i++) {
    const sap_response one = point_at(&bar, i);
    sap_coupling coupling;
    sapwood_differential_point(&gradient, i);
    status = sap_sensitivity_vjp(self->held, &one, frozen, &gradient.at, &coupling, &error);
    if (status == SAP_OK) {
      *gradient.dt = gradient.at.dt;
      *gradient.sigma = gradient.at.sigma;
      worst = worse(worst, coupling);
    }
  }
  sapwood_lock_leave(&self->lock);
  Py_END_ALLOW_THREADS
  if (sapwood_raise(status, &error) == 0) {
    result = Py_BuildValue("(Od)", dict, worst.residual);
  }
done:
  clear_response(&bar);
  sapwood_differential_clear(&gradient);
  Py_XDECREF(dict);
  return result;
}

PyDoc_STRVAR(jvp_doc,
             "jvp($self, m, change, frozen, /)\n--\n\n"
             "Changes (m, n) of v, gamma, group_gamma and spin_gamma, and the residual.");

static PyObject *sensitivity_jvp(sensitivity *self, PyObject *args) {
  PyObject *dict, *result = NULL;
  Py_ssize_t m;
  int frozen;
  response to;
  sapwood_differential change = {.n_slots = 0};
  measure(self, &to);
  if (!PyArg_ParseTuple(args, "nO!p:jvp", &m, &PyDict_Type, &dict, &frozen) || be_ready(self) < 0) {
    return NULL;
  }
  if (sapwood_differential_read(&change, self->problem, m, dict) < 0) {
    goto done;
  }
  for (int k = 0; k < N_RESPONSES; k++) {
    npy_intp shape[2] = {m, to.n[k]};
    to.array[k] = (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    if (to.array[k] == NULL) {
      goto done;
    }
  }
  sap_error error = {0};
  sap_status status = SAP_OK;
  sap_coupling worst = {0, 0};
  Py_BEGIN_ALLOW_THREADS
  sapwood_lock_take(&self->lock);
  for (Py_ssize_t i = 0; i < m && status == SAP_OK; i++) {
    const sap_response one = point_at(&to, i);
    sap_coupling coupling;
    sapwood_differential_point(&change, i);
    change.at.dt = change.dt == NULL ? 0 : *change.dt;
    change.at.sigma = change.sigma == NULL ? 0 : *change.sigma;
    status = sap_sensitivity_jvp(self->held, &change.at, frozen, &one, &coupling, &error);
    if (status == SAP_OK) {
      worst = worse(worst, coupling);
    }
  }
  sapwood_lock_leave(&self->lock);
  Py_END_ALLOW_THREADS
  if (sapwood_raise(status, &error) == 0) {
    result = Py_BuildValue("(OOOOd)", to.array[0], to.array[1], to.array[2], to.array[3],
                           worst.residual);
  }
done:
  clear_response(&to);
  sapwood_differential_clear(&change);
  return result;
}

/* ---- type ----------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"vjp", (PyCFunction)sensitivity_vjp, METH_VARARGS, vjp_doc},
                                {"jvp", (PyCFunction)sensitivity_jvp, METH_VARARGS, jvp_doc},
                                {NULL, NULL, 0, NULL}};

#define MEMBER(name, kind, place, text) {#name, kind, offsetof(sensitivity, place), READONLY, text}

static PyMemberDef members[] = {
    MEMBER(regions, T_OBJECT_EX, regions, "region of each contact (n_contacts) int8"),
    MEMBER(distance, T_OBJECT_EX, distance, "of each contact to its boundary, m/s"),
    MEMBER(row_distance, T_OBJECT_EX, row_distance, "of the rows of all groups, m/s or rad/s"),
    MEMBER(momentum_error, T_DOUBLE, point.momentum_error, "e_m (24) at v"),
    MEMBER(tree, T_INT, point.tree, "where H is singular to round-off, else -1"),
    MEMBER(n_coupled, T_INT, point.n_coupled, "contacts whose friction follows gamma_n and slides"),
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

static PyType_Spec spec = {
    .name = "sapwood._core.Sensitivity",
    .basicsize = sizeof(sensitivity),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int sapwood_add_sensitivity(PyObject *module) {
  PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
  const int failed = type == NULL || PyModule_AddType(module, type) < 0;
  Py_XDECREF(type);
  return failed ? -1 : 0;
}
