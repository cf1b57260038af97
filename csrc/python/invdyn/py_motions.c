/* _core.Mechanism: the mass matrix of a mechanism, and the program of its tasks and contacts, from
 * arrays of an engine. */
#include "python/parts.h"

#include <string.h>

#include "invdyn/tasks/task_rows.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/state.h"

enum { LAST, ROOT, PARENT, COUNT, BEGIN, COLUMN, N_CONSTANTS };

typedef struct mechanism {
  PyObject_HEAD
  PyArrayObject *constant[N_CONSTANTS];
} mechanism;

/* ---- life ----------------------------------------------------------------------------------- */

static npy_intp length_of(const mechanism *self, int which) {
  return PyArray_DIM(self->constant[which], 0);
}

/* Checks that parents come before, and that rows of M lie within it. */
static int check(const mechanism *self) {
  const npy_intp nv = length_of(self, PARENT), nM = length_of(self, COLUMN);
  const npy_intp n_bodies = length_of(self, LAST);
  if (sapwood_check_range(self->constant[LAST], "last_dof", -1, nv) < 0 ||
      sapwood_check_range(self->constant[ROOT], "root", 0, n_bodies) < 0 ||
      sapwood_check_range(self->constant[COLUMN], "M_colind", 0, nv) < 0) {
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
  sapwood_release(self->constant, N_CONSTANTS);
  sapwood_free_object(object);
}

/* ---- arguments ------------------------------------------------------------------------------ */

enum { STATE, MASS, LOADS, CONTACTS, HOLD, PLAN, TASKS, N_ARGUMENTS };
enum { OUT_M, OUT_H, OUT_T, OUT_TARGET, OUT_W, OUT_J, OUT_MU, OUT_SLIDE, N_RESULTS };

/* One call: its arguments in the core's form, and the arrays that they stand in. */
typedef struct call {
  PyObject *kept; /* list */
  struct tasks_mechanism m;
  struct tasks_contacts contacts;
  struct tasks_loads loads;
  struct tasks_plan plan; /* v NULL: there is none */
  npy_intp nq, n_tasks, n_rows;
  struct tasks_task *tasks;
  double *weights, *scratch;
  PyArrayObject *out[N_RESULTS];
} call;

/* Keeps an array until the end of the call. Returns 0, or -1 with an exception. */
static int keep(call *c, PyArrayObject *array) {
  const int failed = array == NULL ? -1 : PyList_Append(c->kept, (PyObject *)array);
  Py_XDECREF(array);
  return failed;
}

static int check_tuple(PyObject *object, const char *name) {
  if (!PyTuple_Check(object)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "%s must be a tuple, not %s", name,
                        Py_TYPE(object)->tp_name);
  }
  return 0;
}

static int read_doubles(call *c, PyObject *given, const char *name, int ndim, const npy_intp *shape,
                        const double **x) {
  PyArrayObject *array = sapwood_as_float64(given, name, ndim, shape, SAPWOOD_ANY);
  *x = sapwood_optional_doubles(array);
  return keep(c, array);
}

/* Reads integers from `least` to `end` - 1, n of them or any number for -1. */
static int read_integers(call *c, PyObject *given, const char *name, int32_t least, npy_intp end,
                         npy_intp *n, const int32_t **x) {
  PyArrayObject *array = sapwood_as_int32(given, name, *n);
  if (array != NULL && sapwood_check_range(array, name, least, end) < 0) {
    Py_CLEAR(array);
  }
  if (array != NULL) {
    *n = PyArray_DIM(array, 0);
    *x = sapwood_int32s(array);
  }
  return keep(c, array);
}

/* Reads numbers (n), or one that stands for all. */
static int read_target(call *c, PyObject *given, const char *name, npy_intp n, const double **x) {
  PyArrayObject *array = sapwood_as_float64(given, name, -1, NULL, SAPWOOD_ANY);
  if (array != NULL && PyArray_NDIM(array) == 0) {
    PyArrayObject *all = sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(n));
    for (npy_intp i = 0; i < n && all != NULL; i++) {
      sapwood_doubles(all)[i] = *sapwood_doubles(array);
    }
    Py_SETREF(array, all);
  } else if (array != NULL) {
    Py_SETREF(array, sapwood_as_vector((PyObject *)array, name, n, SAPWOOD_ANY));
  }
  *x = sapwood_optional_doubles(array);
  return keep(c, array);
}

static int read_state(const mechanism *self, PyObject *given, call *c) {
  const npy_intp nv = length_of(self, PARENT), n_bodies = length_of(self, LAST);
  const npy_intp axes[2] = {nv, 6}, points[2] = {n_bodies, 3}, frames[2] = {n_bodies, 9};
  PyObject *cdof, *cdof_dot, *qvel, *com, *qpos, *xpos, *xmat, *xipos;
  struct tasks_mechanism *m = &c->m;
  if (check_tuple(given, "state") < 0 ||
      !PyArg_ParseTuple(given, "OOOOOOOO;state has 8 arrays", &cdof, &cdof_dot, &qvel, &com, &qpos,
                        &xpos, &xmat, &xipos) ||
      read_doubles(c, cdof, "cdof", 2, axes, &m->cdof) < 0 ||
      read_doubles(c, cdof_dot, "cdof_dot", 2, axes, &m->cdof_dot) < 0 ||
      read_doubles(c, qvel, "qvel", 1, &nv, &m->qvel) < 0 ||
      read_doubles(c, com, "subtree_com", 2, points, &m->com) < 0 ||
      read_doubles(c, xpos, "xpos", 2, points, &m->xpos) < 0 ||
      read_doubles(c, xmat, "xmat", 2, frames, &m->xmat) < 0 ||
      read_doubles(c, xipos, "xipos", 2, points, &m->xipos) < 0) {
    return -1;
  }
  PyArrayObject *positions = sapwood_as_vector(qpos, "qpos", -1, SAPWOOD_ANY);
  if (positions == NULL) {
    return -1;
  }
  c->nq = PyArray_DIM(positions, 0);
  m->qpos = sapwood_doubles(positions);
  m->nv = (int32_t)nv;
  m->n_bodies = (int32_t)n_bodies;
  m->last_dof = sapwood_int32s(self->constant[LAST]);
  m->root = sapwood_int32s(self->constant[ROOT]);
  m->dof_parent = sapwood_int32s(self->constant[PARENT]);
  return keep(c, positions);
}

static int read_contacts(PyObject *given, PyObject *hold, call *c) {
  PyObject *pairs, *positions, *frames, *mu, *radii, *gaps;
  struct tasks_contacts *k = &c->contacts;
  if (check_tuple(given, "contacts") < 0 || check_tuple(hold, "hold") < 0 ||
      !PyArg_ParseTuple(given, "OOOOOO;contacts has 6 arrays", &pairs, &positions, &frames, &mu,
                        &radii, &gaps) ||
      !PyArg_ParseTuple(hold, "ddp;hold has 3 entries", &k->weight, &k->hold_time, &k->may_slide)) {
    return -1;
  }
  PyArrayObject *bodies =
      sapwood_in_place(pairs, "bodies", NPY_INT32, SAPWOOD_SHAPE(-1, 2), NPY_ARRAY_C_CONTIGUOUS);
  if (bodies == NULL || sapwood_check_range(bodies, "bodies", 0, c->m.n_bodies) < 0) {
    Py_XDECREF(bodies);
    return -1;
  }
  const npy_intp n = PyArray_DIM(bodies, 0);
  const npy_intp vectors[2] = {n, 3}, matrices[3] = {n, 3, 3};
  k->n = (int32_t)n;
  k->bodies = sapwood_int32s(bodies);
  c->n_rows = 3 * n;
  return keep(c, bodies) < 0 ||
                 read_doubles(c, positions, "positions", 2, vectors, &k->positions) < 0 ||
                 read_doubles(c, frames, "frames", 3, matrices, &k->frames) < 0 ||
                 read_doubles(c, mu, "mu", 1, &n, &k->mu) < 0 ||
                 read_doubles(c, radii, "radii", 2, vectors, &k->radii) < 0 ||
                 read_doubles(c, gaps, "gaps", 1, &n, &k->gaps) < 0
             ? -1
             : 0;
}

static int read_loads(PyObject *given, call *c) {
  PyObject *bias, *passive, *applied, *wrenches, *actuated;
  const npy_intp nv = c->m.nv, of_bodies[2] = {c->m.n_bodies, 6};
  struct tasks_loads *loads = &c->loads;
  npy_intp n_q = -1;
  if (check_tuple(given, "loads") < 0 ||
      !PyArg_ParseTuple(given, "OOOOO;loads has 5 arrays", &bias, &passive, &applied, &wrenches,
                        &actuated) ||
      read_doubles(c, bias, "qfrc_bias", 1, &nv, &loads->bias) < 0 ||
      read_doubles(c, passive, "qfrc_passive", 1, &nv, &loads->passive) < 0 ||
      read_doubles(c, applied, "qfrc_applied", 1, &nv, &loads->applied) < 0 ||
      read_doubles(c, wrenches, "xfrc_applied", 2, of_bodies, &loads->wrenches) < 0 ||
      read_integers(c, actuated, "actuated", 0, nv, &n_q, &loads->actuated) < 0) {
    return -1;
  }
  loads->n_q = (int32_t)n_q;
  return 0;
}

static int read_plan(PyObject *given, call *c) {
  PyObject *loss, *v, *a, *forces;
  const npy_intp nv = c->m.nv, vectors[2] = {c->contacts.n, 3};
  if (given == Py_None) {
    return 0;
  }
  if (check_tuple(given, "plan") < 0 ||
      !PyArg_ParseTuple(given, "OOOO;plan has 4 arrays", &loss, &v, &a, &forces) ||
      read_doubles(c, loss, "frictionloss", 1, &nv, &c->plan.loss) < 0 ||
      read_doubles(c, v, "v", 1, &nv, &c->plan.v) < 0 ||
      read_doubles(c, a, "a", 1, &nv, &c->plan.a) < 0) {
    return -1;
  }
  return forces == Py_None ? 0 : read_doubles(c, forces, "forces", 2, vectors, &c->plan.forces);
}

/* Reads the entry of a task that depends on its kind: positions of joints, axes of a frame, or
 * shares of bodies. */
static int read_kind(PyObject *given, call *c, npy_intp n, struct tasks_task *task) {
  if (task->kind == TASKS_JOINTS) {
    return read_integers(c, given, "place", 0, c->nq, &n, &task->place);
  }
  if (task->kind == TASKS_CENTRE) {
    return read_doubles(c, given, "share", 1, &n, &task->share);
  }
  if (n != 1) {
    return sapwood_value_error("at", -1, Py_NAN, "must be one body of a frame");
  }
  task->axes = (int)PyLong_AsLong(given);
  if (task->axes < TASKS_POSITION || task->axes > (TASKS_POSITION | TASKS_ROTATION)) {
    return PyErr_Occurred() ? -1 : sapwood_value_error("axes", -1, task->axes, "is out of range");
  }
  return 0;
}

static int read_task(PyObject *given, call *c, npy_intp i) {
  PyObject *at, *by_kind, *position, *velocity, *feedforward, *rotation;
  struct tasks_task *task = c->tasks + i;
  npy_intp n = -1;
  int kind;
  if (check_tuple(given, "a task") < 0 ||
      !PyArg_ParseTuple(given, "idOOddOOOO;a task has 10 entries", &kind, c->weights + i, &at,
                        &by_kind, &task->k, &task->d, &position, &velocity, &feedforward,
                        &rotation)) {
    return -1;
  }
  if (kind < 0 || kind >= TASKS_N_KINDS) {
    return sapwood_value_error("kind", -1, kind, "is out of range");
  }
  task->kind = (enum tasks_kind)kind;
  const npy_intp end = kind == TASKS_JOINTS ? c->m.nv : c->m.n_bodies;
  if (read_integers(c, at, "at", 0, end, &n, &task->at) < 0 || read_kind(by_kind, c, n, task) < 0) {
    return -1;
  }
  task->n = (int32_t)n;
  n = kind == TASKS_JOINTS ? n : 3;
  c->n_rows += tasks_count_rows(task);
  if (kind == TASKS_FRAME && (task->axes & TASKS_ROTATION) &&
      read_doubles(c, rotation, "rotation", SAPWOOD_SHAPE(3, 3), &task->rotation) < 0) {
    return -1;
  }
  return read_target(c, position, "position", n, &task->position) < 0 ||
                 read_target(c, velocity, "velocity", n, &task->velocity) < 0
             ? -1
             : read_target(c, feedforward, "acceleration", n, &task->feedforward);
}

static int read_tasks(PyObject *given, call *c) {
  if (check_tuple(given, "tasks") < 0) {
    return -1;
  }
  c->n_tasks = PyTuple_GET_SIZE(given);
  c->tasks = PyMem_Calloc((size_t)c->n_tasks + 1, sizeof *c->tasks);
  c->weights = PyMem_Calloc((size_t)c->n_tasks + 1, sizeof *c->weights);
  c->scratch = PyMem_Calloc(3 * (size_t)c->m.nv + 1, sizeof *c->scratch);
  if (c->tasks == NULL || c->weights == NULL || c->scratch == NULL) {
    return sapwood_no_memory();
  }
  for (npy_intp i = 0; i < c->n_tasks; i++) {
    if (read_task(PyTuple_GET_ITEM(given, i), c, i) < 0) {
      return -1;
    }
  }
  return 0;
}

static PyArrayObject *make_mass(const mechanism *self, PyObject *given) {
  const npy_intp nv = length_of(self, PARENT);
  PyArrayObject *M = sapwood_as_vector(given, "M", length_of(self, COLUMN), SAPWOOD_ANY);
  PyArrayObject *full = M == NULL ? NULL : sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(nv, nv));
  if (full != NULL) {
    tasks_fill_mass((int32_t)nv, sapwood_doubles(M), sapwood_int32s(self->constant[COUNT]),
                    sapwood_int32s(self->constant[BEGIN]), sapwood_int32s(self->constant[COLUMN]),
                    sapwood_doubles(full));
  }
  Py_XDECREF(M);
  return full;
}

/* ---- the program ---------------------------------------------------------------------------- */

static int make_results(const mechanism *self, PyObject *M, call *c) {
  const npy_intp nv = c->m.nv, n = c->contacts.n;
  const npy_intp shape[N_RESULTS][3] = {
      [OUT_H] = {nv},        [OUT_T] = {c->n_rows, nv}, [OUT_TARGET] = {c->n_rows},
      [OUT_W] = {c->n_rows}, [OUT_J] = {n, 3, nv},      [OUT_MU] = {n},
      [OUT_SLIDE] = {n, 2}};
  static const int ndim[N_RESULTS] = {2, 1, 2, 1, 1, 3, 1, 2};
  c->out[OUT_M] = make_mass(self, M);
  for (int i = 0; i < N_RESULTS && c->out[OUT_M] != NULL; i++) {
    if (i != OUT_M) {
      c->out[i] = sapwood_new(NPY_DOUBLE, ndim[i], shape[i]);
    }
    if (c->out[i] == NULL) {
      return -1;
    }
  }
  return c->out[OUT_M] == NULL ? -1 : 0;
}

static void fill_results(const call *c) {
  double *h = sapwood_doubles(c->out[OUT_H]), *T = sapwood_doubles(c->out[OUT_T]);
  double *t = sapwood_doubles(c->out[OUT_TARGET]), *w = sapwood_doubles(c->out[OUT_W]);
  const struct tasks_contact_rows rows = {.T = T,
                                          .t = t,
                                          .w = w,
                                          .J = sapwood_doubles(c->out[OUT_J]),
                                          .mu = sapwood_doubles(c->out[OUT_MU]),
                                          .slide = sapwood_doubles(c->out[OUT_SLIDE])};
  tasks_find_bias(&c->m, &c->loads, h);
  if (c->plan.v != NULL) {
    tasks_add_friction(&c->m, &c->contacts, &c->plan, c->scratch, h);
  }
  tasks_write_contacts(&c->m, &c->contacts, c->scratch, &rows);
  int64_t first = 3 * (int64_t)c->contacts.n;
  for (npy_intp i = 0; i < c->n_tasks; i++) {
    const int32_t n = tasks_count_rows(c->tasks + i);
    tasks_write_rows(&c->m, c->tasks + i, c->scratch, T + first * c->m.nv, t + first);
    for (int32_t k = 0; k < n; k++) {
      w[first + k] = c->weights[i];
    }
    first += n;
  }
}

PyDoc_STRVAR(
    program_doc,
    "task_program($self, state, M, loads, contacts, hold, plan, tasks, /)\n--\n\n"
    "Arrays M, h, T, t, w, J and mu of TaskSolver.solve(), and the tangential forces of sliding\n"
    "contacts over normal ones (n, 2). state: cdof, cdof_dot, qvel, subtree_com, qpos, xpos,\n"
    "xmat, xipos. M in the engine's compressed rows. loads: qfrc_bias, qfrc_passive,\n"
    "qfrc_applied, xfrc_applied, velocities with a motor. contacts: bodies (n, 2), positions,\n"
    "frames, mu, radii, gaps. hold: weight, time, and whether contacts may slide. plan, or None:\n"
    "frictionloss, velocities at the last plan, its accelerations, and its forces if contacts are\n"
    "the same, or None. Each task: kind, weight, velocities or bodies; places of positions, axes\n"
    "or shares of mass; stiffness, damping, position, velocity, acceleration, rotation.");

static PyObject *mechanism_program(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
  const mechanism *self = (mechanism *)object;
  if (n_args != N_ARGUMENTS) {
    return PyErr_Format(PyExc_TypeError, "task_program takes %d arguments", N_ARGUMENTS);
  }
  call c = {.kept = PyList_New(0)};
  PyObject *result = NULL;
  if (c.kept != NULL && read_state(self, args[STATE], &c) == 0 &&
      read_loads(args[LOADS], &c) == 0 && read_contacts(args[CONTACTS], args[HOLD], &c) == 0 &&
      read_plan(args[PLAN], &c) == 0 && read_tasks(args[TASKS], &c) == 0 &&
      make_results(self, args[MASS], &c) == 0) {
    fill_results(&c);
    result = PyTuple_New(N_RESULTS);
    for (int i = 0; i < N_RESULTS && result != NULL; i++) {
      PyTuple_SET_ITEM(result, i, Py_NewRef(c.out[i]));
    }
  }
  sapwood_release(c.out, N_RESULTS);
  PyMem_Free(c.tasks);
  PyMem_Free(c.weights);
  PyMem_Free(c.scratch);
  Py_XDECREF(c.kept);
  return result;
}

PyDoc_STRVAR(bias_doc,
             "bias_force($self, state, loads, /)\n--\n\n"
             "Bias force h (nv), of the same arguments as task_program().");

static PyObject *mechanism_bias(PyObject *object, PyObject *args) {
  PyObject *state, *loads;
  if (!PyArg_ParseTuple(args, "OO:bias_force", &state, &loads)) {
    return NULL;
  }
  call c = {.kept = PyList_New(0)};
  PyArrayObject *h = NULL;
  if (c.kept != NULL && read_state((mechanism *)object, state, &c) == 0 &&
      read_loads(loads, &c) == 0) {
    const npy_intp nv = c.m.nv;
    h = sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(nv));
    if (h != NULL) {
      tasks_find_bias(&c.m, &c.loads, sapwood_doubles(h));
    }
  }
  Py_XDECREF(c.kept);
  return (PyObject *)h;
}

PyDoc_STRVAR(mass_doc,
             "mass_matrix($self, M, /)\n--\n\n"
             "Mass matrix (nv, nv) from the engine's lower triangle in compressed rows.");

static PyObject *mechanism_mass(PyObject *object, PyObject *given) {
  return (PyObject *)make_mass((mechanism *)object, given);
}

/* ---- the type ------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"task_program", SAPWOOD_FAST(mechanism_program), METH_FASTCALL, program_doc},
    {"bias_force", mechanism_bias, METH_VARARGS, bias_doc},
    {"mass_matrix", mechanism_mass, METH_O, mass_doc},
    {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(mechanism_doc,
             "Mechanism(last_dof, root, dof_parent, M_rownnz, M_rowadr, M_colind, /)\n--\n\n"
             "The mass matrix and the program of task control of a mechanism, from arrays of an\n"
             "engine. See sapwood.invdyn.robot.mechanism_of.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)mechanism_doc},
                              {Py_tp_new, (void *)mechanism_new},
                              {Py_tp_dealloc, (void *)mechanism_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = SAPWOOD_SPEC("Mechanism", mechanism, Py_TPFLAGS_IMMUTABLETYPE);

int sapwood_add_mechanism(PyObject *module) { return sapwood_add_type(module, &spec, NULL); }
