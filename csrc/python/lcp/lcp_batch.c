/* Runs the problems of a call on threads. */
#include "python/errors.h"
#include "python/lcp/py_lcp.h"
#include "python/solver/calls.h"

PyArrayObject *sapwood_as_batch(PyObject *object, const char *name, int batched, int ndim,
                                const npy_intp *shape, sapwood_rule rule) {
  return sapwood_as_float64(object, name, ndim + batched, shape + !batched, rule);
}

int sapwood_batch_results(PyArrayObject **results, npy_intp n, const npy_intp *length,
                          const int *typenum, int n_results) {
  for (int i = 0; i < n_results; i++) {
    results[i] = (PyArrayObject *)PyArray_ZEROS(2, ((npy_intp[]){n, length[i]}), typenum[i], 0);
    if (results[i] == NULL) {
      return -1;
    }
  }
  return 0;
}

/* The results of all problems: the first failure is the same, whichever thread solved it. */
struct results {
  const sapwood_batch *batch;
  struct result {
    sap_status status;
    sap_error error;
  } *each; /* (n) */
};

static int run_task(void *context, Py_ssize_t task, int32_t thread) {
  const struct results *results = context;
  struct result *result = &results->each[task];
  const sapwood_batch *batch = results->batch;
  result->status = batch->solve(batch->context, (int32_t)task, thread, &result->error);
  return 0;
}

int sapwood_batch_run(PyObject *module, const sapwood_batch *batch, int threads) {
  struct results results = {batch, PyMem_Calloc((size_t)batch->n + 1, sizeof *results.each)};
  const sapwood_tasks tasks = {run_task, &results, batch->n};
  const int n_threads = sapwood_tasks_threads(batch->n, threads < 1 ? 1 : threads);
  sap_status status = results.each == NULL ? SAP_OUT_OF_MEMORY : SAP_OK;
  sap_error error = {0};
  for (int32_t k = 0; k < n_threads && status == SAP_OK; k++) {
    status = batch->create(batch->context, k, &error);
  }
  int failed = 0;
  if (status == SAP_OK) {
    failed = sapwood_tasks_run(sapwood_state_of_module(module), &tasks, n_threads);
  }
  for (int32_t i = 0; i < batch->n && status == SAP_OK && !failed; i++) {
    status = results.each[i].status;
    error = results.each[i].error;
  }
  PyMem_Free(results.each);
  return failed ? -1 : sapwood_raise(status, &error);
}
