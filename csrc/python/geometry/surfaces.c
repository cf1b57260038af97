/* _core.contact_surfaces: surfaces of many pairs as NumPy arrays. */
#include <string.h>

#include "python/errors.h"
#include "python/geometry/geometry.h"
#include "python/state.h"

/* ---- pairs ---- */

/* a matrix (4, 4), or None for one that leaves all in its place; -1 with an exception */
static int read_pose(PyObject *object, const char *name, geo_pose *pose) {
  static const double last[4] = {0, 0, 0, 1};
  const npy_intp shape[2] = {4, 4};
  if (object == Py_None) {
    *pose = (geo_pose){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    return 0;
  }
  PyArrayObject *array = sapwood_as_float64(object, name, 2, shape, SAPWOOD_FINITE);
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
    PyErr_Format(PyExc_ValueError, "%s[3]: the last row must be 0, 0, 0, 1", name);
    return -1;
  }
  return 0;
}

/* (a, pose_a, b, pose_b); -1 with an exception */
static int read_pair(PyObject *object, geo_pair *pair) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 4) {
    PyErr_SetString(PyExc_TypeError, "a pair must be a tuple of two shapes, each with its pose");
    return -1;
  }
  pair->a = sapwood_shape(PyTuple_GET_ITEM(object, 0));
  pair->b = pair->a == NULL ? NULL : sapwood_shape(PyTuple_GET_ITEM(object, 2));
  if (pair->b == NULL || read_pose(PyTuple_GET_ITEM(object, 1), "pose_a", &pair->pose_a) != 0) {
    return -1;
  }
  return read_pose(PyTuple_GET_ITEM(object, 3), "pose_b", &pair->pose_b);
}

/* NULL with an exception */
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

/* rows first .. first + n - 1 of an array that is `width` wide */
static PyObject *copy(const double *values, npy_intp first, npy_intp n, int width) {
  const npy_intp shape[2] = {n, width};
  PyObject *array = PyArray_SimpleNew(width > 1 ? 2 : 1, (npy_intp *)shape, NPY_DOUBLE);
  if (array != NULL && n > 0) {
    memcpy(PyArray_DATA((PyArrayObject *)array), values + first * width,
           (size_t)(n * width) * sizeof(double));
  }
  return array;
}

/* numbers less an offset */
static PyObject *copy_integers(const int32_t *values, npy_intp n, int32_t offset) {
  PyObject *array = PyArray_SimpleNew(1, &n, NPY_INT32);
  if (array != NULL) {
    int32_t *to = PyArray_DATA((PyArrayObject *)array);
    for (npy_intp i = 0; i < n; i++) {
      to[i] = values[i] - offset;
    }
  }
  return array;
}

/* what there is of pair i, in the order of the fields of ContactSurface */
static PyObject *surface_of(const geo_surfaces *s, int32_t i) {
  const int32_t f = s->pair_start[i];
  const int32_t n = s->pair_start[i + 1] - f;
  const int32_t v = s->face_start[f];
  const int32_t corners = s->face_start[f + n] - v;
  PyObject *const arrays[] = {copy_integers(s->face_start + f, n + 1, v),
                              copy(s->vertices, v, corners, 3),
                              copy(s->vertex_pressure, v, corners, 1),
                              copy_integers(s->cell_a + f, n, 0),
                              copy_integers(s->cell_b + f, n, 0),
                              copy(s->area, f, n, 1),
                              copy(s->centroid, f, n, 3),
                              copy(s->normal, f, n, 3),
                              copy(s->p0, f, n, 1),
                              copy(s->g_a, f, n, 1),
                              copy(s->g_b, f, n, 1),
                              copy(s->k, f, n, 1),
                              copy(s->phi0, f, n, 1),
                              copy(s->load, f, n, 1),
                              copy(s->force + 3 * (size_t)i, 0, 3, 1),
                              copy(s->torque + 3 * (size_t)i, 0, 3, 1)};
  enum { N = sizeof arrays / sizeof *arrays };
  PyObject *tuple = PyTuple_New(N);
  int is_whole = tuple != NULL;
  for (int k = 0; k < N; k++) {
    is_whole &= arrays[k] != NULL;
    if (tuple != NULL) {
      PyTuple_SET_ITEM(tuple, k, arrays[k]);
    } else {
      Py_XDECREF(arrays[k]);
    }
  }
  if (!is_whole) {
    Py_CLEAR(tuple);
  }
  return tuple;
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

/* in the workspace of the last call, unless one that runs at the same time has it */
static PyObject *find(sapwood_state *state, const geo_pair *pairs, Py_ssize_t n, geo_faces faces) {
  geo_workspace *work = state->idle_surfaces;
  state->idle_surfaces = NULL;
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
  if (state->idle_surfaces == NULL) {
    state->idle_surfaces = work;
  } else {
    geo_workspace_destroy(work);
  }
  return list;
}

PyDoc_STRVAR(contact_surfaces_doc,
             "contact_surfaces(pairs, fans, /)\n--\n\n"
             "Surfaces of a list of pairs (a, pose_a, b, pose_b), a tuple of arrays for each.");

static PyObject *contact_surfaces(PyObject *module, PyObject *args) {
  PyObject *listed, *found = NULL;
  int fans;
  if (!PyArg_ParseTuple(args, "O!p:contact_surfaces", &PyList_Type, &listed, &fans)) {
    return NULL;
  }
  const Py_ssize_t n = PyList_GET_SIZE(listed);
  if (n > INT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "pairs: must be fewer than 2^31");
    return NULL;
  }
  /* what an array-like calls may change the list */
  PyObject *own = PyList_GetSlice(listed, 0, n);
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
    {NULL, NULL, 0, NULL}};

int sapwood_add_surfaces(PyObject *module) { return PyModule_AddFunctions(module, methods); }
