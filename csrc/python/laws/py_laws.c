/* The laws alone, for arrays of contacts or rows, and the table of kinds. The Python layer checks
 * the values, while their indices are still the caller's, and broadcasts; this file fills new
 * arrays. */
#include "python/parts.h"
#include "python/arrays.h"
#include "python/errors.h"
#include "python/problem/core_table.h"
#include "python/state.h"

/* ---- contacts ------------------------------------------------------------------------------- */

enum { Y, LIMIT, R_T, R_N, SOFT_NORM, CORE, KAPPA, LAMBDA, TABLE, N_ARGUMENTS };
enum { GAMMA, G, COST, REGIONS, N_RESULTS };

/* The arrays of a call: of arguments, and new ones. */
typedef struct arrays {
  PyArrayObject *in[N_ARGUMENTS], *out[N_RESULTS];
  sapwood_core_table core_table;
  double soft_norm;
  npy_intp n;
} arrays;

static PyObject *release(arrays *of, PyObject *result) {
  sapwood_release(of->in, N_ARGUMENTS);
  sapwood_release(of->out, N_RESULTS);
  sapwood_core_table_clear(&of->core_table);
  return result;
}

/* Reads y (n, 3), the limit of friction (n), R_t (n), R_n (n) and soft_norm. */
static int read_contacts(arrays *of, PyObject *const *args, const char *limit) {
  of->in[Y] = sapwood_as_float64(args[Y], "y", SAPWOOD_SHAPE(-1, 3), SAPWOOD_ANY);
  if (of->in[Y] == NULL) {
    return -1;
  }
  of->n = PyArray_DIM(of->in[Y], 0);
  const sapwood_argument given[] = {SAPWOOD_ARGUMENT(LIMIT, limit, of->n),
                                    SAPWOOD_ARGUMENT(R_T, "R_t", of->n),
                                    SAPWOOD_ARGUMENT(R_N, "R_n", of->n)};
  return sapwood_read_all(of->in, args, given, 3) < 0
             ? -1
             : sapwood_as_double(args[SOFT_NORM], "soft_norm", SAPWOOD_NON_NEGATIVE,
                                 &of->soft_norm);
}

static int read_cores(arrays *of, PyObject *const *args) {
  const sapwood_argument given[] = {SAPWOOD_ARGUMENT(KAPPA, "kappa", of->n),
                                    SAPWOOD_ARGUMENT(LAMBDA, "core_lambda", of->n)};
  of->in[CORE] =
      sapwood_in_place(args[CORE], "core", NPY_INT8, SAPWOOD_SHAPE(of->n), NPY_ARRAY_C_CONTIGUOUS);
  return of->in[CORE] == NULL || sapwood_read_all(of->in, args, given, 2) < 0
             ? -1
             : sapwood_core_table_read(&of->core_table, args[TABLE]);
}

/* Reads the arguments of sap_project_barrier(), where those of cores may be missing. */
static int read_arguments(arrays *of, PyObject *const *args, Py_ssize_t n_args) {
  if (n_args != CORE && n_args != N_ARGUMENTS) {
    return SAPWOOD_FAIL(
        PyExc_TypeError,
        "expected y, mu, R_t, R_n, soft_norm, or these with core, kappa, core_lambda, "
        "core_table");
  }
  if (read_contacts(of, args, "mu") < 0) {
    return -1;
  }
  return n_args == CORE ? 0 : read_cores(of, args);
}

/* Makes gamma, G and regions, or the cost, or all of them. */
static int make_results(arrays *of, int law, int cost) {
  const sapwood_layout layouts[N_RESULTS] = {{NPY_DOUBLE, law ? 2 : 0, {of->n, 3}},
                                             {NPY_DOUBLE, law ? 3 : 0, {of->n, 3, 3}},
                                             {NPY_DOUBLE, cost, {of->n}},
                                             {NPY_INT8, law, {of->n}}};
  return sapwood_new_all(of->out, layouts, N_RESULTS);
}

/* Evaluates the law into the arrays that are not NULL. */
static void project_cones(const arrays *of) {
  PyArrayObject *const *in = of->in, *const *out = of->out;
  const int8_t *core = in[CORE] ? PyArray_DATA(in[CORE]) : NULL;
  int8_t *regions = out[REGIONS] ? PyArray_DATA(out[REGIONS]) : NULL;
  Py_BEGIN_ALLOW_THREADS
  sap_project_barrier(of->n, sapwood_doubles(in[Y]), sapwood_doubles(in[LIMIT]),
                      sapwood_doubles(in[R_T]), sapwood_doubles(in[R_N]), of->soft_norm, core,
                      sapwood_optional_doubles(in[KAPPA]), sapwood_optional_doubles(in[LAMBDA]),
                      sapwood_core_table_of(&of->core_table), sapwood_optional_doubles(out[GAMMA]),
                      sapwood_optional_doubles(out[G]), sapwood_optional_doubles(out[COST]),
                      regions);
  Py_END_ALLOW_THREADS
}

PyDoc_STRVAR(project_doc,
             "project(y, mu, R_t, R_n, soft_norm, core=..., kappa=..., core_lambda=..., "
             "core_table=..., /)\n--\n\n"
             "Dict with gamma (n, 3), G (n, 3, 3) and regions (n) for y (n, 3).");

static PyObject *project(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args) {
  arrays of = {.n = 0};
  if (read_arguments(&of, args, n_args) < 0 || make_results(&of, 1, 0) < 0) {
    return release(&of, NULL);
  }
  project_cones(&of);
  return release(&of, Py_BuildValue("{s:O,s:O,s:O}", "gamma", of.out[GAMMA], "G", of.out[G],
                                    "regions", of.out[REGIONS]));
}

PyDoc_STRVAR(contact_cost_doc,
             "contact_cost(y, mu, R_t, R_n, soft_norm, core=..., kappa=..., core_lambda=..., "
             "core_table=..., /)\n--\n\n"
             "Cost (n) of each contact for y (n, 3).");

static PyObject *contact_cost(PyObject *Py_UNUSED(module), PyObject *const *args,
                              Py_ssize_t n_args) {
  arrays of = {.n = 0};
  if (read_arguments(&of, args, n_args) < 0 || make_results(&of, 0, 1) < 0) {
    return release(&of, NULL);
  }
  project_cones(&of);
  return release(&of, Py_NewRef(of.out[COST]));
}

PyDoc_STRVAR(project_disk_doc,
             "project_disk(y, bound, R_t, R_n, soft_norm, /)\n--\n\n"
             "Dict with gamma (n, 3), G (n, 3, 3), cost (n) and regions (n) for y (n, 3).");

static PyObject *project_disk(PyObject *Py_UNUSED(module), PyObject *const *args,
                              Py_ssize_t n_args) {
  arrays of = {.n = 0};
  PyArrayObject **in = of.in, **out = of.out;
  if (n_args != CORE) {
    return PyErr_Format(PyExc_TypeError, "expected y, bound, R_t, R_n and soft_norm");
  }
  if (read_contacts(&of, args, "bound") < 0 || make_results(&of, 1, 1) < 0) {
    return release(&of, NULL);
  }
  Py_BEGIN_ALLOW_THREADS
  sap_project_disk(of.n, sapwood_doubles(in[Y]), sapwood_doubles(in[LIMIT]),
                   sapwood_doubles(in[R_T]), sapwood_doubles(in[R_N]), of.soft_norm,
                   sapwood_doubles(out[GAMMA]), sapwood_doubles(out[G]), sapwood_doubles(out[COST]),
                   PyArray_DATA(out[REGIONS]));
  Py_END_ALLOW_THREADS
  return release(&of, Py_BuildValue("{s:O,s:O,s:O,s:O}", "gamma", out[GAMMA], "G", out[G], "cost",
                                    out[COST], "regions", out[REGIONS]));
}

/* ---- rows ----------------------------------------------------------------------------------- */

PyDoc_STRVAR(clamp_doc,
             "clamp(y, R, lower, upper, /)\n--\n\n"
             "Dict with gamma, G and cost (n) for y (n).");

static PyObject *clamp(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args) {
  enum { N_IN = 4, N_OUT = 3 };
  static const char *const names[N_IN] = {"y", "R", "lower", "upper"};
  PyArrayObject *in[N_IN] = {NULL}, *out[N_OUT] = {NULL};
  PyObject *dict = NULL;
  npy_intp n = -1;
  if (n_args != N_IN) {
    return PyErr_Format(PyExc_TypeError, "expected y, R, lower and upper");
  }
  int failed = 0;
  for (int i = 0; i < N_IN && !failed; i++) {
    in[i] = sapwood_as_vector(args[i], names[i], n, SAPWOOD_ANY);
    failed = in[i] == NULL;
    n = failed ? n : PyArray_DIM(in[i], 0);
  }
  const sapwood_layout vector = {NPY_DOUBLE, 1, {n}}, layouts[N_OUT] = {vector, vector, vector};
  if (!failed && sapwood_new_all(out, layouts, N_OUT) == 0) {
    Py_BEGIN_ALLOW_THREADS
    sap_clamp(n, sapwood_doubles(in[0]), sapwood_doubles(in[1]), sapwood_doubles(in[2]),
              sapwood_doubles(in[3]), sapwood_doubles(out[0]), sapwood_doubles(out[1]),
              sapwood_doubles(out[2]));
    Py_END_ALLOW_THREADS
    dict = Py_BuildValue("{s:O,s:O,s:O}", "gamma", out[0], "G", out[1], "cost", out[2]);
  }
  sapwood_release(in, N_IN);
  sapwood_release(out, N_OUT);
  return dict;
}

PyDoc_STRVAR(
    constraint_kinds_doc,
    "constraint_kinds()\n--\n\n"
    "Dict from the name of each kind to a dict from its parameters to the rules they obey.");

static PyObject *rules_of(sap_kind kind) {
  PyObject *rules = PyDict_New();
  for (int32_t p = 0; p < sap_kind_parameters(kind) && rules != NULL; ++p) {
    PyObject *rule = PyUnicode_InternFromString(sap_kind_rule(kind, p));
    if (rule == NULL || PyDict_SetItemString(rules, sap_kind_parameter(kind, p), rule) < 0) {
      Py_CLEAR(rules);
    }
    Py_XDECREF(rule);
  }
  return rules;
}

static PyObject *constraint_kinds(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
  PyObject *dict = PyDict_New();
  for (int kind = 0; kind < SAP_N_KINDS && dict != NULL; ++kind) {
    PyObject *rules = rules_of((sap_kind)kind);
    if (rules == NULL || PyDict_SetItemString(dict, sap_kind_name((sap_kind)kind), rules) < 0) {
      Py_CLEAR(dict);
    }
    Py_XDECREF(rules);
  }
  return dict;
}

static PyMethodDef methods[] = {
    {"project", SAPWOOD_FAST(project), METH_FASTCALL, project_doc},
    {"contact_cost", SAPWOOD_FAST(contact_cost), METH_FASTCALL, contact_cost_doc},
    {"project_disk", SAPWOOD_FAST(project_disk), METH_FASTCALL, project_disk_doc},
    {"clamp", SAPWOOD_FAST(clamp), METH_FASTCALL, clamp_doc},
    {"constraint_kinds", constraint_kinds, METH_NOARGS, constraint_kinds_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_laws(PyObject *module) { return PyModule_AddFunctions(module, methods); }
