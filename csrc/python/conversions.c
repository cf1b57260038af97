/* The conversions of convert.h for Python code: as_float64 and as_int32 of the module. */
#include "python/parts.h"

#include <string.h>

#include "python/state.h"

PyDoc_STRVAR(as_float64_doc,
             "as_float64(value, name, shape=None, rule='any')\n--\n\n"
             "Contiguous float64 array of `value`, the same memory where it is one already.\n\n"
             "`shape` is a tuple with -1 for an open length; `rule` is 'any', 'finite',\n"
             "'non-negative' or 'positive'. Errors name the argument `name` and the index.");

static PyObject *as_float64(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
  static char *names[] = {"value", "name", "shape", "rule", NULL};
  PyObject *value, *shape = Py_None;
  const char *name, *rule = "any";
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "Os|Os:as_float64", names, &value, &name, &shape,
                                   &rule)) {
    return NULL;
  }
  npy_intp lengths[NPY_MAXDIMS];
  int ndim = -1;
  if (shape != Py_None) {
    if (PySequence_Check(shape) && PySequence_Size(shape) > NPY_MAXDIMS) {
      return PyErr_Format(PyExc_ValueError, "shape: at most %d axes", NPY_MAXDIMS);
    }
    ndim = PyArray_IntpFromSequence(shape, lengths, NPY_MAXDIMS);
    if (ndim < 0) {
      return NULL;
    }
  }
  static const char *const rules[] = {"any", "finite", "non-negative", "positive"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(rule, rules[i]) == 0) {
      return (PyObject *)sapwood_as_float64(value, name, ndim, lengths, (sapwood_rule)i);
    }
  }
  return PyErr_Format(PyExc_ValueError,
                      "rule = '%s': must be one of any, finite, non-negative, positive", rule);
}

PyDoc_STRVAR(as_int32_doc,
             "as_int32(value, name)\n--\n\n"
             "Contiguous int32 vector of `value`, the same memory where it is one already.");

static PyObject *as_int32(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
  static char *names[] = {"value", "name", NULL};
  PyObject *value;
  const char *name;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "Os:as_int32", names, &value, &name)) {
    return NULL;
  }
  return (PyObject *)sapwood_as_int32(value, name, -1);
}

static PyMethodDef methods[] = {
    {"as_float64", SAPWOOD_FAST(as_float64), METH_VARARGS | METH_KEYWORDS, as_float64_doc},
    {"as_int32", SAPWOOD_FAST(as_int32), METH_VARARGS | METH_KEYWORDS, as_int32_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_conversions(PyObject *module) { return PyModule_AddFunctions(module, methods); }
