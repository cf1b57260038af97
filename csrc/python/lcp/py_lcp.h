/* _core.solve_lcps and _core.solve_qps: complementarity problems and quadratic programs, one or
 * many of one size. The arrays of many have a leading dimension. */
#ifndef SAPWOOD_PYTHON_LCP_PY_LCP_H
#define SAPWOOD_PYTHON_LCP_PY_LCP_H

#include "python/convert.h"
#include "sapwood.h"

int sapwood_add_lcps(PyObject *module);
int sapwood_add_qps(PyObject *module);

/* ---- common parts ---- */

/* The problems of a call, shared by threads with one solver each. */
typedef struct sapwood_batch {
  void *context;
  /* makes the solver of a thread */
  sap_status (*create)(void *context, int32_t thread, sap_error *error);
  sap_status (*solve)(void *context, int32_t task, int32_t thread, sap_error *error);
  int32_t n, n_threads;
  sap_status status; /* status of the first problem that failed */
  sap_error error;
} sapwood_batch;

/* Returns the useful number of threads for n problems. */
int32_t sapwood_batch_threads(int threads, npy_intp n);

/* Solves all without the GIL. Returns 0, or -1 with the exception of the first problem that
 * fails. */
int sapwood_batch_run(sapwood_batch *batch);

/* Returns a finite array of ndim dimensions, after the leading one if it is `batched`; -1 in the
 * shape leaves a length open. */
PyArrayObject *sapwood_as_batch(PyObject *object, const char *name, int batched, int ndim,
                                const npy_intp *shape, sapwood_rule rule);

/* Returns a new array of zeros with the shape (n, length) and this NumPy type. */
PyArrayObject *sapwood_batch_result(npy_intp n, npy_intp length, int typenum);

#endif
