/* _core.solve_qps. */
#include "python/parts.h"
#include "base/threads.h"
#include "python/lcp/py_lcp.h"

enum { OUTCOME, ITERATIONS, POLISHED, N_COUNTS };
enum { OBJECTIVE, PRIMAL, DUAL, GAP, RELATIVE, N_NUMBERS };

/* arrays of the arguments, and of the results */
enum { H, G, A, B, C, D, LOWER, UPPER, START_X, START_Y, START_LAMBDA, START_BOUNDS, N_GIVEN };
enum { X, Y, LAMBDA, BOUNDS, COUNTS, NUMBERS, N_RESULTS };

typedef struct qps {
  qp_settings settings;
  npy_intp n_problems, n, n_equalities, n_inequalities;
  PyArrayObject *given[N_GIVEN]; /* NULL stands for None */
  PyArrayObject *result[N_RESULTS];
  qp_solver *solver[SAP_MOST_THREADS];
} qps;

static sap_status create(void *context, int32_t thread, sap_error *error) {
  qps *all = context;
  return qp_create(&all->solver[thread], (int32_t)all->n, (int32_t)all->n_equalities,
                   (int32_t)all->n_inequalities, NULL, error);
}

/* Returns the part of a problem in one of its arrays. */
static double *part(PyArrayObject *array, int32_t task, npy_intp length) {
  return array == NULL ? NULL : sapwood_doubles(array) + task * length;
}

static sap_status solve(void *context, int32_t task, int32_t thread, sap_error *error) {
  qps *all = context;
  PyArrayObject *const *in = all->given, *const *out = all->result;
  const npy_intp n = all->n, m_e = all->n_equalities, m_i = all->n_inequalities;
  const qp_problem problem = {.n = (int32_t)n,
                              .n_equalities = (int32_t)m_e,
                              .n_inequalities = (int32_t)m_i,
                              .H = part(in[H], task, n * n),
                              .g = part(in[G], task, n),
                              .A = part(in[A], task, m_e * n),
                              .b = part(in[B], task, m_e),
                              .C = part(in[C], task, m_i * n),
                              .d = part(in[D], task, m_i),
                              .lower = part(in[LOWER], task, n),
                              .upper = part(in[UPPER], task, n)};
  qp_solution solution = {.x = part(out[X], task, n),
                          .y = part(out[Y], task, m_e),
                          .lambda = part(out[LAMBDA], task, m_i),
                          .bounds = part(out[BOUNDS], task, n)};
  const qp_start start = {.x = part(in[START_X], task, n),
                          .y = part(in[START_Y], task, m_e),
                          .lambda = part(in[START_LAMBDA], task, m_i),
                          .bounds = part(in[START_BOUNDS], task, n)};
  const sap_status status = qp_solve(all->solver[thread], &all->settings, &problem,
                                     in[START_X] ? &start : NULL, &solution, error);
  int32_t *counts = sapwood_int32s(out[COUNTS]) + (npy_intp)task * N_COUNTS;
  double *numbers = part(out[NUMBERS], task, N_NUMBERS);
  if (status == SAP_OK) {
    counts[OUTCOME] = (int32_t)solution.outcome;
    counts[ITERATIONS] = solution.iterations;
    counts[POLISHED] = solution.polished;
    numbers[OBJECTIVE] = solution.objective;
    numbers[PRIMAL] = solution.primal_residual;
    numbers[DUAL] = solution.dual_residual;
    numbers[GAP] = solution.gap;
    numbers[RELATIVE] = solution.relative_residual;
  }
  return status;
}

/* Reads rows (m, n) with right-hand sides (m), or neither. Returns their number, or -1. */
static npy_intp read_rows(qps *all, PyObject *const *objects, int matrix, int vector,
                          const char *matrix_name, const char *vector_name, sapwood_rule rule,
                          int batched) {
  if (objects[matrix] == Py_None && objects[vector] == Py_None) {
    return 0;
  }
  if (objects[matrix] == Py_None || objects[vector] == Py_None) {
    return SAPWOOD_FAIL(PyExc_ValueError, "%s and %s must be given together", matrix_name,
                        vector_name);
  }
  const npy_intp any[2] = {all->n_problems, -1};
  all->given[vector] = sapwood_as_batch(objects[vector], vector_name, batched, 1, any, rule);
  if (all->given[vector] == NULL) {
    return -1;
  }
  const npy_intp m = PyArray_DIM(all->given[vector], batched);
  const npy_intp shape[3] = {all->n_problems, m, all->n};
  all->given[matrix] =
      sapwood_as_batch(objects[matrix], matrix_name, batched, 2, shape, SAPWOOD_FINITE);
  return all->given[matrix] == NULL ? -1 : m;
}

/* Reads x, y, lambda and bounds of the start, or None. */
static int read_start(qps *all, PyObject *start, int batched) {
  const char *const names[] = {"start.x", "start.y", "start.lam", "start.bounds"};
  const npy_intp length[] = {all->n, all->n_equalities, all->n_inequalities, all->n};
  PyObject *o[4];
  if (start == Py_None) {
    return 0;
  }
  if (!PyArg_ParseTuple(start, "OOOO:start", &o[X], &o[Y], &o[LAMBDA], &o[BOUNDS])) {
    return -1;
  }
  for (int i = 0; i < 4; i++) {
    const npy_intp shape[2] = {all->n_problems, length[i]};
    all->given[START_X + i] = sapwood_as_batch(o[i], names[i], batched, 1, shape, SAPWOOD_FINITE);
    if (all->given[START_X + i] == NULL) {
      return -1;
    }
  }
  return 0;
}

static int read_problems(qps *all, PyObject *const *objects, int batched) {
  const npy_intp open[2] = {-1, -1};
  all->given[G] = sapwood_as_batch(objects[G], "g", batched, 1, open, SAPWOOD_FINITE);
  if (all->given[G] == NULL) {
    return -1;
  }
  all->n_problems = batched ? PyArray_DIM(all->given[G], 0) : 1;
  all->n = PyArray_DIM(all->given[G], batched);
  const npy_intp shape[3] = {all->n_problems, all->n, all->n};
  all->given[H] = sapwood_as_batch(objects[H], "H", batched, 2, shape, SAPWOOD_FINITE);
  if (all->given[H] == NULL) {
    return -1;
  }
  all->n_equalities = read_rows(all, objects, A, B, "A", "b", SAPWOOD_FINITE, batched);
  if (all->n_equalities < 0) {
    return -1;
  }
  all->n_inequalities = read_rows(all, objects, C, D, "C", "d", SAPWOOD_ANY, batched);
  if (all->n_inequalities < 0) {
    return -1;
  }
  const char *const names[] = {"lower", "upper"};
  for (int k = 0; k < 2; k++) {
    if (objects[LOWER + k] != Py_None) {
      all->given[LOWER + k] =
          sapwood_as_batch(objects[LOWER + k], names[k], batched, 1, shape, SAPWOOD_ANY);
      if (all->given[LOWER + k] == NULL) {
        return -1;
      }
    }
  }
  const npy_intp rows = all->n_equalities + all->n_inequalities;
  if (all->n > 30000 || rows > 30000 || all->n_problems > INT32_MAX) {
    return SAPWOOD_FAIL(PyExc_ValueError, "g: must have at most 30000 entries, and as many rows");
  }
  return 0;
}

static int make_results(qps *all) {
  const npy_intp length[N_RESULTS] = {all->n, all->n_equalities, all->n_inequalities,
                                      all->n, N_COUNTS,          N_NUMBERS};
  static const int typenum[N_RESULTS] = {NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE,
                                         NPY_DOUBLE, NPY_INT32,  NPY_DOUBLE};
  return sapwood_batch_results(all->result, all->n_problems, length, typenum, N_RESULTS);
}

PyDoc_STRVAR(solve_qps_doc,
             "solve_qps((H, g, A, b, C, d, lower, upper), start, settings, batched, threads, /)\n"
             "--\n\n"
             "Arrays x, y, lambda, bounds, counts (k, 3) and numbers (k, 5) of k problems.");

static PyObject *solve_qps(PyObject *module, PyObject *args) {
  qps all = {.settings = qp_settings_default()};
  PyObject *o[UPPER + 1], *start, *results = NULL;
  qp_settings *s = &all.settings;
  int batched, threads;
  if (!PyArg_ParseTuple(args, "(OOOOOOOO)O(dipp)pi:solve_qps", &o[H], &o[G], &o[A], &o[B], &o[C],
                        &o[D], &o[LOWER], &o[UPPER], &start, &s->tolerance, &s->max_iterations,
                        &s->polish, &s->check_convex, &batched, &threads)) {
    return NULL;
  }
  if (read_problems(&all, o, batched) == 0 && read_start(&all, start, batched) == 0 &&
      make_results(&all) == 0) {
    const sapwood_batch batch = {&all, create, solve, (int32_t)all.n_problems};
    if (sapwood_batch_run(module, &batch, threads) == 0) {
      PyArrayObject **r = all.result;
      results = PyTuple_Pack(N_RESULTS, r[X], r[Y], r[LAMBDA], r[BOUNDS], r[COUNTS], r[NUMBERS]);
    }
  }
  for (int k = 0; k < SAP_MOST_THREADS; k++) {
    qp_destroy(all.solver[k]);
  }
  sapwood_release(all.given, N_GIVEN);
  sapwood_release(all.result, N_RESULTS);
  return results;
}

static PyMethodDef methods[] = {{"solve_qps", solve_qps, METH_VARARGS, solve_qps_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_qps(PyObject *module) { return PyModule_AddFunctions(module, methods); }
