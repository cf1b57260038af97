/* NumPy arrays for a sap_solution, and the records of its iterations. */
#include "python/record.h"
#include "python/solver/py_result.h"

#include <stddef.h>
#include <string.h>

int sapwood_result_allocate(sapwood_result *result, const sap_problem *problem,
                            const sap_sizes *sizes) {
  npy_intp velocities = (npy_intp)sizes->nv;
  npy_intp contacts[2] = {problem->n_contacts, 3};
  npy_intp rows = (npy_intp)sizes->n_rows;
  npy_intp islands[2] = {problem->n_trees, (npy_intp)sizeof(sap_island_report)};
  memset(result, 0, sizeof *result);
  result->v = sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(velocities));
  result->gamma = sapwood_new(NPY_DOUBLE, 2, contacts);
  result->v_c = sapwood_new(NPY_DOUBLE, 2, contacts);
  result->regions = sapwood_new(NPY_INT8, 1, contacts);
  result->islands = sapwood_new(NPY_UINT8, 2, islands);
  if (result->v == NULL || result->gamma == NULL || result->v_c == NULL ||
      result->regions == NULL || result->islands == NULL) {
    sapwood_result_clear(result);
    return -1;
  }
  if (problem->n_groups > 0) {
    result->group_gamma = sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(rows));
    result->group_v_c = sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(rows));
    if (result->group_gamma == NULL || result->group_v_c == NULL) {
      sapwood_result_clear(result);
      return -1;
    }
    result->solution.group_gamma = sapwood_doubles(result->group_gamma);
    result->solution.group_v_c = sapwood_doubles(result->group_v_c);
  }
  if (problem->barrier != NULL) {
    result->core_scale = sapwood_new(NPY_DOUBLE, 1, contacts);
    if (result->core_scale == NULL) {
      sapwood_result_clear(result);
      return -1;
    }
    result->solution.barrier_scale = sapwood_doubles(result->core_scale);
  }
  if (problem->spin != NULL) {
    npy_intp spins[2] = {problem->spin->n, 3};
    result->spin_gamma = sapwood_new(NPY_DOUBLE, 2, spins);
    result->spin_v_c = sapwood_new(NPY_DOUBLE, 2, spins);
    if (result->spin_gamma == NULL || result->spin_v_c == NULL) {
      sapwood_result_clear(result);
      return -1;
    }
    result->solution.spin_gamma = sapwood_doubles(result->spin_gamma);
    result->solution.spin_v_c = sapwood_doubles(result->spin_v_c);
  }
  result->solution.v = sapwood_doubles(result->v);
  result->solution.gamma = sapwood_doubles(result->gamma);
  result->solution.v_c = sapwood_doubles(result->v_c);
  result->solution.regions = (int8_t *)PyArray_DATA(result->regions);
  result->solution.islands = (sap_island_report *)PyArray_DATA(result->islands);
  return 0;
}

void sapwood_result_clear(sapwood_result *result) {
  Py_CLEAR(result->v);
  Py_CLEAR(result->gamma);
  Py_CLEAR(result->v_c);
  Py_CLEAR(result->regions);
  Py_CLEAR(result->islands);
  Py_CLEAR(result->group_gamma);
  Py_CLEAR(result->group_v_c);
  Py_CLEAR(result->core_scale);
  Py_CLEAR(result->spin_gamma);
  Py_CLEAR(result->spin_v_c);
}

/* ---- history -------------------------------------------------------------------------------- */

/* Fields of the dtype with the memory layout of sap_iteration. */
static const sapwood_field iteration_fields[] = {
    SAPWOOD_FIELD(sap_iteration, island, "i4"),
    SAPWOOD_FIELD(sap_iteration, iteration, "i4"),
    SAPWOOD_FIELD(sap_iteration, trials, "i4"),
    SAPWOOD_FIELD(sap_iteration, step, "f8"),
    SAPWOOD_FIELD(sap_iteration, cost, "f8"),
    SAPWOOD_FIELD(sap_iteration, decrease, "f8"),
    SAPWOOD_FIELD(sap_iteration, momentum_error, "f8"),
};

PyObject *sapwood_history(const sapwood_state *state, const sap_iteration *records, int32_t n) {
  npy_intp length = n;
  /* the call steals the descriptor */
  Py_INCREF(state->iteration_dtype);
  PyObject *array = PyArray_Zeros(1, &length, state->iteration_dtype, 0);
  if (array != NULL && n > 0) {
    memcpy(PyArray_DATA((PyArrayObject *)array), records, (size_t)n * sizeof *records);
  }
  return array;
}

sap_status sapwood_copy_records(const sap_solver *solver, sapwood_records *records) {
  const sap_iteration *source = sap_solver_history(solver, &records->n);
  size_t bytes = (size_t)records->n * sizeof *source;
  records->copy = PyMem_RawMalloc(bytes);
  if (records->copy == NULL) {
    return SAP_OUT_OF_MEMORY;
  }
  if (bytes > 0) {
    memcpy(records->copy, source, bytes);
  }
  return SAP_OK;
}

PyDoc_STRVAR(
    set_solution_types_doc,
    "set_solution_types(solution, constraint_solution, status, island_algorithms, /)\n--\n\n"
    "Say what solutions are made of: the classes Solution, ConstraintSolution and Status, and a\n"
    "function that makes Solution.algorithm from the reports of islands (n, 8) uint8.");

static PyObject *set_solution_types(PyObject *module, PyObject *args) {
  sapwood_state *state = sapwood_state_of_module(module);
  PyObject *solution, *group, *status, *algorithms;
  if (!PyArg_ParseTuple(args, "O!O!O!O:set_solution_types", &PyType_Type, &solution, &PyType_Type,
                        &group, &PyType_Type, &status, &algorithms)) {
    return NULL;
  }
  if (!PyType_IsSubtype((PyTypeObject *)solution, state->values_type)) {
    PyErr_SetString(PyExc_TypeError, "solution must be derived from SolutionValues");
    return NULL;
  }
  PyObject *statuses = PySequence_Tuple(status);
  if (statuses == NULL || PyTuple_GET_SIZE(statuses) != SAP_PROXIMAL_LIMIT + 1) {
    Py_XDECREF(statuses);
    return statuses == NULL ? NULL : PyErr_Format(PyExc_ValueError, "one status per outcome");
  }
  Py_XSETREF(state->solution_type, (PyTypeObject *)Py_NewRef(solution));
  Py_XSETREF(state->group_type, (PyTypeObject *)Py_NewRef(group));
  Py_XSETREF(state->statuses, statuses);
  Py_XSETREF(state->island_algorithms, Py_NewRef(algorithms));
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"set_solution_types", set_solution_types, METH_VARARGS, set_solution_types_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_results(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  state->iteration_dtype = SAPWOOD_RECORD(sap_iteration, iteration_fields);
  return state->iteration_dtype == NULL ? -1 : PyModule_AddFunctions(module, methods);
}
