/* NumPy arrays for a sap_solution, and the records of its iterations. */
#include "python/parts.h"
#include "python/arrays.h"
#include "python/record.h"
#include "python/solver/py_result.h"

#include <stddef.h>
#include <string.h>

int sapwood_result_allocate(sapwood_result *result, const sap_problem *problem,
                            const sap_sizes *sizes) {
  const npy_intp n = problem->n_contacts, nv = (npy_intp)sizes->nv, rows = (npy_intp)sizes->n_rows;
  const npy_intp n_spins = problem->spin == NULL ? 0 : problem->spin->n;
  const int has_groups = problem->n_groups > 0, has_cores = problem->barrier != NULL;
  const int spin_axes = problem->spin == NULL ? 0 : 2;
  const sapwood_layout layouts[SAPWOOD_RESULTS] = {
      [SAPWOOD_V] = {NPY_DOUBLE, 1, {nv}},
      [SAPWOOD_GAMMA] = {NPY_DOUBLE, 2, {n, 3}},
      [SAPWOOD_V_C] = {NPY_DOUBLE, 2, {n, 3}},
      [SAPWOOD_REGIONS] = {NPY_INT8, 1, {n}},
      [SAPWOOD_ISLANDS] = {NPY_UINT8, 2, {problem->n_trees, (npy_intp)sizeof(sap_island_report)}},
      [SAPWOOD_GROUP_GAMMA] = {NPY_DOUBLE, has_groups, {rows}},
      [SAPWOOD_GROUP_V_C] = {NPY_DOUBLE, has_groups, {rows}},
      [SAPWOOD_CORE_SCALE] = {NPY_DOUBLE, has_cores, {n}},
      [SAPWOOD_SPIN_GAMMA] = {NPY_DOUBLE, spin_axes, {n_spins, 3}},
      [SAPWOOD_SPIN_V_C] = {NPY_DOUBLE, spin_axes, {n_spins, 3}}};
  memset(result, 0, sizeof *result);
  if (sapwood_new_all(result->array, layouts, SAPWOOD_RESULTS) < 0) {
    sapwood_result_clear(result);
    return -1;
  }
  PyArrayObject *const *array = result->array;
  sap_solution *solution = &result->solution;
  solution->v = sapwood_doubles(array[SAPWOOD_V]);
  solution->gamma = sapwood_doubles(array[SAPWOOD_GAMMA]);
  solution->v_c = sapwood_doubles(array[SAPWOOD_V_C]);
  solution->regions = (int8_t *)PyArray_DATA(array[SAPWOOD_REGIONS]);
  solution->islands = (sap_island_report *)PyArray_DATA(array[SAPWOOD_ISLANDS]);
  solution->group_gamma = sapwood_optional_doubles(array[SAPWOOD_GROUP_GAMMA]);
  solution->group_v_c = sapwood_optional_doubles(array[SAPWOOD_GROUP_V_C]);
  solution->barrier_scale = sapwood_optional_doubles(array[SAPWOOD_CORE_SCALE]);
  solution->spin_gamma = sapwood_optional_doubles(array[SAPWOOD_SPIN_GAMMA]);
  solution->spin_v_c = sapwood_optional_doubles(array[SAPWOOD_SPIN_V_C]);
  return 0;
}

void sapwood_result_clear(sapwood_result *result) {
  sapwood_release(result->array, SAPWOOD_RESULTS);
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

PyObject *sapwood_history(const sapwood_state *state, const sapwood_records *records) {
  if (records == NULL) {
    Py_RETURN_NONE;
  }
  npy_intp length = records->n;
  /* the call steals the descriptor */
  Py_INCREF(state->iteration_dtype);
  PyObject *array = PyArray_Zeros(1, &length, state->iteration_dtype, 0);
  if (array != NULL && length > 0) {
    memcpy(PyArray_DATA((PyArrayObject *)array), records->copy,
           (size_t)length * sizeof *records->copy);
  }
  return array;
}

sap_status sapwood_copy_records(const sap_iteration *source, sapwood_records *records) {
  const size_t bytes = (size_t)records->n * sizeof *source;
  records->copy = PyMem_RawMalloc(bytes);
  if (records->copy == NULL) {
    return SAP_OUT_OF_MEMORY;
  }
  if (bytes > 0) {
    memcpy(records->copy, source, bytes);
  }
  return SAP_OK;
}

sap_status sapwood_copy_history(const sap_solver *solver, sapwood_records *records) {
  return sapwood_copy_records(sap_solver_history(solver, &records->n), records);
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
    return PyErr_Format(PyExc_TypeError, "solution must be derived from SolutionValues");
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
