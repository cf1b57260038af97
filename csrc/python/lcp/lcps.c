/* _core.solve_lcps. */
#include <string.h>

#include "base/threads.h"
#include "python/lcp/py_lcp.h"

enum { OUTCOME, METHOD, PIVOTS, ATTEMPTS, N_COUNTS };
enum { RESIDUAL, RELATIVE_RESIDUAL, REGULARIZATION, N_NUMBERS };

typedef struct lcps {
  lcp_settings settings;
  npy_intp n_problems, n;
  PyArrayObject *M, *q, *start; /* start may be NULL */
  PyArrayObject *z, *w, *basis, *counts, *numbers;
  lcp_solver *solver[SAP_MOST_THREADS];
} lcps;

static sap_status create(void *context, int32_t thread, sap_error *error) {
  lcps *all = context;
  return lcp_create(&all->solver[thread], (int32_t)all->n, NULL, error);
}

static sap_status solve(void *context, int32_t task, int32_t thread, sap_error *error) {
  lcps *all = context;
  const npy_intp at = task * all->n;
  const lcp_problem problem = {(int32_t)all->n, sapwood_doubles(all->M) + at * all->n,
                               sapwood_doubles(all->q) + at};
  const int8_t *start = all->start == NULL ? NULL : (const int8_t *)PyArray_DATA(all->start) + at;
  lcp_solution solution = {.z = sapwood_doubles(all->z) + at,
                           .w = sapwood_doubles(all->w) + at,
                           .basis = (int8_t *)PyArray_DATA(all->basis) + at};
  const sap_status status =
      lcp_solve(all->solver[thread], &all->settings, &problem, start, &solution, error);
  int32_t *counts = sapwood_int32s(all->counts) + (npy_intp)task * N_COUNTS;
  double *numbers = sapwood_doubles(all->numbers) + (npy_intp)task * N_NUMBERS;
  if (status == SAP_OK) {
    counts[OUTCOME] = (int32_t)solution.outcome;
    counts[METHOD] = (int32_t)solution.method;
    counts[PIVOTS] = solution.pivots;
    counts[ATTEMPTS] = solution.attempts;
    numbers[RESIDUAL] = solution.residual;
    numbers[RELATIVE_RESIDUAL] = solution.relative_residual;
    numbers[REGULARIZATION] = solution.regularization;
  }
  return status;
}

/* Reads M (n, n), q (n) and the start; each has a leading dimension if `batched`. */
static int read_problems(lcps *all, PyObject *M, PyObject *q, PyObject *start, int batched) {
  const npy_intp open[3] = {-1, -1, -1};
  all->q = sapwood_as_batch(q, "q", batched, 1, open, SAPWOOD_FINITE);
  if (all->q == NULL) {
    return -1;
  }
  all->n_problems = batched ? PyArray_DIM(all->q, 0) : 1;
  all->n = PyArray_DIM(all->q, batched);
  if (all->n > 30000 || all->n_problems > INT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "q: must have at most 30000 entries");
    return -1;
  }
  const npy_intp shape[3] = {all->n_problems, all->n, all->n};
  all->M = sapwood_as_batch(M, "M", batched, 2, shape, SAPWOOD_FINITE);
  if (all->M == NULL) {
    return -1;
  }
  if (start != Py_None) {
    all->start = sapwood_in_place(start, "z0", NPY_INT8, 1 + batched, shape + !batched,
                                  NPY_ARRAY_C_CONTIGUOUS);
    return all->start == NULL ? -1 : 0;
  }
  return 0;
}

static int make_results(lcps *all) {
  const npy_intp k = all->n_problems;
  all->z = sapwood_batch_result(k, all->n, NPY_DOUBLE);
  all->w = sapwood_batch_result(k, all->n, NPY_DOUBLE);
  all->basis = sapwood_batch_result(k, all->n, NPY_INT8);
  all->counts = sapwood_batch_result(k, N_COUNTS, NPY_INT32);
  all->numbers = sapwood_batch_result(k, N_NUMBERS, NPY_DOUBLE);
  return all->z && all->w && all->basis && all->counts && all->numbers ? 0 : -1;
}

PyDoc_STRVAR(solve_lcps_doc,
             "solve_lcps(M, q, basis, settings, batched, threads, /)\n--\n\n"
             "Arrays z, w, basis (k, n), counts (k, 4) and numbers (k, 3) of k problems.");

static PyObject *solve_lcps(PyObject *Py_UNUSED(module), PyObject *args) {
  lcps all = {.settings = lcp_settings_default()};
  PyObject *M, *q, *start, *results = NULL;
  lcp_settings *s = &all.settings;
  int method, batched, threads;
  if (!PyArg_ParseTuple(args, "OOO(idiiddd)pi:solve_lcps", &M, &q, &start, &method, &s->tolerance,
                        &s->max_pivots, &s->least_index_after, &s->regularization_first,
                        &s->regularization_factor, &s->regularization_last, &batched, &threads)) {
    return NULL;
  }
  s->method = (lcp_method)method;
  if (read_problems(&all, M, q, start, batched) == 0 && make_results(&all) == 0) {
    sapwood_batch batch = {.context = &all,
                           .create = create,
                           .solve = solve,
                           .n = (int32_t)all.n_problems,
                           .n_threads = sapwood_batch_threads(threads, all.n_problems)};
    if (sapwood_batch_run(&batch) == 0) {
      results = PyTuple_Pack(5, all.z, all.w, all.basis, all.counts, all.numbers);
    }
  }
  for (int k = 0; k < SAP_MOST_THREADS; k++) {
    lcp_destroy(all.solver[k]);
  }
  PyArrayObject *const arrays[] = {all.M, all.q,     all.start,  all.z,
                                   all.w, all.basis, all.counts, all.numbers};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    Py_XDECREF(arrays[i]);
  }
  return results;
}

static PyMethodDef methods[] = {{"solve_lcps", solve_lcps, METH_VARARGS, solve_lcps_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_lcps(PyObject *module) { return PyModule_AddFunctions(module, methods); }
