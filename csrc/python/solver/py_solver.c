/* _core.Solver: a sap_solver and the lock that serialises its calls.
 *
 * A thread waits for the lock without the GIL, and leaves the lock before it takes the GIL again.
 * So handlers of signals (signals.h) are the only Python code that runs while the lock is held:
 * neither another thread nor a finalizer can deadlock on it. */
#include "python/parts.h"

#include <stddef.h>
#include <structmember.h>

#include "base/clock.h"
#include "python/arrays.h"
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

/* Returns the problem that is the first of n arguments; NULL with an exception. */
static const sapwood_problem *problem_of(PyTypeObject *defining_class, PyObject *const *args,
                                         Py_ssize_t n_args, Py_ssize_t n, const char *takes) {
  if (n_args != n) {
    PyErr_SetString(PyExc_TypeError, takes);
    return NULL;
  }
  return sapwood_as_problem(PyType_GetModuleState(defining_class), args[0]);
}

/* ---- solve ---------------------------------------------------------------------------------- */

PyDoc_STRVAR(solve_doc,
             "solve($self, problem, v_guess, /)\n--\n\n"
             "Solve a Problem from v_guess (nv), its own where it is None. Returns a Solution.");

static PyObject *solver_solve(solver *self, PyTypeObject *defining_class, PyObject *const *args,
                              Py_ssize_t n_args, PyObject *Py_UNUSED(keyword_names)) {
  const sapwood_state *state = self->state;
  const sapwood_problem *problem =
      problem_of(defining_class, args, n_args, 2, "solve takes problem and v_guess");
  if (problem == NULL) {
    return NULL;
  }
  PyArrayObject *guess = NULL;
  const double *v_guess = NULL;
  PyObject *solution = NULL;
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
    status = sapwood_copy_history(self->solver, &recorded);
  }
  SAPWOOD_END_LOCKED(&self->lock)

  if (sapwood_raise(status, &error) < 0) {
    goto done;
  }
  solution = sapwood_solution(state, &result, &problem->problem, seconds,
                              self->record_history ? &recorded : NULL);
done:
  PyMem_RawFree(recorded.copy);
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
  enum { GRADIENT, HESSIAN, DIRECTION, N };
  const sapwood_problem *problem =
      problem_of(defining_class, args, n_args, 2, "evaluate takes problem and v");
  if (problem == NULL) {
    return NULL;
  }
  const npy_intp nv = (npy_intp)problem->sizes.nv;
  const sapwood_layout layouts[N] = {
      {NPY_DOUBLE, 1, {nv}}, {NPY_DOUBLE, 2, {nv, nv}}, {NPY_DOUBLE, 1, {nv}}};
  PyArrayObject *v = sapwood_as_vector(args[1], "v", nv, SAPWOOD_FINITE), *out[N] = {NULL};
  PyObject *dict = NULL;
  if (v != NULL && be_ready(self) == 0 && sapwood_new_all(out, layouts, N) == 0) {
    sap_error error = {0};
    sap_status status;
    double cost;
    SAPWOOD_BEGIN_LOCKED(&self->lock)
    status = sap_solver_evaluate(self->solver, &problem->problem, sapwood_doubles(v), &cost,
                                 sapwood_doubles(out[GRADIENT]), sapwood_doubles(out[HESSIAN]),
                                 sapwood_doubles(out[DIRECTION]), &error);
    SAPWOOD_END_LOCKED(&self->lock)
    if (sapwood_raise(status, &error) == 0) {
      dict = Py_BuildValue("{s:d,s:O,s:O,s:O}", "cost", cost, "gradient", out[GRADIENT], "hessian",
                           out[HESSIAN], "direction", out[DIRECTION]);
    }
  }
  Py_XDECREF(v);
  sapwood_release(out, N);
  return dict;
}

PyDoc_STRVAR(impulses_doc,
             "_impulses($self, problem, v, /)\n--\n\n"
             "Impulses and velocities of all constraints at v (nv), as a Solution whose numbers "
             "are 0.");

static PyObject *solver_impulses(solver *self, PyTypeObject *defining_class, PyObject *const *args,
                                 Py_ssize_t n_args, PyObject *Py_UNUSED(keyword_names)) {
  const sapwood_problem *problem =
      problem_of(defining_class, args, n_args, 2, "_impulses takes problem and v");
  if (problem == NULL) {
    return NULL;
  }
  PyArrayObject *v = sapwood_as_vector(args[1], "v", (npy_intp)problem->sizes.nv, SAPWOOD_FINITE);
  PyObject *solution = NULL;
  sapwood_result result = {0};
  if (v != NULL && be_ready(self) == 0 &&
      sapwood_result_allocate(&result, &problem->problem, &problem->sizes) == 0) {
    sap_error error = {0};
    sap_status status;
    SAPWOOD_BEGIN_LOCKED(&self->lock)
    status = sap_solver_impulses(self->solver, &problem->problem, sapwood_doubles(v),
                                 &result.solution, &error);
    SAPWOOD_END_LOCKED(&self->lock)
    if (sapwood_raise(status, &error) == 0) {
      solution = sapwood_solution(self->state, &result, &problem->problem, 0.0, NULL);
    }
  }
  Py_XDECREF(v);
  sapwood_result_clear(&result);
  return solution;
}

/* ---- along a line --------------------------------------------------------------------------- */

PyDoc_STRVAR(along_line_doc,
             "along_line($self, problem, v, dv, alpha, /)\n--\n\n"
             "Dict with difference, slope and curvature at each entry of alpha.");

/* Reads v, dv and alpha, and makes results of the shape of alpha. Returns 0, or -1 with an
 * exception. */
static int read_line(PyObject *const *args, npy_intp nv, PyArrayObject *in[3],
                     PyArrayObject *out[3]) {
  if ((in[0] = sapwood_as_vector(args[1], "v", nv, SAPWOOD_FINITE)) == NULL ||
      (in[1] = sapwood_as_vector(args[2], "dv", nv, SAPWOOD_FINITE)) == NULL ||
      (in[2] = sapwood_as_float64(args[3], "alpha", -1, NULL, SAPWOOD_FINITE)) == NULL) {
    return -1;
  }
  if (PyArray_SIZE(in[2]) > INT32_MAX) {
    return SAPWOOD_FAIL(PyExc_ValueError, "alpha must have less than 2^31 entries");
  }
  for (int i = 0; i < 3; i++) {
    out[i] = sapwood_new(NPY_DOUBLE, PyArray_NDIM(in[2]), PyArray_DIMS(in[2]));
    if (out[i] == NULL) {
      return -1;
    }
  }
  return 0;
}

static PyObject *solver_along_line(solver *self, PyTypeObject *defining_class,
                                   PyObject *const *args, Py_ssize_t n_args,
                                   PyObject *Py_UNUSED(keyword_names)) {
  const sapwood_problem *problem =
      problem_of(defining_class, args, n_args, 4, "along_line takes problem, v, dv and alpha");
  PyArrayObject *in[3] = {NULL}, *out[3] = {NULL};
  PyObject *dict = NULL;
  if (problem == NULL) {
    return NULL;
  }
  if (read_line(args, (npy_intp)problem->sizes.nv, in, out) == 0 && be_ready(self) == 0) {
    const int32_t n = (int32_t)PyArray_SIZE(in[2]);
    sap_error error = {0};
    sap_status status;
    SAPWOOD_BEGIN_LOCKED(&self->lock)
    status = sap_solver_along_line(self->solver, &problem->problem, sapwood_doubles(in[0]),
                                   sapwood_doubles(in[1]), n, sapwood_doubles(in[2]),
                                   sapwood_doubles(out[0]), sapwood_doubles(out[1]),
                                   sapwood_doubles(out[2]), &error);
    SAPWOOD_END_LOCKED(&self->lock)
    if (sapwood_raise(status, &error) == 0) {
      dict = Py_BuildValue("{s:O,s:O,s:O}", "difference", out[0], "slope", out[1], "curvature",
                           out[2]);
    }
  }
  sapwood_release(in, 3);
  sapwood_release(out, 3);
  return dict;
}

/* ---- type ----------------------------------------------------------------------------------- */

#define METHOD(name, text) \
  {text, SAPWOOD_FAST(solver_##name), METH_METHOD | METH_FASTCALL | METH_KEYWORDS, name##_doc}

static PyMethodDef methods[] = {METHOD(solve, "solve"),
                                METHOD(evaluate, "evaluate"),
                                METHOD(impulses, "_impulses"),
                                METHOD(along_line, "along_line"),
                                {NULL, NULL, 0, NULL}};

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
