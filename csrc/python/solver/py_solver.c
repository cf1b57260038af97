/* _core.Solver: a sap_solver and the lock that serialises its calls.
 *
 * A thread waits for the lock without the GIL, and leaves the lock before it takes the GIL again.
 * So handlers of signals (signals.h) are the only Python code that runs while the lock is held:
 * neither another thread nor a finalizer can deadlock on it. */
#include "python/solver/py_solver.h"

#include <stddef.h>
#include <structmember.h>

#include "base/clock.h"
#include "python/errors.h"
#include "python/lock.h"
#include "python/problem/py_problem.h"
#include "python/signals.h"
#include "python/solver/py_settings.h"
#include "python/solver/solution.h"
#include "solver/solver_object.h"

typedef struct solver {
  PyObject_HEAD
  sap_solver *solver;
  sapwood_lock lock;
  PyObject *settings; /* the SapSettings */
  sapwood_state *state;
  int threads, record_history;
} solver;

/* ---- life ----------------------------------------------------------------------------------- */

static PyObject *solver_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"settings", "threads", NULL};
  PyObject *object = Py_None, *threads = NULL;
  sap_settings settings;
  sapwood_state *state = sapwood_state_of_type(type);
  if (state == NULL ||
      !PyArg_ParseTupleAndKeywords(args, keywords, "|OO:SapSolver", names, &object, &threads) ||
      sapwood_load_settings(state, &object, &settings) < 0 ||
      (threads != NULL && sapwood_read_threads(threads, &settings) < 0)) {
    return NULL;
  }
  solver *self = (solver *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->state = state;
  self->settings = Py_NewRef(object);
  self->threads = settings.threads;
  self->record_history = settings.record_history;
  sap_error error = {0};
  if (sapwood_lock_make(&self->lock, &state->forks) < 0 ||
      sapwood_raise(
          sapwood_solver_cache_take(&state->solver_cache, &settings, &self->solver, &error),
          &error) < 0) {
    Py_DECREF(self);
    return NULL;
  }
  sapwood_watch_signals(self->solver, state);
  return (PyObject *)self;
}

static void solver_dealloc(PyObject *object) {
  solver *self = (solver *)object;
  if (!sapwood_lock_is_lost(&self->lock)) {
    sapwood_solver_cache_leave(&self->state->solver_cache, self->solver);
  }
  sapwood_lock_free(&self->lock);
  Py_XDECREF(self->settings);
  sapwood_free_object(object);
}

static int renew(void *owner) {
  solver *self = owner;
  sap_solver *fresh;
  const sap_settings settings = self->solver->settings;
  if (sapwood_raise(sap_solver_create(&fresh, &settings, NULL, NULL), NULL) < 0) {
    return -1;
  }
  self->solver = fresh;
  sapwood_watch_signals(fresh, self->state);
  return 0;
}

static int be_ready(solver *self) { return sapwood_lock_be_ready(&self->lock, renew, self); }

/* ---- solve ---------------------------------------------------------------------------------- */

PyDoc_STRVAR(solve_doc,
             "solve($self, problem, v_guess, /)\n--\n\n"
             "Solve a Problem from v_guess (nv), its own where it is None. Returns a Solution.");

static PyObject *solver_solve(solver *self, PyTypeObject *defining_class, PyObject *const *args,
                              Py_ssize_t n_args, PyObject *Py_UNUSED(keyword_names)) {
  const sapwood_state *state = PyType_GetModuleState(defining_class);
  if (n_args != 2) {
    PyErr_SetString(PyExc_TypeError, "solve takes problem and v_guess");
    return NULL;
  }
  sapwood_problem *problem = sapwood_as_problem(state, args[0]);
  if (problem == NULL) {
    return NULL;
  }
  PyArrayObject *guess = NULL;
  const double *v_guess = NULL;
  PyObject *history = NULL, *solution = NULL;
  sapwood_result result = {0};
  sapwood_records recorded = {0};
  if (be_ready(self) < 0 || sapwood_read_guess(problem, args[1], &guess, &v_guess) < 0 ||
      sapwood_result_allocate(&result, &problem->problem, &problem->sizes) < 0) {
    goto done;
  }

  sap_error error = {0};
  sap_status status;
  double seconds;
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  seconds = sap_seconds();
  status = sap_solver_solve(self->solver, &problem->problem, v_guess, &result.solution, &error);
  seconds = sap_seconds() - seconds;
  if (status == SAP_OK && self->record_history) {
    status = sapwood_copy_records(self->solver, &recorded);
  }
  SAPWOOD_END_LOCKED(&self->lock)

  if (sapwood_raise(status, &error) < 0) {
    goto done;
  }
  history =
      self->record_history ? sapwood_history(state, recorded.copy, recorded.n) : Py_NewRef(Py_None);
  if (history != NULL) {
    solution = sapwood_solution(state, &result, &problem->problem, seconds, history);
  }
done:
  PyMem_RawFree(recorded.copy);
  Py_XDECREF(history);
  Py_XDECREF(guess);
  sapwood_result_clear(&result);
  return solution;
}

/* ---- evaluate ------------------------------------------------------------------------------- */

PyDoc_STRVAR(evaluate_doc,
             "evaluate($self, problem, v, /)\n--\n\n"
             "Dict with cost, gradient, hessian and direction at v (nv).");

static PyObject *solver_evaluate(solver *self, PyTypeObject *defining_class, PyObject *const *args,
                                 Py_ssize_t n_args, PyObject *Py_UNUSED(keyword_names)) {
  const sapwood_state *state = PyType_GetModuleState(defining_class);
  if (n_args != 2) {
    PyErr_SetString(PyExc_TypeError, "evaluate takes problem and v");
    return NULL;
  }
  sapwood_problem *problem = sapwood_as_problem(state, args[0]);
  if (problem == NULL) {
    return NULL;
  }
  npy_intp shape[2] = {(npy_intp)problem->sizes.nv, (npy_intp)problem->sizes.nv};
  PyArrayObject *v = sapwood_as_vector(args[1], "v", shape[0], SAPWOOD_FINITE);
  if (v == NULL) {
    return NULL;
  }
  PyObject *dict = NULL;
  PyArrayObject *gradient = sapwood_new(NPY_DOUBLE, 1, shape);
  PyArrayObject *hessian = sapwood_new(NPY_DOUBLE, 2, shape);
  PyArrayObject *direction = sapwood_new(NPY_DOUBLE, 1, shape);
  if (gradient == NULL || hessian == NULL || direction == NULL || be_ready(self) < 0) {
    goto done;
  }

  sap_error error = {0};
  sap_status status;
  double cost;
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  status = sap_solver_evaluate(self->solver, &problem->problem, sapwood_doubles(v), &cost,
                               sapwood_doubles(gradient), sapwood_doubles(hessian),
                               sapwood_doubles(direction), &error);
  SAPWOOD_END_LOCKED(&self->lock)

  if (sapwood_raise(status, &error) == 0) {
    dict = Py_BuildValue("{s:d,s:O,s:O,s:O}", "cost", cost, "gradient", gradient, "hessian",
                         hessian, "direction", direction);
  }
done:
  Py_DECREF(v);
  Py_XDECREF(gradient);
  Py_XDECREF(hessian);
  Py_XDECREF(direction);
  return dict;
}

/* ---- along a line --------------------------------------------------------------------------- */

PyDoc_STRVAR(along_line_doc,
             "along_line($self, problem, v, dv, alpha, /)\n--\n\n"
             "Dict with difference, slope and curvature at each entry of alpha.");

static PyObject *solver_along_line(solver *self, PyTypeObject *defining_class,
                                   PyObject *const *args, Py_ssize_t n_args,
                                   PyObject *Py_UNUSED(keyword_names)) {
  const sapwood_state *state = PyType_GetModuleState(defining_class);
  if (n_args != 4) {
    PyErr_SetString(PyExc_TypeError, "along_line takes problem, v, dv and alpha");
    return NULL;
  }
  sapwood_problem *problem = sapwood_as_problem(state, args[0]);
  if (problem == NULL) {
    return NULL;
  }
  npy_intp nv = (npy_intp)problem->sizes.nv;
  PyObject *dict = NULL;
  PyArrayObject *v = NULL, *dv = NULL, *alpha = NULL;
  PyArrayObject *difference = NULL, *slope = NULL, *curvature = NULL;
  if ((v = sapwood_as_vector(args[1], "v", nv, SAPWOOD_FINITE)) == NULL ||
      (dv = sapwood_as_vector(args[2], "dv", nv, SAPWOOD_FINITE)) == NULL ||
      (alpha = sapwood_as_float64(args[3], "alpha", -1, NULL, SAPWOOD_FINITE)) == NULL) {
    goto done;
  }
  int ndim = PyArray_NDIM(alpha);
  npy_intp n = PyArray_SIZE(alpha);
  if (n > INT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "alpha must have less than 2^31 entries");
    goto done;
  }
  difference = (PyArrayObject *)PyArray_SimpleNew(ndim, PyArray_DIMS(alpha), NPY_DOUBLE);
  slope = (PyArrayObject *)PyArray_SimpleNew(ndim, PyArray_DIMS(alpha), NPY_DOUBLE);
  curvature = (PyArrayObject *)PyArray_SimpleNew(ndim, PyArray_DIMS(alpha), NPY_DOUBLE);
  if (difference == NULL || slope == NULL || curvature == NULL || be_ready(self) < 0) {
    goto done;
  }

  sap_error error = {0};
  sap_status status;
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  status = sap_solver_along_line(self->solver, &problem->problem, sapwood_doubles(v),
                                 sapwood_doubles(dv), (int32_t)n, sapwood_doubles(alpha),
                                 sapwood_doubles(difference), sapwood_doubles(slope),
                                 sapwood_doubles(curvature), &error);
  SAPWOOD_END_LOCKED(&self->lock)

  if (sapwood_raise(status, &error) == 0) {
    dict = Py_BuildValue("{s:O,s:O,s:O}", "difference", difference, "slope", slope, "curvature",
                         curvature);
  }
done:
  Py_XDECREF(v);
  Py_XDECREF(dv);
  Py_XDECREF(alpha);
  Py_XDECREF(difference);
  Py_XDECREF(slope);
  Py_XDECREF(curvature);
  return dict;
}

/* ---- type ----------------------------------------------------------------------------------- */

#define METHOD(name) \
  {#name, SAPWOOD_FAST(solver_##name), METH_METHOD | METH_FASTCALL | METH_KEYWORDS, name##_doc}

static PyMethodDef methods[] = {
    METHOD(solve), METHOD(evaluate), METHOD(along_line), {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"settings", T_OBJECT_EX, offsetof(solver, settings), READONLY, "Settings it was made with."},
    {"threads", T_INT, offsetof(solver, threads), READONLY, "Threads that a solve may use."},
    {NULL, 0, 0, 0, NULL}};

PyDoc_STRVAR(solver_doc,
             "Solver(settings=None, threads=1)\n--\n\n"
             "Workspace of the solver and its lock. See sapwood.SapSolver.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)solver_doc},
                              {Py_tp_new, (void *)solver_new},
                              {Py_tp_dealloc, (void *)solver_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {0, NULL}};

static PyType_Spec spec =
    SAPWOOD_SPEC("Solver", solver, Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE);

int sapwood_add_solver(PyObject *module) {
  return sapwood_add_type(module, &spec, &sapwood_state_of_module(module)->solver_type);
}
