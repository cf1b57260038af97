/* _core.contact_surfaces: surfaces of many pairs as NumPy arrays. */
#include <string.h>

#include "python/errors.h"
#include "python/geometry/geometry.h"

/* the upper rows of a matrix (4, 4) */
static void read_pose(const double *X, geo_pose *pose) {
  for (int i = 0; i < 3; i++) {
    memcpy(pose->R + 3 * (size_t)i, X + 4 * (size_t)i, 3 * sizeof(double));
    pose->t[i] = X[4 * i + 3];
  }
}

/* a, b: tuples of n capsules; poses (n, 2, 4, 4); NULL with an exception */
static geo_pair *read_pairs(PyObject *a, PyObject *b, PyArrayObject *poses) {
  const Py_ssize_t n = PyTuple_GET_SIZE(a);
  geo_pair *pairs = PyMem_Calloc((size_t)n + 1, sizeof *pairs);
  if (pairs == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    const double *X = sapwood_doubles(poses) + 32 * i;
    read_pose(X, &pairs[i].pose_a);
    read_pose(X + 16, &pairs[i].pose_b);
    pairs[i].a = sapwood_shape(PyTuple_GET_ITEM(a, i));
    pairs[i].b = pairs[i].a == NULL ? NULL : sapwood_shape(PyTuple_GET_ITEM(b, i));
    if (pairs[i].b == NULL) {
      PyMem_Free(pairs);
      return NULL;
    }
  }
  return pairs;
}

/* a copy of n numbers, or of n times three for ndim = 2 */
static PyObject *copy(const void *values, npy_intp n, int ndim, int typenum) {
  const npy_intp shape[2] = {n, 3};
  PyObject *array = PyArray_SimpleNew(ndim, (npy_intp *)shape, typenum);
  if (array != NULL && n > 0) {
    memcpy(PyArray_DATA((PyArrayObject *)array), values,
           (size_t)PyArray_NBYTES((PyArrayObject *)array));
  }
  return array;
}

/* all arrays, in the order of the table */
static PyObject *results(const geo_surfaces *s) {
  const struct {
    const void *values;
    npy_intp n;
    int ndim, typenum;
  } arrays[] = {{s->pair_start, s->n_pairs + 1, 1, NPY_INT32},
                {s->face_start, s->n_faces + 1, 1, NPY_INT32},
                {s->cell_a, s->n_faces, 1, NPY_INT32},
                {s->cell_b, s->n_faces, 1, NPY_INT32},
                {s->vertices, s->n_vertices, 2, NPY_DOUBLE},
                {s->vertex_pressure, s->n_vertices, 1, NPY_DOUBLE},
                {s->area, s->n_faces, 1, NPY_DOUBLE},
                {s->centroid, s->n_faces, 2, NPY_DOUBLE},
                {s->normal, s->n_faces, 2, NPY_DOUBLE},
                {s->p0, s->n_faces, 1, NPY_DOUBLE},
                {s->g_a, s->n_faces, 1, NPY_DOUBLE},
                {s->g_b, s->n_faces, 1, NPY_DOUBLE},
                {s->k, s->n_faces, 1, NPY_DOUBLE},
                {s->phi0, s->n_faces, 1, NPY_DOUBLE},
                {s->load, s->n_faces, 1, NPY_DOUBLE},
                {s->force, s->n_pairs, 2, NPY_DOUBLE},
                {s->torque, s->n_pairs, 2, NPY_DOUBLE}};
  enum { N = sizeof arrays / sizeof *arrays };
  PyObject *tuple = PyTuple_New(N);
  for (int i = 0; i < N && tuple != NULL; i++) {
    PyObject *array = copy(arrays[i].values, arrays[i].n, arrays[i].ndim, arrays[i].typenum);
    if (array == NULL) {
      Py_CLEAR(tuple);
    } else {
      PyTuple_SET_ITEM(tuple, i, array);
    }
  }
  return tuple;
}

static PyObject *find(const geo_pair *pairs, Py_ssize_t n, geo_faces faces) {
  geo_workspace *work = NULL;
  geo_surfaces surfaces = {0};
  sap_error error = {.group = -1};
  sap_status status;
  Py_BEGIN_ALLOW_THREADS
  status = geo_workspace_create(&work, NULL);
  if (status == SAP_OK) {
    status = geo_contact_surfaces(work, (int32_t)n, pairs, faces, &surfaces, &error);
  }
  Py_END_ALLOW_THREADS
  PyObject *tuple = sapwood_raise(status, &error) == 0 ? results(&surfaces) : NULL;
  geo_workspace_destroy(work);
  return tuple;
}

PyDoc_STRVAR(contact_surfaces_doc,
             "contact_surfaces(a, b, poses, fans, /)\n--\n\n"
             "Surfaces of n pairs: tuples of n shapes, poses (n, 2, 4, 4); the arrays of\n"
             "geo_surfaces.");

static PyObject *contact_surfaces(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *a, *b, *given_poses, *found = NULL;
  int fans;
  if (!PyArg_ParseTuple(args, "O!O!Op:contact_surfaces", &PyTuple_Type, &a, &PyTuple_Type, &b,
                        &given_poses, &fans)) {
    return NULL;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(a);
  if (PyTuple_GET_SIZE(b) != n || n > INT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "a and b must be equally long, with fewer than 2^31 shapes");
    return NULL;
  }
  const npy_intp shape[4] = {n, 2, 4, 4};
  PyArrayObject *poses = sapwood_as_float64(given_poses, "poses", 4, shape, SAPWOOD_FINITE);
  geo_pair *pairs = poses == NULL ? NULL : read_pairs(a, b, poses);
  if (pairs != NULL) {
    found = find(pairs, n, fans ? GEO_TRIANGLE_FANS : GEO_POLYGONS);
  }
  PyMem_Free(pairs);
  Py_XDECREF(poses);
  return found;
}

static PyMethodDef methods[] = {
    {"contact_surfaces", contact_surfaces, METH_VARARGS, contact_surfaces_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_surfaces(PyObject *module) { return PyModule_AddFunctions(module, methods); }
