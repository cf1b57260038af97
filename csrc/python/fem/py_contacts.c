/* Contacts of boundary faces with half spaces, overlaps of a body with itself, and the rows of
 * contacts: fem.h. */
#include "python/errors.h"
#include "python/fem/py_fem.h"

/* Returns an int32 array (n, cols) of numbers in [0, end); NULL with an exception. */
static PyArrayObject *read_numbers(PyObject *object, const char *name, npy_intp n, npy_intp cols,
                                   npy_intp end) {
  const npy_intp shape[2] = {n, cols};
  PyArrayObject *array =
      sapwood_in_place(object, name, NPY_INT32, cols > 0 ? 2 : 1, shape, NPY_ARRAY_C_CONTIGUOUS);
  for (npy_intp i = 0; array && i < PyArray_SIZE(array); i++) {
    const int32_t number = sapwood_int32s(array)[i];
    if (number < 0 || number >= end) {
      PyErr_Format(PyExc_ValueError, "%s[%zd] = %d: must be >= 0 and < %zd", name, (Py_ssize_t)i,
                   (int)number, (Py_ssize_t)end);
      Py_CLEAR(array);
    }
  }
  return array;
}

/* ---- half spaces ---- */

/* Returns faces, corners, weights, points, k, phi0 of the contacts. */
static PyObject *make_contacts(const fem_mesh *mesh, const fem_faces *faces, const double *x,
                               const fem_half_space *plane) {
  fem_contacts found = {.face = NULL};
  fem_contacts_with_plane(mesh, faces, x, plane, &found);
  const npy_intp shape[2] = {found.n, 3};
  PyObject *arrays[6];
  for (int i = 0; i < 6; i++) {
    const int is_vector = i >= 1 && i <= 3;
    arrays[i] = PyArray_SimpleNew(is_vector ? 2 : 1, shape, i < 2 ? NPY_INT32 : NPY_DOUBLE);
  }
  if (!PyErr_Occurred()) {
    double *to[6];
    for (int i = 2; i < 6; i++) {
      to[i] = sapwood_doubles((PyArrayObject *)arrays[i]);
    }
    found = (fem_contacts){.face = sapwood_int32s((PyArrayObject *)arrays[0]),
                           .corners = sapwood_int32s((PyArrayObject *)arrays[1]),
                           .weights = to[2],
                           .points = to[3],
                           .k = to[4],
                           .phi0 = to[5]};
    fem_contacts_with_plane(mesh, faces, x, plane, &found);
  }
  /* N: takes the arrays, and drops them if one is missing */
  return Py_BuildValue("NNNNNN", arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5]);
}

PyDoc_STRVAR(fem_plane_contacts_doc,
             "fem_plane_contacts(mesh, faces, tetrahedra, x, normal, offset, stiffness, /)\n--\n\n"
             "Contacts of faces with a half space: face, corners, weights, points, k, phi0.");

static PyObject *find_plane_contacts(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *given[4], *made = NULL;
  PyArrayObject *corners = NULL, *tetrahedra = NULL, *x = NULL, *normal = NULL;
  fem_half_space plane;
  if (!PyArg_ParseTuple(args, "OOOOOdd:fem_plane_contacts", &capsule, &given[0], &given[1],
                        &given[2], &given[3], &plane.offset, &plane.stiffness)) {
    return NULL;
  }
  const fem_mesh *mesh = sapwood_fem_mesh(capsule);
  if (mesh == NULL) {
    return NULL;
  }
  const fem_arrays *a = fem_mesh_arrays(mesh);
  corners = read_numbers(given[0], "faces", -1, 3, a->n_vertices);
  if (corners) {
    tetrahedra = read_numbers(given[1], "tetrahedra", PyArray_DIM(corners, 0), 0, a->n_tetrahedra);
  }
  if (tetrahedra) {
    x = sapwood_as_float64(given[2], "x", SAPWOOD_SHAPE(a->n_vertices, 3), SAPWOOD_FINITE);
  }
  if (x) {
    normal = sapwood_as_vector(given[3], "normal", 3, SAPWOOD_FINITE);
  }
  if (normal) {
    const fem_faces faces = {.n = (int32_t)PyArray_DIM(corners, 0),
                             .corners = sapwood_int32s(corners),
                             .tetrahedra = sapwood_int32s(tetrahedra)};
    memcpy(plane.normal, sapwood_doubles(normal), sizeof plane.normal);
    made = make_contacts(mesh, &faces, sapwood_doubles(x), &plane);
  }
  Py_XDECREF(corners);
  Py_XDECREF(tetrahedra);
  Py_XDECREF(x);
  Py_XDECREF(normal);
  return made;
}

/* ---- one body with itself ---- */

PyDoc_STRVAR(fem_far_pairs_doc,
             "fem_far_pairs(mesh, order, centre, reach, x, /)\n--\n\n"
             "Pairs (n, 2) of tetrahedra that are apart at rest, and whose boxes meet.");

static PyObject *list_pairs(const fem_mesh *mesh, const fem_balls *balls, const double *x) {
  int64_t n = fem_mesh_arrays(mesh)->n_tetrahedra, room;
  PyObject *pairs = NULL;
  do { /* the second time for more pairs than tetrahedra */
    Py_XDECREF(pairs);
    room = n;
    pairs = (PyObject *)sapwood_new(NPY_INT32, SAPWOOD_SHAPE((npy_intp)room, 2));
    if (pairs == NULL) {
      return NULL;
    }
    sap_status status;
    int32_t *to = sapwood_int32s((PyArrayObject *)pairs);
    Py_BEGIN_ALLOW_THREADS
    status = fem_find_far_pairs(mesh, balls, x, room, to, &n, NULL);
    Py_END_ALLOW_THREADS
    if (sapwood_raise(status, NULL) != 0) {
      Py_DECREF(pairs);
      return NULL;
    }
  } while (n > room);
  PyObject *found = PySequence_GetSlice(pairs, 0, (Py_ssize_t)n);
  Py_DECREF(pairs);
  return found;
}

static PyObject *find_far_pairs(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *given[4], *pairs = NULL;
  PyArrayObject *order = NULL, *centre = NULL, *reach = NULL, *x = NULL;
  if (!PyArg_ParseTuple(args, "OOOOO:fem_far_pairs", &capsule, &given[0], &given[1], &given[2],
                        &given[3])) {
    return NULL;
  }
  const fem_mesh *mesh = sapwood_fem_mesh(capsule);
  if (mesh == NULL) {
    return NULL;
  }
  const fem_arrays *a = fem_mesh_arrays(mesh);
  const npy_intp centres[2] = {a->n_tetrahedra, 3}, positions[2] = {a->n_vertices, 3};
  order = read_numbers(given[0], "order", a->n_tetrahedra, 0, a->n_tetrahedra);
  if (order) {
    centre = sapwood_as_float64(given[1], "centre", 2, centres, SAPWOOD_FINITE);
  }
  if (centre) {
    reach = sapwood_as_vector(given[2], "reach", a->n_tetrahedra, SAPWOOD_FINITE);
  }
  if (reach) {
    x = sapwood_as_float64(given[3], "x", 2, positions, SAPWOOD_FINITE);
  }
  if (x) {
    const fem_balls balls = {.order = sapwood_int32s(order),
                             .centre = sapwood_doubles(centre),
                             .reach = sapwood_doubles(reach)};
    pairs = list_pairs(mesh, &balls, sapwood_doubles(x));
  }
  Py_XDECREF(order);
  Py_XDECREF(centre);
  Py_XDECREF(reach);
  Py_XDECREF(x);
  return pairs;
}

/* ---- rows ---- */

PyDoc_STRVAR(fem_contact_rows_doc,
             "fem_contact_rows(columns, weights, normals, n_last, /)\n--\n\n"
             "Axes (n, 3, 3) of contacts, and their Jacobian (n, 3, 3 n_last).");

static PyObject *find_contact_rows(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *given[3], *axes = NULL, *J = NULL;
  PyArrayObject *columns = NULL, *weights = NULL, *normals = NULL;
  int n_last;
  if (!PyArg_ParseTuple(args, "OOOi:fem_contact_rows", &given[0], &given[1], &given[2], &n_last)) {
    return NULL;
  }
  weights = sapwood_as_float64(given[1], "weights", SAPWOOD_SHAPE(-1, -1), SAPWOOD_ANY);
  if (weights == NULL) {
    return NULL;
  }
  const npy_intp n = PyArray_DIM(weights, 0), n_corners = PyArray_DIM(weights, 1);
  columns = read_numbers(given[0], "columns", n, n_corners, n_last);
  if (columns) {
    normals = sapwood_as_float64(given[2], "normals", SAPWOOD_SHAPE(n, 3), SAPWOOD_ANY);
  }
  if (normals) {
    const npy_intp shape_axes[3] = {n, 3, 3}, shape_J[3] = {n, 3, 3 * (npy_intp)n_last};
    axes = PyArray_SimpleNew(3, shape_axes, NPY_DOUBLE);
    J = PyArray_SimpleNew(3, shape_J, NPY_DOUBLE);
  }
  if (axes && J) {
    fem_contact_rows((int32_t)n, (int32_t)n_corners, sapwood_int32s(columns),
                     sapwood_doubles(weights), sapwood_doubles(normals), n_last,
                     sapwood_doubles((PyArrayObject *)axes), sapwood_doubles((PyArrayObject *)J));
  }
  Py_XDECREF(columns);
  Py_XDECREF(weights);
  Py_XDECREF(normals);
  return Py_BuildValue("NN", axes, J);
}

static PyMethodDef methods[] = {
    {"fem_plane_contacts", find_plane_contacts, METH_VARARGS, fem_plane_contacts_doc},
    {"fem_far_pairs", find_far_pairs, METH_VARARGS, fem_far_pairs_doc},
    {"fem_contact_rows", find_contact_rows, METH_VARARGS, fem_contact_rows_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_fem_contacts(PyObject *module) { return PyModule_AddFunctions(module, methods); }
