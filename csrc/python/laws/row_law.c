/* sap_clamp for arrays of rows, and the table of kinds. As for py_contact_law.c, the Python layer
 * checks the values and broadcasts. */
#include "python/laws/py_laws.h"

#include "python/errors.h"
#include "python/state.h"

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
    PyErr_SetString(PyExc_TypeError, "expected y, R, lower and upper");
    return NULL;
  }
  for (int i = 0; i < N_IN; i++) {
    in[i] = sapwood_as_vector(args[i], names[i], n, SAPWOOD_ANY);
    if (in[i] == NULL) {
      goto done;
    }
    n = PyArray_DIM(in[i], 0);
  }
  for (int i = 0; i < N_OUT; i++) {
    out[i] = sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(n));
    if (out[i] == NULL) {
      goto done;
    }
  }
  Py_BEGIN_ALLOW_THREADS
  sap_clamp(n, sapwood_doubles(in[0]), sapwood_doubles(in[1]), sapwood_doubles(in[2]),
            sapwood_doubles(in[3]), sapwood_doubles(out[0]), sapwood_doubles(out[1]),
            sapwood_doubles(out[2]));
  Py_END_ALLOW_THREADS
  dict = Py_BuildValue("{s:O,s:O,s:O}", "gamma", out[0], "G", out[1], "cost", out[2]);
done:
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
    {"clamp", SAPWOOD_FAST(clamp), METH_FASTCALL, clamp_doc},
    {"constraint_kinds", constraint_kinds, METH_NOARGS, constraint_kinds_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_row_law(PyObject *module) { return PyModule_AddFunctions(module, methods); }
