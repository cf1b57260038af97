/* sap_project_barrier for arrays of contacts. The Python layer checks the values, while their
 * indices are still the caller's, and broadcasts; this file fills new arrays. */
#include "python/laws/py_laws.h"

#include "python/errors.h"
#include "python/problem/core_table.h"
#include "python/state.h"

/* The converted arguments: y (n, 3), mu (n), R_t (n), R_n (n), soft_norm and, or NULL, core (n),
 * kappa (n), core_lambda (n), and the table of tabulated cores. */
typedef struct law_arguments {
  PyArrayObject *y, *mu, *R_t, *R_n, *core, *kappa, *core_lambda;
  sapwood_core_table core_table;
  double soft_norm;
  npy_intp n;
} law_arguments;

static void release_arguments(law_arguments *in) {
  Py_CLEAR(in->y);
  Py_CLEAR(in->mu);
  Py_CLEAR(in->R_t);
  Py_CLEAR(in->R_n);
  Py_CLEAR(in->core);
  Py_CLEAR(in->kappa);
  Py_CLEAR(in->core_lambda);
  sapwood_core_table_clear(&in->core_table);
}

static int read_cores(law_arguments *in, PyObject *const *args) {
  in->core =
      sapwood_in_place(args[0], "core", NPY_INT8, SAPWOOD_SHAPE(in->n), NPY_ARRAY_C_CONTIGUOUS);
  return in->core != NULL &&
                 (in->kappa = sapwood_as_vector(args[1], "kappa", in->n, SAPWOOD_ANY)) != NULL &&
                 (in->core_lambda =
                      sapwood_as_vector(args[2], "core_lambda", in->n, SAPWOOD_ANY)) != NULL
             ? sapwood_core_table_read(&in->core_table, args[3])
             : -1;
}

/* Evaluates the law into the arrays that are not NULL. */
static void apply_law(const law_arguments *in, double *gamma, double *G, double *cost,
                      int8_t *regions) {
  const int8_t *core = in->core ? PyArray_DATA(in->core) : NULL;
  Py_BEGIN_ALLOW_THREADS
  sap_project_barrier(in->n, sapwood_doubles(in->y), sapwood_doubles(in->mu),
                      sapwood_doubles(in->R_t), sapwood_doubles(in->R_n), in->soft_norm, core,
                      core ? sapwood_doubles(in->kappa) : NULL,
                      core ? sapwood_doubles(in->core_lambda) : NULL,
                      sapwood_core_table_of(&in->core_table), gamma, G, cost, regions);
  Py_END_ALLOW_THREADS
}

static int read_arguments(law_arguments *in, PyObject *const *args, Py_ssize_t n_args) {
  if (n_args != 5 && n_args != 9) {
    PyErr_SetString(PyExc_TypeError,
                    "expected y, mu, R_t, R_n, soft_norm, or these with core, kappa, core_lambda, "
                    "core_table");
    return -1;
  }
  if ((in->y = sapwood_as_float64(args[0], "y", SAPWOOD_SHAPE(-1, 3), SAPWOOD_ANY)) == NULL) {
    return -1;
  }
  in->n = PyArray_DIM(in->y, 0);
  if ((in->mu = sapwood_as_vector(args[1], "mu", in->n, SAPWOOD_ANY)) == NULL ||
      (in->R_t = sapwood_as_vector(args[2], "R_t", in->n, SAPWOOD_ANY)) == NULL ||
      (in->R_n = sapwood_as_vector(args[3], "R_n", in->n, SAPWOOD_ANY)) == NULL ||
      sapwood_as_double(args[4], "soft_norm", SAPWOOD_NON_NEGATIVE, &in->soft_norm) < 0) {
    return -1;
  }
  return n_args == 9 ? read_cores(in, args + 5) : 0;
}

PyDoc_STRVAR(project_doc,
             "project(y, mu, R_t, R_n, soft_norm, core=..., kappa=..., core_lambda=..., "
             "core_table=..., /)\n--\n\n"
             "Dict with gamma (n, 3), G (n, 3, 3) and regions (n) for y (n, 3).");

static PyObject *project(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args) {
  law_arguments in = {0};
  PyArrayObject *gamma = NULL, *G = NULL, *regions = NULL;
  PyObject *dict = NULL;
  if (read_arguments(&in, args, n_args) < 0) {
    goto done;
  }
  npy_intp shape[3] = {in.n, 3, 3};
  gamma = sapwood_new(NPY_DOUBLE, 2, shape);
  G = sapwood_new(NPY_DOUBLE, 3, shape);
  regions = sapwood_new(NPY_INT8, 1, shape);
  if (gamma == NULL || G == NULL || regions == NULL) {
    goto done;
  }
  apply_law(&in, sapwood_doubles(gamma), sapwood_doubles(G), NULL, PyArray_DATA(regions));
  dict = Py_BuildValue("{s:O,s:O,s:O}", "gamma", gamma, "G", G, "regions", regions);
done:
  release_arguments(&in);
  Py_XDECREF(gamma);
  Py_XDECREF(G);
  Py_XDECREF(regions);
  return dict;
}

PyDoc_STRVAR(contact_cost_doc,
             "contact_cost(y, mu, R_t, R_n, soft_norm, core=..., kappa=..., core_lambda=..., "
             "core_table=..., /)\n--\n\n"
             "Cost (n) of each contact for y (n, 3).");

static PyObject *contact_cost(PyObject *Py_UNUSED(module), PyObject *const *args,
                              Py_ssize_t n_args) {
  law_arguments in = {0};
  PyArrayObject *cost = NULL;
  if (read_arguments(&in, args, n_args) < 0) {
    goto done;
  }
  cost = sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(in.n));
  if (cost == NULL) {
    goto done;
  }
  apply_law(&in, NULL, NULL, sapwood_doubles(cost), NULL);
done:
  release_arguments(&in);
  return (PyObject *)cost;
}

static PyMethodDef methods[] = {
    {"project", SAPWOOD_FAST(project), METH_FASTCALL, project_doc},
    {"contact_cost", SAPWOOD_FAST(contact_cost), METH_FASTCALL, contact_cost_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_contact_law(PyObject *module) { return PyModule_AddFunctions(module, methods); }
