/* sap_work_count for the records of a solve, as arrays. */
#include "python/solver/solver.h"

#include "python/errors.h"
#include "python/problem/problem.h"
#include "sap/work.h"

/* the problem's regions (n_contacts) and the records' islands and trials (n), converted */
typedef struct work_arguments {
  sapwood_problem *problem; /* borrowed */
  int n_islands;
  PyArrayObject *regions, *island, *trials;
} work_arguments;

static int read_arguments(const sapwood_state *state, PyObject *args, work_arguments *in) {
  PyObject *problem, *regions, *island, *trials;
  if (!PyArg_ParseTuple(args, "OiOOO:count_work", &problem, &in->n_islands, &regions, &island,
                        &trials)) {
    return -1;
  }
  if (in->n_islands < 0) {
    return sapwood_value_error("n_islands", -1, in->n_islands, "must be >= 0");
  }
  in->problem = sapwood_as_problem(state, problem);
  if (in->problem == NULL) {
    return -1;
  }
  npy_intp n_contacts = in->problem->problem.n_contacts;
  in->regions =
      sapwood_in_place(regions, "regions", NPY_INT8, 1, &n_contacts, NPY_ARRAY_C_CONTIGUOUS);
  if (in->regions == NULL || (in->island = sapwood_as_int32(island, "island", -1)) == NULL) {
    return -1;
  }
  in->trials = sapwood_as_int32(trials, "trials", PyArray_DIM(in->island, 0));
  return in->trials == NULL ? -1 : 0;
}

/* New dict with events (n, 3), operations (n, phases, 3) and resident (n). */
static PyObject *work_dict(const struct sap_island_work *islands, int n) {
  npy_intp shape[3] = {n, 3, 3};
  PyArrayObject *events = (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_INT32);
  shape[1] = SAP_WORK_PHASES;
  PyArrayObject *operations = (PyArrayObject *)PyArray_SimpleNew(3, shape, NPY_DOUBLE);
  PyArrayObject *resident = (PyArrayObject *)PyArray_SimpleNew(1, shape, NPY_DOUBLE);
  PyObject *dict = NULL;
  if (events != NULL && operations != NULL && resident != NULL) {
    double *number = sapwood_doubles(operations);
    for (int i = 0; i < n; i++) {
      sapwood_int32s(events)[3 * i] = islands[i].evaluations;
      sapwood_int32s(events)[3 * i + 1] = islands[i].directions;
      sapwood_int32s(events)[3 * i + 2] = islands[i].trials;
      sapwood_doubles(resident)[i] = islands[i].resident;
      for (int p = 0; p < SAP_WORK_PHASES; p++) {
        *number++ = islands[i].phase[p].flops;
        *number++ = islands[i].phase[p].roots;
        *number++ = islands[i].phase[p].bytes;
      }
    }
    dict = Py_BuildValue("{s:O,s:O,s:O}", "events", events, "operations", operations, "resident",
                         resident);
  }
  Py_XDECREF(events);
  Py_XDECREF(operations);
  Py_XDECREF(resident);
  return dict;
}

PyDoc_STRVAR(count_work_doc,
             "count_work(problem, n_islands, regions, island, trials, /)\n--\n\n"
             "Dict with events, operations and resident of each island. See sapwood.work.");

static PyObject *count_work(PyObject *module, PyObject *args) {
  work_arguments in = {0};
  struct sap_island_work *islands = NULL;
  PyObject *dict = NULL;
  if (read_arguments(sapwood_state_of_module(module), args, &in) < 0) {
    goto done;
  }
  islands = PyMem_RawCalloc((size_t)in.n_islands, sizeof *islands);
  if (islands == NULL) {
    PyErr_NoMemory();
    goto done;
  }
  const struct sap_work_records records = {(int32_t)PyArray_DIM(in.island, 0),
                                           sapwood_int32s(in.island), sapwood_int32s(in.trials)};
  sap_error error = {0};
  sap_status status;
  Py_BEGIN_ALLOW_THREADS
  status = sap_work_count(&in.problem->problem, (const int8_t *)PyArray_DATA(in.regions), &records,
                          in.n_islands, islands, NULL, &error);
  Py_END_ALLOW_THREADS
  if (sapwood_raise(status, &error) == 0) {
    dict = work_dict(islands, in.n_islands);
  }
done:
  PyMem_RawFree(islands);
  Py_XDECREF(in.regions);
  Py_XDECREF(in.island);
  Py_XDECREF(in.trials);
  return dict;
}

static PyMethodDef methods[] = {{"count_work", count_work, METH_VARARGS, count_work_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_work(PyObject *module) { return PyModule_AddFunctions(module, methods); }
