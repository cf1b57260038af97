/* Contacts of boundary faces with half spaces, overlaps of a body with itself, and the rows of
 * contacts: fem.h. */
#include "python/parts.h"
#include "python/arrays.h"
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
  enum { CORNERS, TETRAHEDRA, X, NORMAL, N };
  PyObject *capsule, *given[N], *made = NULL;
  PyArrayObject *in[N] = {NULL};
  fem_half_space plane;
  if (!PyArg_ParseTuple(args, "OOOOOdd:fem_plane_contacts", &capsule, &given[CORNERS],
                        &given[TETRAHEDRA], &given[X], &given[NORMAL], &plane.offset,
                        &plane.stiffness)) {
    return NULL;
  }
  const fem_mesh *mesh = sapwood_fem_mesh(capsule);
  if (mesh == NULL) {
    return NULL;
  }
  const fem_arrays *a = fem_mesh_arrays(mesh);
  const sapwood_argument table[] = {SAPWOOD_READ(X, "x", SAPWOOD_FINITE, 0, a->n_vertices, 3),
                                    SAPWOOD_READ(NORMAL, "normal", SAPWOOD_FINITE, 0, 3)};
  in[CORNERS] = read_numbers(given[CORNERS], "faces", -1, 3, a->n_vertices);
  const npy_intp n = in[CORNERS] ? PyArray_DIM(in[CORNERS], 0) : 0;
  if (in[CORNERS] &&
      (in[TETRAHEDRA] = read_numbers(given[TETRAHEDRA], "tetrahedra", n, 0, a->n_tetrahedra)) !=
          NULL &&
      sapwood_read_all(in, given, table, 2) == 0) {
    const fem_faces faces = {.n = (int32_t)n,
                             .corners = sapwood_int32s(in[CORNERS]),
                             .tetrahedra = sapwood_int32s(in[TETRAHEDRA])};
    memcpy(plane.normal, sapwood_doubles(in[NORMAL]), sizeof plane.normal);
    made = make_contacts(mesh, &faces, sapwood_doubles(in[X]), &plane);
  }
  sapwood_release(in, N);
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
  enum { ORDER, CENTRE, REACH, X, N };
  PyObject *capsule, *given[N], *pairs = NULL;
  PyArrayObject *in[N] = {NULL};
  if (!PyArg_ParseTuple(args, "OOOOO:fem_far_pairs", &capsule, &given[ORDER], &given[CENTRE],
                        &given[REACH], &given[X])) {
    return NULL;
  }
  const fem_mesh *mesh = sapwood_fem_mesh(capsule);
  if (mesh == NULL) {
    return NULL;
  }
  const fem_arrays *a = fem_mesh_arrays(mesh);
  const sapwood_argument table[] = {
      SAPWOOD_READ(CENTRE, "centre", SAPWOOD_FINITE, 0, a->n_tetrahedra, 3),
      SAPWOOD_READ(REACH, "reach", SAPWOOD_FINITE, 0, a->n_tetrahedra),
      SAPWOOD_READ(X, "x", SAPWOOD_FINITE, 0, a->n_vertices, 3)};
  in[ORDER] = read_numbers(given[ORDER], "order", a->n_tetrahedra, 0, a->n_tetrahedra);
  if (in[ORDER] && sapwood_read_all(in, given, table, 3) == 0) {
    const fem_balls balls = {.order = sapwood_int32s(in[ORDER]),
                             .centre = sapwood_doubles(in[CENTRE]),
                             .reach = sapwood_doubles(in[REACH])};
    pairs = list_pairs(mesh, &balls, sapwood_doubles(in[X]));
  }
  sapwood_release(in, N);
  return pairs;
}

/* ---- rows ---- */

PyDoc_STRVAR(fem_contact_rows_doc,
             "fem_contact_rows(columns, weights, normals, n_last, /)\n--\n\n"
             "Axes (n, 3, 3) of contacts, and their Jacobian (n, 3, 3 n_last).");

static PyObject *find_contact_rows(PyObject *Py_UNUSED(module), PyObject *args) {
  enum { COLUMNS, WEIGHTS, NORMALS, N };
  PyObject *given[N], *found = NULL;
  PyArrayObject *in[N] = {NULL}, *out[2] = {NULL};
  int n_last;
  if (!PyArg_ParseTuple(args, "OOOi:fem_contact_rows", &given[COLUMNS], &given[WEIGHTS],
                        &given[NORMALS], &n_last)) {
    return NULL;
  }
  in[WEIGHTS] = sapwood_as_float64(given[WEIGHTS], "weights", SAPWOOD_SHAPE(-1, -1), SAPWOOD_ANY);
  if (in[WEIGHTS] == NULL) {
    return NULL;
  }
  const npy_intp n = PyArray_DIM(in[WEIGHTS], 0), n_corners = PyArray_DIM(in[WEIGHTS], 1);
  const sapwood_argument normals = SAPWOOD_ARGUMENT(NORMALS, "normals", n, 3);
  const sapwood_layout layouts[] = {{NPY_DOUBLE, 3, {n, 3, 3}},
                                    {NPY_DOUBLE, 3, {n, 3, 3 * (npy_intp)n_last}}};
  in[COLUMNS] = read_numbers(given[COLUMNS], "columns", n, n_corners, n_last);
  if (in[COLUMNS] && sapwood_read_all(in, given, &normals, 1) == 0 &&
      sapwood_new_all(out, layouts, 2) == 0) {
    fem_contact_rows((int32_t)n, (int32_t)n_corners, sapwood_int32s(in[COLUMNS]),
                     sapwood_doubles(in[WEIGHTS]), sapwood_doubles(in[NORMALS]), n_last,
                     sapwood_doubles(out[0]), sapwood_doubles(out[1]));
    found = PyTuple_Pack(2, out[0], out[1]);
  }
  sapwood_release(in, N);
  sapwood_release(out, 2);
  return found;
}

static PyMethodDef methods[] = {
    {"fem_plane_contacts", find_plane_contacts, METH_VARARGS, fem_plane_contacts_doc},
    {"fem_far_pairs", find_far_pairs, METH_VARARGS, fem_far_pairs_doc},
    {"fem_contact_rows", find_contact_rows, METH_VARARGS, fem_contact_rows_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_fem_contacts(PyObject *module) { return PyModule_AddFunctions(module, methods); }
