/* Runs the problems of a call on threads. */
#include "base/memory.h"
#include "base/threads.h"
#include "python/errors.h"
#include "python/lcp/py_lcp.h"

int32_t sapwood_batch_threads(int threads, npy_intp n) {
  const npy_intp most = n < SAP_MOST_THREADS ? n : SAP_MOST_THREADS;
  const npy_intp wanted = threads < most ? threads : most;
  return wanted < 1 ? 1 : (int32_t)wanted;
}

PyArrayObject *sapwood_as_batch(PyObject *object, const char *name, int batched, int ndim,
                                const npy_intp *shape, sapwood_rule rule) {
  return sapwood_as_float64(object, name, ndim + batched, shape + !batched, rule);
}

PyArrayObject *sapwood_batch_result(npy_intp n, npy_intp length, int typenum) {
  const npy_intp shape[2] = {n, length};
  return (PyArrayObject *)PyArray_ZEROS(2, (npy_intp *)shape, typenum, 0);
}

/* The results of all problems: the first failure is the same, whichever thread solved it. */
struct results {
  sapwood_batch *batch;
  struct result {
    sap_status status;
    sap_error error;
  } *each; /* (n) */
};

static void run_task(void *context, int32_t task, int32_t thread) {
  struct results *results = context;
  struct result *result = &results->each[task];
  sapwood_batch *batch = results->batch;
  result->status = batch->solve(batch->context, task, thread, &result->error);
}

int sapwood_batch_run(sapwood_batch *batch) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  struct results results = {batch, PyMem_Calloc((size_t)batch->n + 1, sizeof *results.each)};
  struct sap_threads *threads = NULL;
  sap_status status = results.each == NULL ? SAP_OUT_OF_MEMORY : SAP_OK;
  sap_error error = {0};
  for (int32_t k = 0; k < batch->n_threads && status == SAP_OK; k++) {
    status = batch->create(batch->context, k, &error);
  }
  if (status == SAP_OK && batch->n_threads > 1) {
    threads = sap_threads_create(batch->n_threads, &memory);
    status = threads == NULL ? SAP_OUT_OF_MEMORY : SAP_OK;
  }
  if (status == SAP_OK) {
    const struct sap_loop loop = {run_task, &results, batch->n};
    Py_BEGIN_ALLOW_THREADS
    if (threads != NULL) {
      sap_threads_wake(threads);
    }
    sap_threads_run(threads, &loop);
    sap_threads_destroy(threads, &memory);
    Py_END_ALLOW_THREADS
  }
  for (int32_t i = 0; i < batch->n && status == SAP_OK; i++) {
    status = results.each[i].status;
    error = results.each[i].error;
  }
  PyMem_Free(results.each);
  return sapwood_raise(status, &error);
}
