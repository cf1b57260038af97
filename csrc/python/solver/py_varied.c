/* _core.solve_varied, vjp_varied, jvp_varied: solves of many problems of one structure, and
 * derivatives at their solutions.
 *
 * Results are rows of a few arrays, so a small problem costs no Python objects. Each thread has a
 * solver or a sensitivity, which keeps graph and memory from problem to problem. Derivatives
 * linearize each problem again where its solution is. */
#include "python/parts.h"
#include "python/errors.h"
#include "python/signals.h"
#include "python/solver/calls.h"
#include "python/solver/py_settings.h"
#include "python/solver/response.h"
#include "python/solver/varied.h"

/* The tools of one thread, and the first problem for which it failed. */
typedef struct worker {
  sapwood_varied varied;
  sap_solver *solver;                /* NULL for derivatives */
  sap_sensitivity *sensitivity;      /* NULL for solves */
  sapwood_differential differential; /* gradients or changes (n m) */
  sap_status status;
  sap_error error;
  Py_ssize_t failed; /* read if status is not SAP_OK */
} worker;

typedef struct batch {
  sapwood_state *state;
  const sapwood_problem *problem; /* borrowed */
  PyObject *numbers;              /* dict, borrowed */
  sap_settings settings;
  int n_threads, frozen;
  sapwood_mode *mode;            /* direction of derivatives */
  Py_ssize_t n, m;               /* problems, and losses or changes of each */
  PyArrayObject *v, *guess;      /* (n, nv) of derivatives; (nv) of solves, or NULL */
  const double *v_guess;         /* data of the guess or NULL */
  sapwood_response response;     /* (n) of solves, (n m) of derivatives */
  PyObject *dict;                /* gradients or changes (n m) */
  PyArrayObject *status, *trees; /* (n) int8 of solves, int32 of derivatives */
  PyArrayObject *residuals;      /* (n) */
  worker *workers;               /* (n_threads) */
} batch;

/* ---- life ----------------------------------------------------------------------------------- */

/* Reads the arguments that all three calls share. Returns 0, or -1 with an exception. */
static int begin(batch *all, PyObject *module, PyObject *problem, PyObject *settings) {
  all->state = sapwood_state_of_module(module);
  all->problem = sapwood_as_problem(all->state, problem);
  if (all->problem == NULL || sapwood_load_settings(all->state, &settings, &all->settings) < 0) {
    return -1;
  }
  if (all->n < 0 || all->n > INT32_MAX || all->m < 0 || all->m > INT32_MAX || all->n_threads < 1) {
    return SAPWOOD_FAIL(PyExc_ValueError, "at least one thread, and not too many problems");
  }
  return 0;
}

/* Opens the problems for each thread. Returns 0, or -1 with an exception. */
static int open_workers(batch *all) {
  all->n_threads = sapwood_tasks_threads(all->n, all->n_threads);
  all->workers = PyMem_Calloc((size_t)all->n_threads, sizeof *all->workers);
  if (all->workers == NULL) {
    return sapwood_no_memory();
  }
  for (int k = 0; k < all->n_threads; k++) {
    if (sapwood_varied_open(&all->workers[k].varied, all->problem, all->n, all->numbers) < 0) {
      return -1;
    }
  }
  return 0;
}

/* Reads where derivatives are taken, makes a sensitivity for each thread, and reads the dict of
 * changes, or of gradients without a rule, for it. Returns 0, or -1 with an exception. */
static int open_sensitivities(batch *all, PyObject *v, sapwood_rule rule) {
  npy_intp n = all->n;
  if ((all->v = sapwood_as_float64(v, "v", SAPWOOD_SHAPE(all->n, (npy_intp)all->problem->sizes.nv),
                                   SAPWOOD_FINITE)) == NULL ||
      (all->trees = sapwood_new(NPY_INT32, SAPWOOD_SHAPE(n))) == NULL ||
      (all->residuals = (PyArrayObject *)PyArray_ZEROS(1, &n, NPY_DOUBLE, 0)) == NULL) {
    return -1;
  }
  for (int k = 0; k < all->n_threads; k++) {
    worker *w = &all->workers[k];
    sap_error error = {0};
    if (sapwood_differential_read(&w->differential, all->problem, all->n * all->m, all->dict, rule,
                                  0) < 0 ||
        sapwood_raise(sap_sensitivity_create(&w->sensitivity, &all->settings, NULL, &error),
                      &error) < 0) {
      return -1;
    }
  }
  return 0;
}

static void clear(batch *all) {
  for (int k = 0; all->workers != NULL && k < all->n_threads; k++) {
    worker *w = &all->workers[k];
    sapwood_solver_cache_leave(&all->state->solver_cache, w->solver);
    sap_sensitivity_destroy(w->sensitivity);
    sapwood_differential_clear(&w->differential);
    sapwood_varied_close(&w->varied);
  }
  PyMem_Free(all->workers);
  sapwood_response_clear(&all->response);
  Py_XDECREF(all->dict);
  Py_XDECREF(all->v);
  Py_XDECREF(all->guess);
  Py_XDECREF(all->status);
  Py_XDECREF(all->trees);
  Py_XDECREF(all->residuals);
}

/* ---- all problems --------------------------------------------------------------------------- */

/* Raises the exception of the first problem that failed. Returns 0 if there is none, or -1. */
static int raise_first(const batch *all) {
  const worker *first = NULL;
  for (int k = 0; k < all->n_threads; k++) {
    const worker *w = &all->workers[k];
    if (w->status != SAP_OK && (first == NULL || w->failed < first->failed)) {
      first = w;
    }
  }
  if (first == NULL) {
    return 0;
  }
  sapwood_raise(first->status, &first->error);
  sapwood_note_place("problems", first->failed);
  return -1;
}

/* Keeps the status of a problem. Returns 1 if it ends the batch. */
static int conclude(worker *w, Py_ssize_t i, sap_status status) {
  w->status = status;
  w->failed = i;
  return status == SAP_INTERRUPTED;
}

/* Runs the tasks. Returns 0, or -1 with an exception. */
static int run(batch *all, int (*task)(void *all, Py_ssize_t i, int32_t thread)) {
  const sapwood_tasks tasks = {task, all, all->n};
  return sapwood_tasks_run(all->state, &tasks, all->n_threads) < 0 ? -1 : raise_first(all);
}

/* ---- solves --------------------------------------------------------------------------------- */

static int solve_one(void *context, Py_ssize_t i, int32_t thread) {
  batch *all = context;
  worker *w = &all->workers[thread];
  if (w->status != SAP_OK) {
    return 0; /* other threads may have problems before it */
  }
  const sap_response to = sapwood_response_at(&all->response, i);
  sap_solution solution = sap_solution_default();
  solution.v = to.v;
  solution.gamma = to.gamma;
  solution.group_gamma = to.group_gamma;
  solution.spin_gamma = to.spin_gamma;
  sap_status status = sapwood_varied_point(&w->varied, i, &w->error);
  if (status == SAP_OK) {
    status = sap_solver_solve(w->solver, &w->varied.problem, all->v_guess, &solution, &w->error);
  }
  ((npy_int8 *)PyArray_DATA(all->status))[i] = (npy_int8)solution.outcome;
  return conclude(w, i, status);
}

/* Takes a solver for each thread. Returns 0, or -1 with an exception. */
static int take_solvers(batch *all) {
  for (int k = 0; k < all->n_threads; k++) {
    worker *w = &all->workers[k];
    sap_error error = {0};
    if (sapwood_raise(sapwood_solver_cache_take(&all->state->solver_cache, &all->settings,
                                                &w->solver, &error),
                      &error) < 0) {
      return -1;
    }
    sap_solver_leave_bounds_out(w->solver, 1);
    if (k == 0) {
      sapwood_watch_signals(w->solver, all->state);
    }
  }
  return 0;
}

PyDoc_STRVAR(solve_varied_doc,
             "solve_varied(problem, numbers, n, settings, threads, /)\n--\n\n"
             "Solve n problems that differ from a Problem by numbers, a dict of arrays (n, ...)\n"
             "by name, those of groups in a tuple of dicts under 'constraints'. Returns v, gamma,\n"
             "group_gamma, spin_gamma (n, ...), and status (n) int8.");

static PyObject *solve_varied(PyObject *module, PyObject *args) {
  PyObject *problem, *settings, *result = NULL;
  batch all = {.m = 1};
  if (!PyArg_ParseTuple(args, "OO!nOi:solve_varied", &problem, &PyDict_Type, &all.numbers, &all.n,
                        &settings, &all.n_threads)) {
    return NULL;
  }
  npy_intp n = all.n;
  if (begin(&all, module, problem, settings) == 0 && open_workers(&all) == 0 &&
      sapwood_read_guess(all.problem, Py_None, &all.guess, &all.v_guess) == 0 &&
      sapwood_response_make(&all.response, all.problem, n) == 0 &&
      (all.status = sapwood_new(NPY_INT8, SAPWOOD_SHAPE(n))) != NULL && take_solvers(&all) == 0 &&
      run(&all, solve_one) == 0) {
    PyArrayObject *const *found = all.response.array;
    result = Py_BuildValue("(OOOOO)", found[0], found[1], found[2], found[3], all.status);
  }
  clear(&all);
  return result;
}

/* ---- derivatives ---------------------------------------------------------------------------- */

/* Linearizes problem i. Returns 1 if its derivatives are still to be computed. */
static int linearize(batch *all, worker *w, Py_ssize_t i) {
  if (w->status != SAP_OK) {
    return 0;
  }
  const double *v = sapwood_doubles(all->v) + i * (npy_intp)all->problem->sizes.nv;
  sap_linear_point point = {.tree = -1};
  sap_status status = sapwood_varied_point(&w->varied, i, &w->error);
  if (status == SAP_OK) {
    status = sap_sensitivity_linearize(w->sensitivity, &w->varied.problem,
                                       sapwood_varied_parameters(&w->varied), v, NULL, &point,
                                       &w->error);
  }
  sapwood_int32s(all->trees)[i] = point.tree;
  conclude(w, i, status);
  return status == SAP_OK && point.tree < 0;
}

static int differentiate_one(void *context, Py_ssize_t i, int32_t thread) {
  batch *all = context;
  worker *w = &all->workers[thread];
  const Py_ssize_t end = linearize(all, w, i) ? all->m : 0;
  for (Py_ssize_t k = 0; k < end && w->status == SAP_OK; k++) {
    w->status = all->mode(w->sensitivity, &w->differential, &all->response, i * all->m + k,
                          all->frozen, sapwood_doubles(all->residuals) + i, &w->error);
  }
  return 0;
}

PyDoc_STRVAR(vjp_varied_doc,
             "vjp_varied(problem, numbers, n, settings, threads, v, m, v_bar, gamma_bar,\n"
             "group_gamma_bar, spin_gamma_bar, frozen, matrices, /)\n--\n\n"
             "Gradients of m losses of each of the n solutions v (n, nv) of solve_varied, from\n"
             "arrays (n m, ...) or None. Returns a dict of arrays (n m, ...), the trees where H\n"
             "is singular to round-off (n), else -1, and the residuals (n); without matrices no A\n"
             "and J.");

static PyObject *vjp_varied(PyObject *module, PyObject *args) {
  PyObject *problem, *settings, *v, *bars[SAPWOOD_RESPONSES], *result = NULL;
  sapwood_differential made = {.n_slots = 0};
  int matrices;
  batch all = {.mode = sapwood_pull};
  if (!PyArg_ParseTuple(args, "OO!nOiOnOOOOpp:vjp_varied", &problem, &PyDict_Type, &all.numbers,
                        &all.n, &settings, &all.n_threads, &v, &all.m, &bars[0], &bars[1], &bars[2],
                        &bars[3], &all.frozen, &matrices)) {
    return NULL;
  }
  if (begin(&all, module, problem, settings) == 0 && open_workers(&all) == 0 &&
      sapwood_response_read(&all.response, all.problem, all.n * all.m, bars) == 0 &&
      (all.dict = sapwood_differential_make(&made, all.problem, all.n * all.m, matrices)) != NULL &&
      open_sensitivities(&all, v, SAPWOOD_ANY) == 0 && run(&all, differentiate_one) == 0) {
    result = Py_BuildValue("(OOO)", all.dict, all.trees, all.residuals);
  }
  sapwood_differential_clear(&made);
  clear(&all);
  return result;
}

PyDoc_STRVAR(jvp_varied_doc,
             "jvp_varied(problem, numbers, n, settings, threads, v, m, change, frozen, /)\n--\n\n"
             "Changes of each of the n solutions v (n, nv) of solve_varied by m changes of its\n"
             "numbers, a dict of arrays (n m, ...). Returns those of v, gamma, group_gamma and\n"
             "spin_gamma (n m, ...), and trees and residuals as vjp_varied does.");

static PyObject *jvp_varied(PyObject *module, PyObject *args) {
  PyObject *problem, *settings, *v, *change, *result = NULL;
  batch all = {.mode = sapwood_push};
  if (!PyArg_ParseTuple(args, "OO!nOiOnO!p:jvp_varied", &problem, &PyDict_Type, &all.numbers,
                        &all.n, &settings, &all.n_threads, &v, &all.m, &PyDict_Type, &change,
                        &all.frozen)) {
    return NULL;
  }
  all.dict = Py_NewRef(change);
  if (begin(&all, module, problem, settings) == 0 && open_workers(&all) == 0 &&
      sapwood_response_make(&all.response, all.problem, all.n * all.m) == 0 &&
      open_sensitivities(&all, v, SAPWOOD_FINITE) == 0 && run(&all, differentiate_one) == 0) {
    PyArrayObject *const *found = all.response.array;
    result =
        Py_BuildValue("(OOOOOO)", found[0], found[1], found[2], found[3], all.trees, all.residuals);
  }
  clear(&all);
  return result;
}

static PyMethodDef methods[] = {{"solve_varied", solve_varied, METH_VARARGS, solve_varied_doc},
                                {"vjp_varied", vjp_varied, METH_VARARGS, vjp_varied_doc},
                                {"jvp_varied", jvp_varied, METH_VARARGS, jvp_varied_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_varied(PyObject *module) { return PyModule_AddFunctions(module, methods); }
