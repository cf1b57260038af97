/* _core.TaskSolver: a solver with the arguments of its controller. */
#include "python/parts.h"
#include "python/arrays.h"
#include "python/errors.h"
#include "python/lock.h"
#include "python/state.h"

typedef struct controller {
  PyObject_HEAD
  tasks_solver *solver;
  sapwood_lock lock;
  tasks_settings settings;
  PyArrayObject *actuated;
} controller;

/* ---- life ----------------------------------------------------------------------------------- */

static int read_settings(PyObject *args, controller *self) {
  PyObject *actuated;
  tasks_settings *settings = &self->settings;
  if (!PyArg_ParseTuple(args, "Oidd:TaskSolver", &actuated, &settings->edges,
                        &settings->force_weight, &settings->acceleration_weight) ||
      (self->actuated = sapwood_as_int32(actuated, "actuated", -1)) == NULL) {
    return -1;
  }
  sap_error error = {0};
  return sapwood_raise(tasks_settings_check(settings, &error), &error);
}

static PyObject *controller_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  const sapwood_state *state = sapwood_state_of_type(type);
  if (state == NULL || sapwood_refuse_keywords(keywords, "TaskSolver") < 0) {
    return NULL;
  }
  controller *self = (controller *)type->tp_alloc(type, 0);
  sap_error error = {0};
  if (self != NULL &&
      (read_settings(args, self) < 0 || sapwood_lock_make(&self->lock, &state->forks) < 0 ||
       sapwood_raise(tasks_create(&self->solver, NULL, &error), &error) < 0)) {
    Py_CLEAR(self);
  }
  return (PyObject *)self;
}

static void controller_dealloc(PyObject *object) {
  controller *self = (controller *)object;
  if (!sapwood_lock_is_lost(&self->lock)) {
    tasks_destroy(self->solver);
  }
  sapwood_lock_free(&self->lock);
  Py_XDECREF(self->actuated);
  sapwood_free_object(object);
}

static int renew(void *owner) {
  controller *self = owner;
  tasks_solver *fresh;
  if (sapwood_raise(tasks_create(&fresh, NULL, NULL), NULL) < 0) {
    return -1;
  }
  self->solver = fresh;
  return 0;
}

/* ---- solve ---------------------------------------------------------------------------------- */

/* Arguments of a call in their order, and new arrays for the results. */
enum { M, H, TASKS, TARGETS, WEIGHTS, J, MU, LOWER, UPPER, ACTIVE, N_ARGUMENTS };
enum { A, TAU, FORCES, ACTIVE_ROWS, N_RESULTS };
typedef struct arrays {
  PyArrayObject *in[N_ARGUMENTS]; /* NULL for ACTIVE */
  PyArrayObject *out[N_RESULTS];
} arrays;

static void release(arrays *of) {
  sapwood_release(of->in, N_ARGUMENTS);
  sapwood_release(of->out, N_RESULTS);
}

static int read_arguments(const controller *self, PyObject *const *args, arrays *of) {
  /* lengths follow from h, t and mu; the core checks the values */
  if ((of->in[H] = sapwood_as_vector(args[H], "h", -1, SAPWOOD_ANY)) == NULL ||
      (of->in[TARGETS] = sapwood_as_vector(args[TARGETS], "t", -1, SAPWOOD_ANY)) == NULL ||
      (of->in[MU] = sapwood_as_vector(args[MU], "mu", -1, SAPWOOD_ANY)) == NULL) {
    return -1;
  }
  const npy_intp m = PyArray_DIM(of->in[H], 0), n = PyArray_DIM(of->in[MU], 0);
  const npy_intp n_T = PyArray_DIM(of->in[TARGETS], 0), n_q = PyArray_DIM(self->actuated, 0);
  const sapwood_argument given[] = {
      SAPWOOD_ARGUMENT(M, "M", m, m),        SAPWOOD_ARGUMENT(TASKS, "T", n_T, m),
      SAPWOOD_ARGUMENT(WEIGHTS, "w", n_T),   SAPWOOD_ARGUMENT(J, "J", n, 3, m),
      SAPWOOD_OPTIONAL(LOWER, "lower", n_q), SAPWOOD_OPTIONAL(UPPER, "upper", n_q)};
  if (sapwood_read_all(of->in, args, given, 6) < 0) {
    return -1;
  }
  if (m > INT32_MAX || n > INT32_MAX || n_T > INT32_MAX) {
    return sapwood_value_error(m > INT32_MAX ? "h" : "mu", -1, Py_NAN, "is too long");
  }
  return 0;
}

static int make_results(arrays *of, npy_intp m, npy_intp n, npy_intp n_q) {
  const sapwood_layout layouts[] = {
      {NPY_DOUBLE, 1, {m}}, {NPY_DOUBLE, 1, {n_q}}, {NPY_DOUBLE, 2, {n, 3}}};
  return sapwood_new_all(of->out, layouts, 3);
}

/* Makes the array of active rows, a copy of those expected. Returns 0 or -1. */
static int make_active(PyObject *expected, npy_intp length, arrays *of) {
  if (expected == Py_None) {
    of->out[ACTIVE_ROWS] = (PyArrayObject *)PyArray_ZEROS(1, &length, NPY_INT8, 0);
    return of->out[ACTIVE_ROWS] == NULL ? -1 : 0;
  }
  PyArrayObject *given =
      sapwood_in_place(expected, "active", NPY_INT8, SAPWOOD_SHAPE(length), NPY_ARRAY_C_CONTIGUOUS);
  if (given == NULL) {
    return -1;
  }
  of->out[ACTIVE_ROWS] = (PyArrayObject *)PyArray_NewCopy(given, NPY_CORDER);
  Py_DECREF(given);
  return of->out[ACTIVE_ROWS] == NULL ? -1 : 0;
}

static tasks_problem problem_of(const controller *self, const arrays *of) {
  return (tasks_problem){
      .m = (int32_t)PyArray_DIM(of->in[H], 0),
      .n_q = (int32_t)PyArray_DIM(self->actuated, 0),
      .n = (int32_t)PyArray_DIM(of->in[MU], 0),
      .n_T = (int32_t)PyArray_DIM(of->in[TARGETS], 0),
      .actuated = sapwood_int32s(self->actuated),
      .M = sapwood_doubles(of->in[M]),
      .h = sapwood_doubles(of->in[H]),
      .T = sapwood_doubles(of->in[TASKS]),
      .t = sapwood_doubles(of->in[TARGETS]),
      .w = sapwood_doubles(of->in[WEIGHTS]),
      .J = sapwood_doubles(of->in[J]),
      .mu = sapwood_doubles(of->in[MU]),
      .lower = sapwood_optional_doubles(of->in[LOWER]),
      .upper = sapwood_optional_doubles(of->in[UPPER]),
  };
}

PyDoc_STRVAR(solve_doc,
             "solve($self, M, h, T, t, w, J, mu, lower, upper, active, /)\n--\n\n"
             "Tuple of outcome, a, tau, forces, active, changes and residual. See\n"
             "sapwood.invdyn.TaskController.");

static PyObject *controller_solve(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
  controller *self = (controller *)object;
  arrays of = {0};
  PyObject *result = NULL;
  if (n_args != N_ARGUMENTS) {
    return PyErr_Format(PyExc_TypeError, "solve takes %d arguments", N_ARGUMENTS);
  }
  if (sapwood_lock_be_ready(&self->lock, renew, self) < 0 || read_arguments(self, args, &of) < 0) {
    goto done;
  }
  const tasks_problem problem = problem_of(self, &of);
  const npy_intp length = (npy_intp)problem.n * self->settings.edges + 2 * (npy_intp)problem.n_q;
  if (make_results(&of, problem.m, problem.n, problem.n_q) < 0 ||
      make_active(args[ACTIVE], length, &of) < 0) {
    goto done;
  }
  tasks_solution solution = {.a = sapwood_doubles(of.out[A]),
                             .tau = sapwood_doubles(of.out[TAU]),
                             .forces = sapwood_doubles(of.out[FORCES]),
                             .active = PyArray_DATA(of.out[ACTIVE_ROWS])};
  sap_error error = {0};
  sap_status status;
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  status = tasks_solve(self->solver, &self->settings, &problem, &solution, &error);
  SAPWOOD_END_LOCKED(&self->lock)
  if (sapwood_raise(status, &error) == 0) {
    result = Py_BuildValue("(iOOOOid)", solution.outcome, of.out[A], of.out[TAU], of.out[FORCES],
                           of.out[ACTIVE_ROWS], solution.changes, solution.residual);
  }
done:
  release(&of);
  return result;
}

/* ---- the type ------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"solve", SAPWOOD_FAST(controller_solve), METH_FASTCALL, solve_doc},
                                {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(controller_doc,
             "TaskSolver(actuated, edges, force_weight, acceleration_weight, /)\n--\n\n"
             "Task control with its workspace. See sapwood.invdyn.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)controller_doc},
                              {Py_tp_new, (void *)controller_new},
                              {Py_tp_dealloc, (void *)controller_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = SAPWOOD_SPEC("TaskSolver", controller, Py_TPFLAGS_IMMUTABLETYPE);

int sapwood_add_task_solver(PyObject *module) { return sapwood_add_type(module, &spec, NULL); }
