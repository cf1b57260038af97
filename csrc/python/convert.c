#include "python/convert.h"

#include <math.h>
#include <string.h>

/* ---- error texts ---------------------------------------------------------------------------- */

/* Returns "-0.5", "3", "inf": the shortest text that reads back as the value; new reference. */
static PyObject *number_text(double value) {
  char *text = PyOS_double_to_string(value, 'r', 0, 0, NULL);
  if (text == NULL) {
    return NULL;
  }
  PyObject *result = PyUnicode_FromString(text);
  PyMem_Free(text);
  return result;
}

int sapwood_value_error(const char *name, int64_t index, double value, const char *rule) {
  PyObject *subject = index < 0 ? PyUnicode_FromString(name)
                                : PyUnicode_FromFormat("%s[%lld]", name, (long long)index);
  PyObject *number = isnan(value) ? NULL : number_text(value);
  if (subject != NULL && number != NULL) {
    PyErr_Format(PyExc_ValueError, "%U = %U: %s", subject, number, rule);
  } else if (subject != NULL && isnan(value)) {
    PyErr_Format(PyExc_ValueError, "%U: %s", subject, rule);
  }
  Py_XDECREF(subject);
  Py_XDECREF(number);
  return -1;
}

/* Returns "[2, 1]" for the flat index of an entry, "" without dimensions; new reference. */
static PyObject *index_text(PyArrayObject *array, npy_intp flat) {
  int ndim = PyArray_NDIM(array);
  if (ndim == 0) {
    return PyUnicode_FromString("");
  }
  PyObject *inside = PyUnicode_FromString("");
  for (int d = ndim - 1; d >= 0 && inside != NULL; d--) {
    npy_intp length = PyArray_DIM(array, d);
    PyObject *longer = PyUnicode_FromFormat(d == ndim - 1 ? "%zd%U" : "%zd, %U",
                                            (Py_ssize_t)(flat % length), inside);
    Py_DECREF(inside);
    inside = longer;
    flat /= length;
  }
  if (inside == NULL) {
    return NULL;
  }
  PyObject *text = PyUnicode_FromFormat("[%U]", inside);
  Py_DECREF(inside);
  return text;
}

/* Raises ValueError `name[2, 1] = value: rule`; returns -1. */
static int entry_error(PyArrayObject *array, const char *name, npy_intp flat, PyObject *number,
                       const char *rule) {
  PyObject *index = index_text(array, flat);
  if (index != NULL && number != NULL) {
    PyErr_Format(PyExc_ValueError, "%s%U = %U: %s", name, index, number, rule);
  }
  Py_XDECREF(index);
  Py_XDECREF(number);
  return -1;
}

/* Returns "(2, any, 3)"; new reference. */
static PyObject *shape_text(int ndim, const npy_intp *shape) {
  PyObject *text = PyUnicode_FromString("(");
  for (int d = 0; d < ndim && text != NULL; d++) {
    const char *separator = d > 0 ? ", " : "";
    const char *end = d + 1 < ndim ? "" : (ndim == 1 ? ",)" : ")");
    PyObject *longer = shape[d] < 0 ? PyUnicode_FromFormat("%U%sany%s", text, separator, end)
                                    : PyUnicode_FromFormat("%U%s%zd%s", text, separator,
                                                           (Py_ssize_t)shape[d], end);
    Py_DECREF(text);
    text = longer;
  }
  if (ndim == 0 && text != NULL) {
    Py_DECREF(text);
    text = PyUnicode_FromString("()");
  }
  return text;
}

/* ---- checks --------------------------------------------------------------------------------- */

static int check_shape(PyArrayObject *array, const char *name, int ndim, const npy_intp *shape) {
  if (ndim < 0) {
    return 0;
  }
  int same = PyArray_NDIM(array) == ndim;
  for (int d = 0; d < ndim && same; d++) {
    same = shape[d] < 0 || PyArray_DIM(array, d) == shape[d];
  }
  if (same) {
    return 0;
  }
  PyObject *found = shape_text(PyArray_NDIM(array), PyArray_DIMS(array));
  PyObject *expected = shape_text(ndim, shape);
  if (found != NULL && expected != NULL) {
    PyErr_Format(PyExc_ValueError, "%s has shape %U, expected %U", name, found, expected);
  }
  Py_XDECREF(found);
  Py_XDECREF(expected);
  return -1;
}

static const char *rule_text(sapwood_rule rule) {
  switch (rule) {
    case SAPWOOD_NON_NEGATIVE: return "must be finite and >= 0";
    case SAPWOOD_POSITIVE: return "must be finite and > 0";
    case SAPWOOD_POSITIVE_OR_INFINITE: return "must be > 0";
    default: return "must be finite";
  }
}

static int holds(double value, sapwood_rule rule) {
  switch (rule) {
    case SAPWOOD_ANY: return 1;
    case SAPWOOD_NON_NEGATIVE: return isfinite(value) && value >= 0.0;
    case SAPWOOD_POSITIVE: return isfinite(value) && value > 0.0;
    case SAPWOOD_POSITIVE_OR_INFINITE: return value > 0.0;
    default: return isfinite(value);
  }
}

static int check_values(PyArrayObject *array, const char *name, sapwood_rule rule) {
  const double *values = (const double *)PyArray_DATA(array);
  npy_intp n = PyArray_SIZE(array);
  for (npy_intp i = 0; i < n; i++) {
    if (!holds(values[i], rule)) {
      return entry_error(array, name, i, number_text(values[i]), rule_text(rule));
    }
  }
  return 0;
}

/* ---- conversions ---------------------------------------------------------------------------- */

/* Refuses a masked entry of one of NumPy's masked arrays, whose number means nothing. Returns 0, or
 * -1 with ValueError `name[2] is masked`. */
static int check_mask(PyObject *object, const char *name) {
  PyObject *mask = PyArray_Check(object) ? PyObject_GetAttrString(object, "mask") : NULL;
  const int has_flags = mask != NULL && (PyArray_Check(mask) || PyArray_IsScalar(mask, Bool));
  PyArrayObject *flags =
      has_flags ? (PyArrayObject *)PyArray_FROM_OTF(mask, NPY_BOOL, NPY_ARRAY_CARRAY_RO) : NULL;
  Py_XDECREF(mask);
  if (flags == NULL) {
    PyErr_Clear(); /* other arrays have no mask */
    return 0;
  }
  const npy_bool *entries = PyArray_DATA(flags);
  npy_intp i = 0, n = PyArray_SIZE(flags);
  while (i < n && !entries[i]) {
    i++;
  }
  PyObject *index = i < n ? index_text(flags, i) : NULL;
  if (index != NULL) {
    PyErr_Format(PyExc_ValueError, "%s%U is masked: fill it with a number", name, index);
  }
  Py_XDECREF(index);
  Py_DECREF(flags);
  return i < n ? -1 : 0;
}

/* Returns an ndarray of the dtype that NumPy finds in the object; NumPy's message gets the
 * argument's name. */
static PyArrayObject *as_array(PyObject *object, const char *name) {
  if (PyArray_CheckExact(object)) {
    return (PyArrayObject *)Py_NewRef(object);
  }
  if (check_mask(object, name) < 0) {
    return NULL;
  }
  PyObject *array = PyArray_FromAny(object, NULL, 0, 0, NPY_ARRAY_ENSUREARRAY, NULL);
  if (array != NULL) {
    return (PyArrayObject *)array;
  }
  PyObject *kind = PyErr_ExceptionMatches(PyExc_ValueError)  ? PyExc_ValueError
                   : PyErr_ExceptionMatches(PyExc_TypeError) ? PyExc_TypeError
                                                             : NULL;
  if (kind != NULL) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyErr_Format(kind, "%s cannot be read as an array: %S", name, value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
  }
  return NULL;
}

/* Returns the array itself if it is contiguous, aligned and native of this type, else a converted
 * copy; steals the reference. */
static PyArrayObject *as_contiguous(PyArrayObject *array, int typenum) {
  if (PyArray_TYPE(array) == typenum && PyArray_ISCARRAY_RO(array)) {
    return array;
  }
  PyArray_Descr *descr = PyArray_DescrFromType(typenum);
  if (descr == NULL) {
    Py_DECREF(array);
    return NULL;
  }
  /* the call steals the descriptor */
  PyObject *result = PyArray_FromArray(
      array, descr,
      NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST);
  Py_DECREF(array);
  return (PyArrayObject *)result;
}

static void dtype_error(PyArrayObject *array, const char *name, const char *expected) {
  PyErr_Format(PyExc_TypeError, "%s must hold %s, not %S", name, expected,
               (PyObject *)PyArray_DESCR(array));
}

PyArrayObject *sapwood_as_float64(PyObject *object, const char *name, int ndim,
                                  const npy_intp *shape, sapwood_rule rule) {
  PyArrayObject *array = as_array(object, name);
  if (array == NULL) {
    return NULL;
  }
  int typenum = PyArray_TYPE(array);
  if (!PyTypeNum_ISINTEGER(typenum) && !PyTypeNum_ISFLOAT(typenum)) {
    dtype_error(array, name, "real numbers");
    Py_DECREF(array);
    return NULL;
  }
  if (check_shape(array, name, ndim, shape) < 0) {
    Py_DECREF(array);
    return NULL;
  }
  array = as_contiguous(array, NPY_DOUBLE);
  if (array != NULL && rule != SAPWOOD_ANY && check_values(array, name, rule) < 0) {
    Py_CLEAR(array);
  }
  return array;
}

PyArrayObject *sapwood_as_vector(PyObject *object, const char *name, npy_intp length,
                                 sapwood_rule rule) {
  return sapwood_as_float64(object, name, 1, &length, rule);
}

/* Returns int32 values of an int64 or uint64 array; steals the reference. */
static PyArrayObject *narrow(PyArrayObject *wide, const char *name) {
  npy_intp n = PyArray_DIM(wide, 0);
  PyArrayObject *result = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_INT32);
  int is_signed = PyTypeNum_ISSIGNED(PyArray_TYPE(wide));
  for (npy_intp i = 0; i < n && result != NULL; i++) {
    const void *entry = PyArray_GETPTR1(wide, i);
    int64_t value = *(const int64_t *)entry;
    int fits = is_signed ? value >= INT32_MIN && value <= INT32_MAX
                         : *(const uint64_t *)entry <= INT32_MAX;
    if (fits) {
      sapwood_int32s(result)[i] = (int32_t)value;
    } else {
      PyObject *number = is_signed ? PyUnicode_FromFormat("%lld", (long long)value)
                                   : PyUnicode_FromFormat("%llu", (unsigned long long)value);
      entry_error(wide, name, i, number, "does not fit in int32");
      Py_CLEAR(result);
    }
  }
  Py_DECREF(wide);
  return result;
}

PyArrayObject *sapwood_as_int32(PyObject *object, const char *name, npy_intp length) {
  PyArrayObject *array = as_array(object, name);
  if (array == NULL) {
    return NULL;
  }
  /* an empty list has no integer dtype, but no wrong entry either */
  int typenum = PyArray_TYPE(array);
  int empty = PyArray_SIZE(array) == 0 && PyTypeNum_ISFLOAT(typenum);
  if (!PyTypeNum_ISINTEGER(typenum) && !empty) {
    dtype_error(array, name, "integers");
    Py_DECREF(array);
    return NULL;
  }
  if (check_shape(array, name, 1, &length) < 0) {
    Py_DECREF(array);
    return NULL;
  }
  /* every integer type except the two widest ones and uint32 fits as it is */
  if (empty || (PyTypeNum_ISSIGNED(typenum) && PyArray_ITEMSIZE(array) <= 4) ||
      PyArray_ITEMSIZE(array) < 4) {
    return as_contiguous(array, NPY_INT32);
  }
  array = as_contiguous(array, PyTypeNum_ISSIGNED(typenum) ? NPY_INT64 : NPY_UINT64);
  return array == NULL ? NULL : narrow(array, name);
}

PyArrayObject *sapwood_in_place(PyObject *object, const char *name, int typenum, int ndim,
                                const npy_intp *shape, int flags) {
  if (!PyArray_Check(object)) {
    PyErr_Format(PyExc_TypeError, "%s must be a NumPy array, not %s", name,
                 Py_TYPE(object)->tp_name);
    return NULL;
  }
  PyArrayObject *array = (PyArrayObject *)object;
  if (!PyArray_EquivTypenums(PyArray_TYPE(array), typenum)) {
    PyArray_Descr *expected = PyArray_DescrFromType(typenum);
    PyErr_Format(PyExc_TypeError, "%s must have dtype %S, not %S", name, (PyObject *)expected,
                 (PyObject *)PyArray_DESCR(array));
    Py_XDECREF(expected);
    return NULL;
  }
  if (check_shape(array, name, ndim, shape) < 0) {
    return NULL;
  }
  if (!PyArray_ISBEHAVED_RO(array) || !PyArray_CHKFLAGS(array, flags)) {
    PyErr_Format(PyExc_ValueError, "%s must be aligned, in native byte order%s%s", name,
                 flags & NPY_ARRAY_C_CONTIGUOUS ? ", contiguous" : "",
                 flags & NPY_ARRAY_WRITEABLE ? " and writeable" : "");
    return NULL;
  }
  return (PyArrayObject *)Py_NewRef(object);
}

void *sapwood_capsule_content(PyObject *capsule, const char *kind, const char *name) {
  if (!PyCapsule_IsValid(capsule, kind)) {
    PyErr_Format(PyExc_TypeError, "%s must be one of %s, not %s", name, strrchr(kind, '.') + 1,
                 Py_TYPE(capsule)->tp_name);
    return NULL;
  }
  return PyCapsule_GetPointer(capsule, kind);
}

void sapwood_release(PyArrayObject **arrays, int n) {
  for (int i = 0; i < n; i++) {
    Py_CLEAR(arrays[i]);
  }
}

int sapwood_check_range(PyArrayObject *array, const char *name, int32_t least, npy_intp end) {
  const int32_t *x = sapwood_int32s(array);
  for (npy_intp i = 0; i < PyArray_SIZE(array); i++) {
    if (x[i] < least || x[i] >= end) {
      return sapwood_value_error(name, i, x[i], "is out of range");
    }
  }
  return 0;
}

int sapwood_as_double(PyObject *object, const char *name, sapwood_rule rule, double *value) {
  if (PyFloat_CheckExact(object) && PyFloat_AS_DOUBLE(object) > 0 &&
      PyFloat_AS_DOUBLE(object) < INFINITY) { /* it keeps every rule */
    *value = PyFloat_AS_DOUBLE(object);
    return 0;
  }
  /* a scalar is an array of no dimensions to NumPy, so the same checks apply */
  PyArrayObject *array = sapwood_as_float64(object, name, 0, NULL, rule);
  if (array == NULL) {
    return -1;
  }
  *value = sapwood_doubles(array)[0];
  Py_DECREF(array);
  return 0;
}

int sapwood_as_choice(PyObject *object, const char *name, const char *const *choices) {
  if (!PyUnicode_Check(object)) {
    return SAPWOOD_FAIL(PyExc_TypeError, "%s must be a str, not %s", name,
                        Py_TYPE(object)->tp_name);
  }
  for (int i = 0; choices[i] != NULL; i++) {
    if (PyUnicode_CompareWithASCIIString(object, choices[i]) == 0) {
      return i;
    }
  }
  PyObject *listed = PyUnicode_FromString(choices[0]);
  for (int i = 1; choices[i] != NULL && listed != NULL; i++) {
    PyObject *longer = PyUnicode_FromFormat("%U, %s", listed, choices[i]);
    Py_DECREF(listed);
    listed = longer;
  }
  if (listed != NULL) {
    PyErr_Format(PyExc_ValueError, "%s = %R: must be one of %U", name, object, listed);
    Py_DECREF(listed);
  }
  return -1;
}

int sapwood_item(PyObject *dict, const char *name, PyObject **item) {
  PyObject *key = PyUnicode_FromString(name);
  *item = key == NULL ? NULL : PyDict_GetItemWithError(dict, key);
  Py_XDECREF(key);
  return *item == NULL && PyErr_Occurred() ? -1 : 0;
}
