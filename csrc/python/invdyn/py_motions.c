/* _core.Mechanism: Jacobians of bodies and contacts, and the mass matrix, from arrays of an
 * engine. */
#include <string.h>

#include "invdyn/tasks/motions.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/invdyn/py_invdyn.h"

enum { LAST, ROOT, PARENT, COUNT, BEGIN, COLUMN, N_CONSTANTS };

typedef struct mechanism {
  PyObject_HEAD
  PyArrayObject *constant[N_CONSTANTS];
} mechanism;

/* ---- life ----------------------------------------------------------------------------------- */

static npy_intp length_of(const mechanism *self, int which) {
  return PyArray_DIM(self->constant[which], 0);
}

/* Checks that entries are >= least and below a length. */
static int check_range(PyArrayObject *array, const char *name, int32_t least, npy_intp end) {
  const int32_t *x = sapwood_int32s(array);
  for (npy_intp i = 0; i < PyArray_DIM(array, 0); i++) {
    if (x[i] < least || x[i] >= end) {
      return sapwood_value_error(name, i, x[i], "is out of range");
    }
  }
  return 0;
}

/* Checks that parents come before, and that rows of M lie within it. */
static int check(const mechanism *self) {
  const npy_intp nv = length_of(self, PARENT), nM = length_of(self, COLUMN);
  const npy_intp n_bodies = length_of(self, LAST);
  if (check_range(self->constant[LAST], "last_dof", -1, nv) < 0 ||
      check_range(self->constant[ROOT], "root", 0, n_bodies) < 0 ||
      check_range(self->constant[COLUMN], "M_colind", 0, nv) < 0) {
    return -1;
  }
  const int32_t *parent = sapwood_int32s(self->constant[PARENT]);
  const int32_t *count = sapwood_int32s(self->constant[COUNT]);
  const int32_t *begin = sapwood_int32s(self->constant[BEGIN]);
  for (npy_intp i = 0; i < nv; i++) {
    if (parent[i] < -1 || parent[i] >= i) {
      return sapwood_value_error("dof_parent", i, parent[i], "must be -1 or an earlier velocity");
    }
    if (begin[i] < 0 || count[i] < 0 || begin[i] > nM - count[i]) {
      return sapwood_value_error("M_rowadr", i, begin[i], "must be the begin of a row of M");
    }
  }
  return 0;
}

static PyObject *mechanism_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static const char *const names[N_CONSTANTS] = {"last_dof", "root",     "dof_parent",
                                                 "M_rownnz", "M_rowadr", "M_colind"};
  PyObject *given[N_CONSTANTS];
  if (sapwood_refuse_keywords(keywords, "Mechanism") < 0 ||
      !PyArg_ParseTuple(args, "OOOOOO:Mechanism", &given[LAST], &given[ROOT], &given[PARENT],
                        &given[COUNT], &given[BEGIN], &given[COLUMN])) {
    return NULL;
  }
  mechanism *self = (mechanism *)type->tp_alloc(type, 0);
  npy_intp lengths[N_CONSTANTS] = {-1, -1, -1, -1, -1, -1};
  for (int i = 0; self != NULL && i < N_CONSTANTS; i++) {
    PyArrayObject *array = sapwood_as_int32(given[i], names[i], lengths[i]);
    self->constant[i] = array == NULL ? NULL : (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
    Py_XDECREF(array);
    if (self->constant[i] == NULL) {
      Py_CLEAR(self);
    } else if (i == LAST) {
      lengths[ROOT] = length_of(self, LAST);
    } else if (i == PARENT) {
      lengths[COUNT] = lengths[BEGIN] = length_of(self, PARENT);
    }
  }
  if (self != NULL && check(self) < 0) {
    Py_CLEAR(self);
  }
  return (PyObject *)self;
}

static void mechanism_dealloc(PyObject *object) {
  mechanism *self = (mechanism *)object;
  PyTypeObject *type = Py_TYPE(object);
  for (int i = 0; i < N_CONSTANTS; i++) {
    Py_XDECREF(self->constant[i]);
  }
  type->tp_free(object);
  Py_DECREF(type);
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* The state, bodies and points of a call, and what it makes. */
enum { CDOF, CDOF_DOT, QVEL, COM, BODIES, POINTS, FRAMES, N_ARGUMENTS };
enum { N_RESULTS = 6 };
typedef struct call {
  PyArrayObject *in[N_ARGUMENTS], *out[N_RESULTS];
  struct tasks_mechanism m;
  npy_intp n;
} call;

static void release(call *c) {
  for (int i = 0; i < N_ARGUMENTS; i++) {
    Py_XDECREF(c->in[i]);
  }
  for (int i = 0; i < N_RESULTS; i++) {
    Py_XDECREF(c->out[i]);
  }
}

static int read_state(const mechanism *self, PyObject *const *args, call *c) {
  const npy_intp nv = length_of(self, PARENT), n_bodies = length_of(self, LAST);
  const npy_intp axes[2] = {nv, 6}, centres[2] = {n_bodies, 3};
  c->in[CDOF] = sapwood_as_float64(args[CDOF], "cdof", 2, axes, SAPWOOD_ANY);
  c->in[CDOF_DOT] = sapwood_as_float64(args[CDOF_DOT], "cdof_dot", 2, axes, SAPWOOD_ANY);
  c->in[QVEL] = sapwood_as_vector(args[QVEL], "qvel", nv, SAPWOOD_ANY);
  c->in[COM] = sapwood_as_float64(args[COM], "subtree_com", 2, centres, SAPWOOD_ANY);
  if (!c->in[CDOF] || !c->in[CDOF_DOT] || !c->in[QVEL] || !c->in[COM]) {
    return -1;
  }
  c->m = (struct tasks_mechanism){.nv = (int32_t)nv,
                                  .n_bodies = (int32_t)n_bodies,
                                  .last_dof = sapwood_int32s(self->constant[LAST]),
                                  .root = sapwood_int32s(self->constant[ROOT]),
                                  .dof_parent = sapwood_int32s(self->constant[PARENT]),
                                  .cdof = sapwood_doubles(c->in[CDOF]),
                                  .cdof_dot = sapwood_doubles(c->in[CDOF_DOT]),
                                  .qvel = sapwood_doubles(c->in[QVEL]),
                                  .com = sapwood_doubles(c->in[COM])};
  return 0;
}

/* Reads bodies, flat, with `sides` for each point, and the points. */
static int read_points(const mechanism *self, PyObject *const *args, int sides, call *c) {
  c->in[BODIES] = sapwood_as_int32(args[BODIES], "bodies", -1);
  if (c->in[BODIES] == NULL || check_range(c->in[BODIES], "bodies", 0, length_of(self, LAST)) < 0) {
    return -1;
  }
  c->n = PyArray_DIM(c->in[BODIES], 0) / sides;
  const npy_intp points[2] = {c->n, 3};
  c->in[POINTS] = sapwood_as_float64(args[POINTS], "points", 2, points, SAPWOOD_ANY);
  return c->in[POINTS] == NULL ? -1 : 0;
}

static int make(call *c, int first, int n, int ndim, npy_intp *shape) {
  for (int i = first; i < first + n; i++) {
    c->out[i] = (PyArrayObject *)PyArray_ZEROS(ndim, shape, NPY_DOUBLE, 0);
    if (c->out[i] == NULL) {
      return -1;
    }
  }
  return 0;
}

static double *row(const call *c, int out, npy_intp i, npy_intp length) {
  return sapwood_doubles(c->out[out]) + i * length;
}

static int count_arguments(Py_ssize_t n_args, int wanted, const char *name) {
  if (n_args != wanted) {
    PyErr_Format(PyExc_TypeError, "%s takes %d arguments", name, wanted);
    return -1;
  }
  return 0;
}

/* ---- methods -------------------------------------------------------------------------------- */

PyDoc_STRVAR(points_doc,
             "points($self, cdof, cdof_dot, qvel, subtree_com, bodies, points, /)\n--\n\n"
             "Jacobians (n, 3, nv) of points fixed to bodies and of the turning of these bodies,\n"
             "velocities (n, 3) and accelerations without joint accelerations (n, 3) of the "
             "points,\nand both of the turning.");

static PyObject *mechanism_points(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
  const mechanism *self = (mechanism *)object;
  call c = {.n = 0};
  PyObject *result = NULL;
  if (count_arguments(n_args, FRAMES, "points") < 0 || read_state(self, args, &c) < 0 ||
      read_points(self, args, 1, &c) < 0) {
    release(&c);
    return NULL;
  }
  npy_intp shape[3] = {c.n, 3, c.m.nv};
  if (make(&c, 0, 2, 3, shape) == 0 && make(&c, 2, 4, 2, shape) == 0) {
    for (npy_intp i = 0; i < c.n; i++) {
      struct tasks_motion motion = {.J = row(&c, 0, i, 3 * (npy_intp)c.m.nv),
                                    .J_r = row(&c, 1, i, 3 * (npy_intp)c.m.nv)};
      tasks_find_motion(&c.m, sapwood_int32s(c.in[BODIES])[i],
                        sapwood_doubles(c.in[POINTS]) + 3 * i, &motion);
      memcpy(row(&c, 2, i, 3), motion.v, sizeof motion.v);
      memcpy(row(&c, 3, i, 3), motion.bias, sizeof motion.bias);
      memcpy(row(&c, 4, i, 3), motion.w, sizeof motion.w);
      memcpy(row(&c, 5, i, 3), motion.bias_r, sizeof motion.bias_r);
    }
    result = Py_BuildValue("(OOOOOO)", c.out[0], c.out[1], c.out[2], c.out[3], c.out[4], c.out[5]);
  }
  release(&c);
  return result;
}

PyDoc_STRVAR(
    body_doc,
    "body($self, cdof, cdof_dot, qvel, subtree_com, body, point, /)\n--\n\n"
    "Jacobian (6, nv) of a point fixed to a body and of the turning of the body, velocity\n"
    "(6,), and acceleration without joint accelerations (6,).");

static PyObject *mechanism_body(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
  const mechanism *self = (mechanism *)object;
  call c = {.n = 0};
  PyObject *result = NULL;
  const long body = n_args > BODIES ? PyLong_AsLong(args[BODIES]) : 0;
  if (count_arguments(n_args, FRAMES, "body") < 0 || (body == -1 && PyErr_Occurred()) ||
      read_state(self, args, &c) < 0) {
    release(&c);
    return NULL;
  }
  npy_intp shape[2] = {6, c.m.nv};
  if (body < 0 || body >= c.m.n_bodies) {
    sapwood_value_error("body", -1, (double)body, "is out of range");
  } else if ((c.in[POINTS] = sapwood_as_vector(args[POINTS], "point", 3, SAPWOOD_ANY)) != NULL &&
             make(&c, 0, 1, 2, shape) == 0 && make(&c, 1, 2, 1, shape) == 0) {
    struct tasks_motion motion = {.J = row(&c, 0, 0, 0), .J_r = row(&c, 0, 3, c.m.nv)};
    tasks_find_motion(&c.m, (int32_t)body, sapwood_doubles(c.in[POINTS]), &motion);
    memcpy(row(&c, 1, 0, 0), motion.v, sizeof motion.v);
    memcpy(row(&c, 1, 3, 1), motion.w, sizeof motion.w);
    memcpy(row(&c, 2, 0, 0), motion.bias, sizeof motion.bias);
    memcpy(row(&c, 2, 3, 1), motion.bias_r, sizeof motion.bias_r);
    result = Py_BuildValue("(OOO)", c.out[0], c.out[1], c.out[2]);
  }
  release(&c);
  return result;
}

PyDoc_STRVAR(contacts_doc,
             "contacts($self, cdof, cdof_dot, qvel, subtree_com, bodies, points, frames, /)\n--\n\n"
             "Jacobians (n, 3, nv), velocities (n, 3) and accelerations without joint "
             "accelerations\n(n, 3) of the second body against the first one, along the rows of "
             "each frame. bodies: (2 n,)\nwith both bodies of each point in turn.");

static PyObject *mechanism_contacts(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
  const mechanism *self = (mechanism *)object;
  call c = {.n = 0};
  PyObject *result = NULL;
  if (count_arguments(n_args, N_ARGUMENTS, "contacts") < 0 || read_state(self, args, &c) < 0 ||
      read_points(self, args, 2, &c) < 0) {
    release(&c);
    return NULL;
  }
  const npy_intp frames[3] = {c.n, 3, 3};
  npy_intp shape[3] = {c.n, 3, c.m.nv};
  c.in[FRAMES] = sapwood_as_float64(args[FRAMES], "frames", 3, frames, SAPWOOD_ANY);
  double *scratch = PyMem_Malloc(sizeof *scratch * (3 * (size_t)c.m.nv + 1));
  if (scratch == NULL) {
    PyErr_NoMemory();
  } else if (c.in[FRAMES] != NULL && make(&c, 0, 1, 3, shape) == 0 &&
             make(&c, 1, 2, 2, shape) == 0) {
    for (npy_intp i = 0; i < c.n; i++) {
      tasks_find_contact(&c.m, sapwood_int32s(c.in[BODIES]) + 2 * i,
                         sapwood_doubles(c.in[POINTS]) + 3 * i,
                         sapwood_doubles(c.in[FRAMES]) + 9 * i, scratch,
                         row(&c, 0, i, 3 * (npy_intp)c.m.nv), row(&c, 1, i, 3), row(&c, 2, i, 3));
    }
    result = Py_BuildValue("(OOO)", c.out[0], c.out[1], c.out[2]);
  }
  PyMem_Free(scratch);
  release(&c);
  return result;
}

PyDoc_STRVAR(mass_doc,
             "mass_matrix($self, M, /)\n--\n\n"
             "Mass matrix (nv, nv) from the engine's lower triangle in compressed rows.");

static PyObject *mechanism_mass(PyObject *object, PyObject *given) {
  const mechanism *self = (mechanism *)object;
  const npy_intp nv = length_of(self, PARENT);
  npy_intp shape[2] = {nv, nv};
  PyArrayObject *M = sapwood_as_vector(given, "M", length_of(self, COLUMN), SAPWOOD_ANY);
  PyArrayObject *full = M == NULL ? NULL : (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_DOUBLE);
  if (full != NULL) {
    tasks_fill_mass((int32_t)nv, sapwood_doubles(M), sapwood_int32s(self->constant[COUNT]),
                    sapwood_int32s(self->constant[BEGIN]), sapwood_int32s(self->constant[COLUMN]),
                    sapwood_doubles(full));
  }
  Py_XDECREF(M);
  return (PyObject *)full;
}

/* ---- the type ------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"points", (PyCFunction)(void (*)(void))mechanism_points, METH_FASTCALL, points_doc},
    {"body", (PyCFunction)(void (*)(void))mechanism_body, METH_FASTCALL, body_doc},
    {"contacts", (PyCFunction)(void (*)(void))mechanism_contacts, METH_FASTCALL, contacts_doc},
    {"mass_matrix", mechanism_mass, METH_O, mass_doc},
    {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(mechanism_doc,
             "Mechanism(last_dof, root, dof_parent, M_rownnz, M_rowadr, M_colind, /)\n--\n\n"
             "Jacobians and the mass matrix of a mechanism, from arrays of an engine. See\n"
             "sapwood.invdyn.robot.Motions.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)mechanism_doc},
                              {Py_tp_new, (void *)mechanism_new},
                              {Py_tp_dealloc, (void *)mechanism_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {.name = "sapwood._core.Mechanism",
                           .basicsize = sizeof(mechanism),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

int sapwood_add_mechanism(PyObject *module) {
  PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
  if (type == NULL) {
    return -1;
  }
  const int failed = PyModule_AddType(module, (PyTypeObject *)type);
  Py_DECREF(type);
  return failed;
}
