/* NumPy arrays that a sap_solution is written into, and its scalars as Python objects. */
#include "module.h"

#include <stddef.h>
#include <string.h>

int sapwood_result_allocate(sapwood_result *result, const sap_problem *problem,
                            const sap_sizes *sizes) {
  npy_intp velocities = (npy_intp)sizes->nv;
  npy_intp contacts[2] = {problem->n_contacts, 3};
  npy_intp rows = (npy_intp)sizes->n_rows;
  memset(result, 0, sizeof *result);
  result->v = (PyArrayObject *)PyArray_SimpleNew(1, &velocities, NPY_DOUBLE);
  result->gamma = (PyArrayObject *)PyArray_SimpleNew(2, contacts, NPY_DOUBLE);
  result->v_c = (PyArrayObject *)PyArray_SimpleNew(2, contacts, NPY_DOUBLE);
  result->regions = (PyArrayObject *)PyArray_SimpleNew(1, contacts, NPY_INT8);
  if (result->v == NULL || result->gamma == NULL || result->v_c == NULL ||
      result->regions == NULL) {
    sapwood_result_clear(result);
    return -1;
  }
  if (problem->n_groups > 0) {
    result->group_gamma = (PyArrayObject *)PyArray_SimpleNew(1, &rows, NPY_DOUBLE);
    result->group_v_c = (PyArrayObject *)PyArray_SimpleNew(1, &rows, NPY_DOUBLE);
    if (result->group_gamma == NULL || result->group_v_c == NULL) {
      sapwood_result_clear(result);
      return -1;
    }
    result->solution.group_gamma = sapwood_doubles(result->group_gamma);
    result->solution.group_v_c = sapwood_doubles(result->group_v_c);
  }
  if (problem->core != NULL) {
    result->core_scale = (PyArrayObject *)PyArray_SimpleNew(1, contacts, NPY_DOUBLE);
    if (result->core_scale == NULL) {
      sapwood_result_clear(result);
      return -1;
    }
    result->solution.core_scale = sapwood_doubles(result->core_scale);
  }
  result->solution.v = sapwood_doubles(result->v);
  result->solution.gamma = sapwood_doubles(result->gamma);
  result->solution.v_c = sapwood_doubles(result->v_c);
  result->solution.regions = (int8_t *)PyArray_DATA(result->regions);
  return 0;
}

void sapwood_result_clear(sapwood_result *result) {
  Py_CLEAR(result->v);
  Py_CLEAR(result->gamma);
  Py_CLEAR(result->v_c);
  Py_CLEAR(result->regions);
  Py_CLEAR(result->group_gamma);
  Py_CLEAR(result->group_v_c);
  Py_CLEAR(result->core_scale);
}

/* ---- rows of the groups --------------------------------------------------------------------- */

/* new array (n): whether impulses lie between their bounds */
static PyObject *active_rows(const sap_constraints *group, const double *gamma, npy_intp n) {
  PyObject *active = PyArray_SimpleNew(1, &n, NPY_BOOL);
  if (active != NULL) {
    npy_bool *rows = (npy_bool *)PyArray_DATA((PyArrayObject *)active);
    for (npy_intp i = 0; i < n; i++) {
      rows[i] = group->lower[i] < gamma[i] && gamma[i] < group->upper[i];
    }
  }
  return active;
}

/* new tuple with the ConstraintSolution (gamma, v_c, active) of each group, the first two as parts of the arrays of
 * all rows */
static PyObject *group_tuple(const sapwood_state *state, const sapwood_result *result,
                             const sap_problem *problem) {
  const int32_t n = result->group_gamma == NULL ? 0 : problem->n_groups;
  PyObject *groups = PyTuple_New(n);
  Py_ssize_t begin = 0;
  for (int32_t k = 0; k < n && groups != NULL; k++) {
    const sap_constraints *group = &problem->groups[k];
    const Py_ssize_t end = begin + (Py_ssize_t)sapwood_group_rows(group);
    PyObject *arrays = Py_BuildValue(
        "(NNN)", PySequence_GetSlice((PyObject *)result->group_gamma, begin, end),
        PySequence_GetSlice((PyObject *)result->group_v_c, begin, end),
        active_rows(group, sapwood_doubles(result->group_gamma) + begin, end - begin));
    PyObject *entry =
        arrays == NULL ? NULL : PyObject_CallObject((PyObject *)state->group_type, arrays);
    Py_XDECREF(arrays);
    if (entry == NULL) {
      Py_CLEAR(groups);
      break;
    }
    PyTuple_SET_ITEM(groups, k, entry);
    begin = end;
  }
  return groups;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* what sapwood.Solution and its `timing` are made of, in the order in which they are written below */
static const char *const fields[] = {"v",
                                     "gamma",
                                     "v_c",
                                     "regions",
                                     "history",
                                     "constraints",
                                     "core_scale",
                                     "status",
                                     "tree",
                                     "iterations",
                                     "total_iterations",
                                     "line_search_trials",
                                     "n_islands",
                                     "symbolic_reused",
                                     "momentum_error",
                                     "complementarity_error",
                                     "velocity_error_bound",
                                     "cost_gap_bound",
                                     "cost",
                                     "timing",
                                     NULL};
static const char *const phases[] = {"assembly", "factor",  "line_search",
                                     "symbolic", "seconds", NULL};

/* new dict with these keys: its copies need no hashing */
static PyObject *dict_of_names(const char *const *names) {
  PyObject *dict = PyDict_New();
  for (; *names != NULL && dict != NULL; names++) {
    PyObject *name = PyUnicode_InternFromString(*names);
    if (name == NULL || PyDict_SetItem(dict, name, Py_None) < 0) {
      Py_CLEAR(dict);
    }
    Py_XDECREF(name);
  }
  return dict;
}

/* copy of such a dict with values, one per name; steals the values, one of which may be NULL with an exception */
static PyObject *copy_with(PyObject *names, PyObject *const *values) {
  PyObject *dict = PyDict_Copy(names), *name, *unset;
  for (Py_ssize_t i = 0; PyDict_Next(names, &i, &name, &unset); values++) {
    if (dict != NULL && (*values == NULL || PyDict_SetItem(dict, name, *values) < 0)) {
      Py_CLEAR(dict);
    }
    Py_XDECREF(*values);
  }
  return dict;
}

static PyObject *object_or_none(PyArrayObject *array) {
  return Py_NewRef(array == NULL ? Py_None : (PyObject *)array);
}

/* new Solution with these attributes: frozen dataclasses set them one by one, which takes longer than a small
 * solve; steals the dict, which may be NULL with an exception */
static PyObject *solution_of(const sapwood_state *state, PyObject *dict) {
  PyObject *none = dict == NULL ? NULL : PyTuple_New(0);
  PyObject *solution =
      none == NULL ? NULL : state->solution_type->tp_new(state->solution_type, none, NULL);
  if (solution != NULL && PyObject_GenericSetDict(solution, dict, NULL) < 0) {
    Py_CLEAR(solution);
  }
  Py_XDECREF(none);
  Py_XDECREF(dict);
  return solution;
}

PyObject *sapwood_solution(const sapwood_state *state, const sapwood_result *result,
                           const sap_problem *problem, double seconds, PyObject *history) {
  if (state->statuses == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "sapwood.solution must be imported first");
    return NULL;
  }
  /* runs Python code, and so comes before all that may leave an exception */
  PyObject *groups = group_tuple(state, result, problem);
  if (groups == NULL) {
    return NULL;
  }
  const sap_solution *s = &result->solution;
  PyObject *const times[] = {PyFloat_FromDouble(s->assembly_seconds),
                             PyFloat_FromDouble(s->factor_seconds),
                             PyFloat_FromDouble(s->line_search_seconds),
                             PyFloat_FromDouble(s->symbolic_seconds), PyFloat_FromDouble(seconds)};
  PyObject *const values[] = {object_or_none(result->v),
                              object_or_none(result->gamma),
                              object_or_none(result->v_c),
                              object_or_none(result->regions),
                              Py_NewRef(history),
                              groups,
                              object_or_none(result->core_scale),
                              Py_NewRef(PyTuple_GET_ITEM(state->statuses, s->outcome)),
                              PyLong_FromLong(s->tree),
                              PyLong_FromLong(s->iterations),
                              PyLong_FromLong(s->total_iterations),
                              PyLong_FromLong(s->line_search_trials),
                              PyLong_FromLong(s->n_islands),
                              PyBool_FromLong(s->symbolic_reused),
                              PyFloat_FromDouble(s->momentum_error),
                              PyFloat_FromDouble(s->complementarity_error),
                              PyFloat_FromDouble(s->velocity_error_bound),
                              PyFloat_FromDouble(s->cost_gap_bound),
                              PyFloat_FromDouble(s->cost),
                              copy_with(state->phases, times)};
  return solution_of(state, copy_with(state->fields, values));
}

/* ---- history -------------------------------------------------------------------------------- */

/* NumPy dtype with the memory layout of sap_iteration */
static PyArray_Descr *iteration_dtype(void) {
#define OFFSET(name) (Py_ssize_t) offsetof(sap_iteration, name)
  PyObject *layout = Py_BuildValue(
      "{s:(sssssss),s:(sssssss),s:(nnnnnnn),s:n}", "names", "island", "iteration", "trials", "step",
      "cost", "decrease", "momentum_error", "formats", "i4", "i4", "i4", "f8", "f8", "f8", "f8",
      "offsets", OFFSET(island), OFFSET(iteration), OFFSET(trials), OFFSET(step), OFFSET(cost),
      OFFSET(decrease), OFFSET(momentum_error), "itemsize", (Py_ssize_t)sizeof(sap_iteration));
#undef OFFSET
  PyArray_Descr *dtype = NULL;
  if (layout != NULL && !PyArray_DescrConverter(layout, &dtype)) {
    dtype = NULL;
  }
  Py_XDECREF(layout);
  return dtype;
}

PyObject *sapwood_history(const sapwood_state *state, const sap_iteration *records, int32_t n) {
  npy_intp length = n;
  /* the descriptor is stolen by the call */
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
    "set_solution_types(solution, constraint_solution, status, /)\n--\n\n"
    "Say what solutions are made of: the classes Solution, ConstraintSolution and Status.");

static PyObject *set_solution_types(PyObject *module, PyObject *args) {
  sapwood_state *state = sapwood_state_of_module(module);
  PyObject *solution, *group, *status;
  if (!PyArg_ParseTuple(args, "O!O!O!:set_solution_types", &PyType_Type, &solution, &PyType_Type,
                        &group, &PyType_Type, &status)) {
    return NULL;
  }
  PyObject *statuses = PySequence_Tuple(status);
  if (statuses == NULL || PyTuple_GET_SIZE(statuses) != SAP_NON_FINITE + 1) {
    Py_XDECREF(statuses);
    return statuses == NULL ? NULL : PyErr_Format(PyExc_ValueError, "one status per outcome");
  }
  Py_XSETREF(state->solution_type, (PyTypeObject *)Py_NewRef(solution));
  Py_XSETREF(state->group_type, (PyTypeObject *)Py_NewRef(group));
  Py_XSETREF(state->statuses, statuses);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"set_solution_types", set_solution_types, METH_VARARGS, set_solution_types_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_results(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  state->iteration_dtype = iteration_dtype();
  state->fields = dict_of_names(fields);
  state->phases = dict_of_names(phases);
  return state->iteration_dtype == NULL || state->fields == NULL || state->phases == NULL
             ? -1
             : PyModule_AddFunctions(module, methods);
}
