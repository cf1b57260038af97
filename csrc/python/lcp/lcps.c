/* _core.solve_lcps. */
#include "python/parts.h"

#include <string.h>

#include "base/threads.h"
#include "python/lcp/py_lcp.h"

enum { OUTCOME, METHOD, PIVOTS, ATTEMPTS, N_COUNTS };
enum { Z, W, BASIS, COUNTS, NUMBERS, N_RESULTS };
enum { RESIDUAL, RELATIVE_RESIDUAL, REGULARIZATION, N_NUMBERS };

typedef struct lcps {
  lcp_settings settings;
  npy_intp n_problems, n;
  PyArrayObject *M, *q, *start; /* start may be NULL */
  PyArrayObject *result[N_RESULTS];
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
  lcp_solution solution = {.z = sapwood_doubles(all->result[Z]) + at,
                           .w = sapwood_doubles(all->result[W]) + at,
                           .basis = (int8_t *)PyArray_DATA(all->result[BASIS]) + at};
  const sap_status status =
      lcp_solve(all->solver[thread], &all->settings, &problem, start, &solution, error);
  int32_t *counts = sapwood_int32s(all->result[COUNTS]) + (npy_intp)task * N_COUNTS;
  double *numbers = sapwood_doubles(all->result[NUMBERS]) + (npy_intp)task * N_NUMBERS;
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
    return SAPWOOD_FAIL(PyExc_ValueError, "q: must have at most 30000 entries");
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
  const npy_intp length[N_RESULTS] = {all->n, all->n, all->n, N_COUNTS, N_NUMBERS};
  static const int typenum[N_RESULTS] = {NPY_DOUBLE, NPY_DOUBLE, NPY_INT8, NPY_INT32, NPY_DOUBLE};
  return sapwood_batch_results(all->result, all->n_problems, length, typenum, N_RESULTS);
}

PyDoc_STRVAR(solve_lcps_doc,
             "solve_lcps(M, q, basis, settings, batched, threads, /)\n--\n\n"
             "Arrays z, w, basis (k, n), counts (k, 4) and numbers (k, 3) of k problems.");

static PyObject *solve_lcps(PyObject *module, PyObject *args) {
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
    const sapwood_batch batch = {&all, create, solve, (int32_t)all.n_problems};
    if (sapwood_batch_run(module, &batch, threads) == 0) {
      PyArrayObject **r = all.result;
      results = PyTuple_Pack(N_RESULTS, r[Z], r[W], r[BASIS], r[COUNTS], r[NUMBERS]);
    }
  }
  for (int k = 0; k < SAP_MOST_THREADS; k++) {
    lcp_destroy(all.solver[k]);
  }
  Py_XDECREF(all.M);
  Py_XDECREF(all.q);
  Py_XDECREF(all.start);
  sapwood_release(all.result, N_RESULTS);
  return results;
}

static PyMethodDef methods[] = {{"solve_lcps", solve_lcps, METH_VARARGS, solve_lcps_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_lcps(PyObject *module) { return PyModule_AddFunctions(module, methods); }
