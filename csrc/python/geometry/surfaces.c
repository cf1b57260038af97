/* _core.contact_surfaces: surfaces of many pairs as NumPy arrays. */
#include "python/parts.h"

#include <string.h>

#include "python/errors.h"
#include "python/geometry/py_geometry.h"
#include "python/state.h"

/* ---- pairs ---- */

int sapwood_read_pose(PyObject *object, const char *name, geo_pose *pose) {
  static const double last[4] = {0, 0, 0, 1};
  if (object == Py_None) {
    *pose = (geo_pose){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    return 0;
  }
  PyArrayObject *array = sapwood_as_float64(object, name, SAPWOOD_SHAPE(4, 4), SAPWOOD_FINITE);
  if (array == NULL) {
    return -1;
  }
  const double *X = sapwood_doubles(array);
  int is_wrong = 0;
  for (int j = 0; j < 4; j++) {
    is_wrong |= X[12 + j] != last[j];
  }
  for (size_t i = 0; i < 3; i++) {
    memcpy(pose->R + 3 * i, X + 4 * i, 3 * sizeof(double));
    pose->t[i] = X[4 * i + 3];
  }
  Py_DECREF(array);
  if (is_wrong) {
    return SAPWOOD_FAIL(PyExc_ValueError, "%s[3]: the last row must be 0, 0, 0, 1", name);
  }
  return 0;
}

/* Reads (a, pose_a, b, pose_b); returns -1 with an exception. */
static int read_pair(PyObject *object, geo_pair *pair) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 4) {
    return SAPWOOD_FAIL(PyExc_TypeError,
                        "a pair must be a tuple of two shapes, each with its pose");
  }
  pair->a = sapwood_shape(PyTuple_GET_ITEM(object, 0));
  pair->b = pair->a == NULL ? NULL : sapwood_shape(PyTuple_GET_ITEM(object, 2));
  if (pair->b == NULL ||
      sapwood_read_pose(PyTuple_GET_ITEM(object, 1), "pose_a", &pair->pose_a) != 0) {
    return -1;
  }
  return sapwood_read_pose(PyTuple_GET_ITEM(object, 3), "pose_b", &pair->pose_b);
}

/* Reads a list of pairs; NULL with an exception. */
static geo_pair *read_pairs(PyObject *listed) {
  const Py_ssize_t n = PyList_GET_SIZE(listed);
  geo_pair *pairs = PyMem_Calloc((size_t)n + 1, sizeof *pairs);
  if (pairs == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    if (read_pair(PyList_GET_ITEM(listed, i), &pairs[i]) != 0) {
      PyMem_Free(pairs);
      return NULL;
    }
  }
  return pairs;
}

/* ---- surfaces ---- */

/* Appends `count` numbers of a block, and returns the place behind them. */
static double *append(double *to, const double *values, npy_intp count) {
  memcpy(to, values, (size_t)count * sizeof(double));
  return to + count;
}

/* Appends `count` numbers less an offset. */
static int32_t *append_integers(int32_t *to, const int32_t *values, npy_intp count,
                                int32_t offset) {
  for (npy_intp i = 0; i < count; i++) {
    to[i] = values[i] - offset;
  }
  return to + count;
}

/* Returns the surface of pair i: all numbers in one array and all integers in another, column by
 * column as surface_columns() reads them. Seventeen arrays would take as long as a small surface
 * does. */
static PyObject *surface_of(const geo_surfaces *s, int32_t i) {
  const int32_t f = s->pair_start[i], n = s->pair_start[i + 1] - f;
  const int32_t v = s->face_start[f], corners = s->face_start[f + n] - v;
  npy_intp n_numbers = 4 * (npy_intp)corners + 14 * (npy_intp)n + 6;
  npy_intp n_integers = 3 * (npy_intp)n + 1;
  PyObject *numbers = PyArray_SimpleNew(1, &n_numbers, NPY_DOUBLE);
  PyObject *integers = PyArray_SimpleNew(1, &n_integers, NPY_INT32);
  PyObject *both = NULL;
  if (numbers != NULL && integers != NULL) {
    double *x = PyArray_DATA((PyArrayObject *)numbers);
    x = append(x, s->vertices + 3 * (size_t)v, 3 * (npy_intp)corners);
    x = append(x, s->vertex_pressure + v, corners);
    x = append(x, s->area + f, n);
    x = append(x, s->centroid + 3 * (size_t)f, 3 * (npy_intp)n);
    x = append(x, s->normal + 3 * (size_t)f, 3 * (npy_intp)n);
    const double *const columns[] = {s->p0, s->g_a, s->g_b, s->steepness, s->k, s->phi0, s->load};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
      x = append(x, columns[k] + f, n);
    }
    x = append(x, s->force + 3 * (size_t)i, 3);
    append(x, s->torque + 3 * (size_t)i, 3);
    int32_t *j = PyArray_DATA((PyArrayObject *)integers);
    j = append_integers(j, s->face_start + f, (npy_intp)n + 1, v);
    j = append_integers(j, s->cell_a + f, n, 0);
    append_integers(j, s->cell_b + f, n, 0);
    both = PyTuple_Pack(2, numbers, integers);
  }
  Py_XDECREF(numbers);
  Py_XDECREF(integers);
  return both;
}

static PyObject *results(const geo_surfaces *s) {
  PyObject *list = PyList_New(s->n_pairs);
  for (int32_t i = 0; i < s->n_pairs && list != NULL; i++) {
    PyObject *surface = surface_of(s, i);
    if (surface == NULL) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, i, surface);
    }
  }
  return list;
}

/* Puts a workspace in the place of the one that the state has, and returns that. */
static geo_workspace *exchange_workspace(sapwood_state *state, geo_workspace *work) {
  sapwood_mutex_take(&state->shared);
  geo_workspace *before = state->surfaces_workspace;
  state->surfaces_workspace = work;
  sapwood_mutex_leave(&state->shared);
  return before;
}

/* Finds the surfaces, in the workspace of the last call unless a concurrent call has it. */
static PyObject *find(sapwood_state *state, const geo_pair *pairs, Py_ssize_t n, geo_faces faces) {
  geo_workspace *work = exchange_workspace(state, NULL);
  geo_surfaces surfaces = {0};
  sap_error error = {.group = -1};
  sap_status status;
  Py_BEGIN_ALLOW_THREADS
  status = work == NULL ? geo_workspace_create(&work, NULL) : SAP_OK;
  if (status == SAP_OK) {
    status = geo_contact_surfaces(work, (int32_t)n, pairs, faces, &surfaces, &error);
  }
  Py_END_ALLOW_THREADS
  PyObject *list = sapwood_raise(status, &error) == 0 ? results(&surfaces) : NULL;
  geo_workspace_destroy(exchange_workspace(state, work));
  return list;
}

/* ---- columns ---- */

/* Returns a view of the next (rows, width) numbers of a block, or (rows) if the width is 1. */
static PyObject *view(PyArrayObject *block, npy_intp *begin, npy_intp rows, int width) {
  npy_intp shape[2] = {rows, width};
  char *data = PyArray_BYTES(block) + *begin * PyArray_ITEMSIZE(block);
  PyObject *array = PyArray_SimpleNewFromData(width > 1 ? 2 : 1, shape, PyArray_TYPE(block), data);
  *begin += rows * width;
  if (array != NULL) {
    Py_INCREF(block);
    if (PyArray_SetBaseObject((PyArrayObject *)array, (PyObject *)block) != 0) {
      Py_CLEAR(array);
    }
  }
  return array;
}

PyDoc_STRVAR(surface_columns_doc,
             "surface_columns(numbers, integers, /)\n--\n\n"
             "Views of what contact_surfaces gives of a pair, by the fields of ContactSurface.");

static PyObject *surface_columns(PyObject *Py_UNUSED(module), PyObject *args) {
  PyArrayObject *numbers, *integers;
  if (!PyArg_ParseTuple(args, "O!O!:surface_columns", &PyArray_Type, &numbers, &PyArray_Type,
                        &integers)) {
    return NULL;
  }
  const npy_intp n = (PyArray_SIZE(integers) - 1) / 3;
  const npy_intp corners = (PyArray_SIZE(numbers) - 14 * n - 6) / 4;
  if (PyArray_TYPE(numbers) != NPY_DOUBLE || PyArray_TYPE(integers) != NPY_INT32 ||
      !PyArray_IS_C_CONTIGUOUS(numbers) || !PyArray_IS_C_CONTIGUOUS(integers) ||
      PyArray_SIZE(integers) != 3 * n + 1 || corners < 0 ||
      PyArray_SIZE(numbers) != 4 * corners + 14 * n + 6) {
    return PyErr_Format(PyExc_ValueError, "numbers, integers: must be those of contact_surfaces");
  }
  const struct {
    PyArrayObject *block;
    npy_intp rows;
    int width;
  } columns[] = {
      {integers, n + 1, 1}, {numbers, corners, 3}, {numbers, corners, 1}, {integers, n, 1},
      {integers, n, 1},     {numbers, n, 1},       {numbers, n, 3},       {numbers, n, 3},
      {numbers, n, 1},      {numbers, n, 1},       {numbers, n, 1},       {numbers, n, 1},
      {numbers, n, 1},      {numbers, n, 1},       {numbers, n, 1},       {numbers, 3, 1},
      {numbers, 3, 1},
  };
  enum { N = sizeof columns / sizeof *columns };
  PyObject *tuple = PyTuple_New(N);
  npy_intp begin[2] = {0, 0};
  for (int k = 0; k < N && tuple != NULL; k++) {
    PyObject *array = view(columns[k].block, &begin[columns[k].block == integers], columns[k].rows,
                           columns[k].width);
    if (array == NULL) {
      Py_CLEAR(tuple);
    } else {
      PyTuple_SET_ITEM(tuple, k, array);
    }
  }
  return tuple;
}

/* ---- the module ---- */

PyDoc_STRVAR(contact_surfaces_doc,
             "contact_surfaces(pairs, fans, /)\n--\n\n"
             "Surfaces of a list of pairs (a, pose_a, b, pose_b), numbers and integers of each.");

static PyObject *contact_surfaces(PyObject *module, PyObject *args) {
  PyObject *listed, *found = NULL;
  int fans;
  if (!PyArg_ParseTuple(args, "O!p:contact_surfaces", &PyList_Type, &listed, &fans)) {
    return NULL;
  }
  /* an array-like object may change the list when it is read, and so may another thread */
  PyObject *own = PyList_GetSlice(listed, 0, PY_SSIZE_T_MAX);
  if (own != NULL && PyList_GET_SIZE(own) > INT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "pairs: must be fewer than 2^31");
    Py_CLEAR(own);
  }
  geo_pair *pairs = own == NULL ? NULL : read_pairs(own);
  if (pairs != NULL) {
    found = find(sapwood_state_of_module(module), pairs, PyList_GET_SIZE(own),
                 fans ? GEO_TRIANGLE_FANS : GEO_POLYGONS);
  }
  PyMem_Free(pairs);
  Py_XDECREF(own);
  return found;
}

static PyMethodDef methods[] = {
    {"contact_surfaces", contact_surfaces, METH_VARARGS, contact_surfaces_doc},
    {"surface_columns", surface_columns, METH_VARARGS, surface_columns_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_surfaces(PyObject *module) { return PyModule_AddFunctions(module, methods); }
