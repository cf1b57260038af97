/* _core.solve_lcps and _core.solve_qps: complementarity problems and quadratic programs, one or
 * many of one size. The arrays of many have a leading dimension. */
#ifndef SAPWOOD_PYTHON_LCP_PY_LCP_H
#define SAPWOOD_PYTHON_LCP_PY_LCP_H

#include "python/convert.h"
#include "sapwood.h"

/* ---- common parts ---- */

/* The problems of a call, shared by threads with one solver each. */
typedef struct sapwood_batch {
  void *context;
  /* makes the solver of a thread */
  sap_status (*create)(void *context, int32_t thread, sap_error *error);
  sap_status (*solve)(void *context, int32_t task, int32_t thread, sap_error *error);
  int32_t n;
} sapwood_batch;

/* Solves all without the GIL on at most so many threads. Returns 0, or -1 with the exception of the
 * first problem that fails, or of a signal. */
int sapwood_batch_run(PyObject *module, const sapwood_batch *batch, int threads);

/* Returns a finite array of ndim dimensions, after the leading one if it is `batched`; -1 in the
 * shape leaves a length open. */
PyArrayObject *sapwood_as_batch(PyObject *object, const char *name, int batched, int ndim,
                                const npy_intp *shape, sapwood_rule rule);

/* Makes arrays of zeros (n, length) of these NumPy types. Returns 0, or -1 with MemoryError; the
 * caller releases them in both cases. */
int sapwood_batch_results(PyArrayObject **results, npy_intp n, const npy_intp *length,
                          const int *typenum, int n_results);

#endif
