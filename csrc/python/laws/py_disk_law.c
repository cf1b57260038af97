/* sap_project_disk for arrays of contacts. As for py_contact_law.c, the Python layer checks the
 * values and broadcasts. */
#include "python/laws/py_laws.h"

#include "python/errors.h"
#include "python/state.h"

/* The arrays of a call: converted arguments, and new arrays for the results. */
typedef struct disk_arrays {
  PyArrayObject *y, *bound, *R_t, *R_n;
  PyArrayObject *gamma, *G, *cost, *regions;
} disk_arrays;

static void release_arrays(disk_arrays *of) {
  Py_CLEAR(of->y);
  Py_CLEAR(of->bound);
  Py_CLEAR(of->R_t);
  Py_CLEAR(of->R_n);
  Py_CLEAR(of->gamma);
  Py_CLEAR(of->G);
  Py_CLEAR(of->cost);
  Py_CLEAR(of->regions);
}

static int read_arguments(disk_arrays *in, PyObject *const *args, Py_ssize_t n_args,
                          double *soft_norm) {
  if (n_args != 5) {
    PyErr_SetString(PyExc_TypeError, "expected y, bound, R_t, R_n and soft_norm");
    return -1;
  }
  if ((in->y = sapwood_as_float64(args[0], "y", SAPWOOD_SHAPE(-1, 3), SAPWOOD_ANY)) == NULL) {
    return -1;
  }
  const npy_intp n = PyArray_DIM(in->y, 0);
  return (in->bound = sapwood_as_vector(args[1], "bound", n, SAPWOOD_ANY)) != NULL &&
                 (in->R_t = sapwood_as_vector(args[2], "R_t", n, SAPWOOD_ANY)) != NULL &&
                 (in->R_n = sapwood_as_vector(args[3], "R_n", n, SAPWOOD_ANY)) != NULL &&
                 sapwood_as_double(args[4], "soft_norm", SAPWOOD_NON_NEGATIVE, soft_norm) >= 0
             ? 0
             : -1;
}

static int make_results(disk_arrays *out, npy_intp n) {
  npy_intp shape[3] = {n, 3, 3};
  out->gamma = sapwood_new(NPY_DOUBLE, 2, shape);
  out->G = sapwood_new(NPY_DOUBLE, 3, shape);
  out->cost = sapwood_new(NPY_DOUBLE, 1, shape);
  out->regions = sapwood_new(NPY_INT8, 1, shape);
  return out->gamma && out->G && out->cost && out->regions ? 0 : -1;
}

PyDoc_STRVAR(project_disk_doc,
             "project_disk(y, bound, R_t, R_n, soft_norm, /)\n--\n\n"
             "Dict with gamma (n, 3), G (n, 3, 3), cost (n) and regions (n) for y (n, 3).");

static PyObject *project_disk(PyObject *Py_UNUSED(module), PyObject *const *args,
                              Py_ssize_t n_args) {
  disk_arrays of = {0};
  double soft_norm;
  PyObject *dict = NULL;
  if (read_arguments(&of, args, n_args, &soft_norm) < 0 ||
      make_results(&of, PyArray_DIM(of.y, 0)) < 0) {
    goto done;
  }
  Py_BEGIN_ALLOW_THREADS
  sap_project_disk(PyArray_DIM(of.y, 0), sapwood_doubles(of.y), sapwood_doubles(of.bound),
                   sapwood_doubles(of.R_t), sapwood_doubles(of.R_n), soft_norm,
                   sapwood_doubles(of.gamma), sapwood_doubles(of.G), sapwood_doubles(of.cost),
                   PyArray_DATA(of.regions));
  Py_END_ALLOW_THREADS
  dict = Py_BuildValue("{s:O,s:O,s:O,s:O}", "gamma", of.gamma, "G", of.G, "cost", of.cost,
                       "regions", of.regions);
done:
  release_arrays(&of);
  return dict;
}

static PyMethodDef methods[] = {
    {"project_disk", SAPWOOD_FAST(project_disk), METH_FASTCALL, project_disk_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_disk_law(PyObject *module) { return PyModule_AddFunctions(module, methods); }
