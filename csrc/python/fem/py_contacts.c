/* Contacts of boundary faces with half spaces and pressure fields, and overlaps of a body with
 * itself: fem.h. */
#include "python/parts.h"

#include <string.h>

#include "python/arrays.h"
#include "python/errors.h"
#include "python/fem/py_fem.h"
#include "python/geometry/py_geometry.h"
#include "python/state.h"

PyArrayObject *sapwood_fem_numbers(PyObject *object, const char *name, npy_intp n, npy_intp cols,
                                   npy_intp least, npy_intp end) {
  const npy_intp shape[2] = {n, cols};
  PyArrayObject *array =
      sapwood_in_place(object, name, NPY_INT32, cols > 0 ? 2 : 1, shape, NPY_ARRAY_C_CONTIGUOUS);
  for (npy_intp i = 0; array && i < PyArray_SIZE(array); i++) {
    const int32_t number = sapwood_int32s(array)[i];
    if (number < least || number >= end) {
      PyErr_Format(PyExc_ValueError, "%s[%zd] = %d: must be >= %zd and < %zd", name, (Py_ssize_t)i,
                   (int)number, (Py_ssize_t)least, (Py_ssize_t)end);
      Py_CLEAR(array);
    }
  }
  return array;
}

/* ---- boundary faces ---- */

/* A soft body: its mesh, faces and positions, and the arrays behind them. */
struct skin {
  const fem_mesh *mesh;
  fem_faces faces;
  const double *x;
  PyArrayObject *in[3];
};

/* Reads mesh, faces, tetrahedra behind them, and positions. Returns 0, or -1 with an exception; the
 * caller releases the arrays in both cases. */
static int read_skin(PyObject *const given[4], struct skin *skin) {
  enum { CORNERS, TETRAHEDRA, X };
  *skin = (struct skin){.mesh = sapwood_fem_mesh(given[0])};
  if (skin->mesh == NULL) {
    return -1;
  }
  const fem_arrays *a = fem_mesh_arrays(skin->mesh);
  const sapwood_argument x = SAPWOOD_READ(X, "x", SAPWOOD_FINITE, 0, a->n_vertices, 3);
  PyArrayObject **in = skin->in;
  in[CORNERS] = sapwood_fem_numbers(given[1], "faces", -1, 3, 0, a->n_vertices);
  const npy_intp n = in[CORNERS] ? PyArray_DIM(in[CORNERS], 0) : 0;
  if (in[CORNERS] == NULL ||
      (in[TETRAHEDRA] = sapwood_fem_numbers(given[2], "tetrahedra", n, 0, 0, a->n_tetrahedra)) ==
          NULL ||
      sapwood_read_all(in, given + 1, &x, 1) != 0) {
    return -1;
  }
  skin->faces = (fem_faces){.n = (int32_t)n,
                            .corners = sapwood_int32s(in[CORNERS]),
                            .tetrahedra = sapwood_int32s(in[TETRAHEDRA])};
  skin->x = sapwood_doubles(in[X]);
  return 0;
}

/* Makes arrays for n contacts, in the order of their fields; `contacts` points to them. Returns a
 * tuple, or NULL with an exception. */
static PyObject *new_contacts(int32_t n, fem_contacts *contacts) {
  enum { N = 7 };
  const npy_intp shape[2] = {n, 3};
  PyObject *tuple = PyTuple_New(N);
  void *to[N] = {NULL};
  for (int i = 0; i < N && tuple != NULL; i++) {
    const int is_vector = i >= 1 && i <= 4;
    PyObject *array = PyArray_SimpleNew(is_vector ? 2 : 1, shape, i < 2 ? NPY_INT32 : NPY_DOUBLE);
    if (array == NULL) {
      Py_CLEAR(tuple);
    } else {
      to[i] = PyArray_DATA((PyArrayObject *)array);
      PyTuple_SET_ITEM(tuple, i, array);
    }
  }
  *contacts = (fem_contacts){n, to[0], to[1], to[2], to[3], to[4], to[5], to[6]};
  return tuple;
}

PyDoc_STRVAR(fem_plane_contacts_doc,
             "fem_plane_contacts(mesh, faces, tetrahedra, x, normal, offset, stiffness, /)\n--\n\n"
             "Contacts of faces with a half space: face, corners, weights, points, normals, k, "
             "phi0.");

static PyObject *find_plane_contacts(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *given[5], *made = NULL;
  PyArrayObject *normal = NULL;
  fem_half_space plane;
  struct skin skin;
  if (!PyArg_ParseTuple(args, "OOOOOdd:fem_plane_contacts", &given[0], &given[1], &given[2],
                        &given[3], &given[4], &plane.offset, &plane.stiffness)) {
    return NULL;
  }
  if (read_skin(given, &skin) == 0 &&
      (normal = sapwood_as_float64(given[4], "normal", SAPWOOD_SHAPE(3), SAPWOOD_FINITE)) != NULL) {
    fem_contacts found = {.face = NULL};
    memcpy(plane.normal, sapwood_doubles(normal), sizeof plane.normal);
    fem_contacts_with_plane(skin.mesh, &skin.faces, skin.x, &plane, &found);
    if ((made = new_contacts(found.n, &found)) != NULL) {
      fem_contacts_with_plane(skin.mesh, &skin.faces, skin.x, &plane, &found);
    }
  }
  Py_XDECREF(normal);
  sapwood_release(skin.in, 3);
  return made;
}

/* Puts a search in the place of the one that the state has, and returns that. */
static fem_face_search *exchange_search(sapwood_state *state, fem_face_search *search) {
  sapwood_mutex_take(&state->shared);
  fem_face_search *before = state->face_search;
  state->face_search = search;
  sapwood_mutex_leave(&state->shared);
  return before;
}

/* Copies found contacts to arrays. */
static PyObject *copy_contacts(const fem_contacts *found) {
  const size_t n = (size_t)found->n;
  fem_contacts to;
  PyObject *made = new_contacts(found->n, &to);
  if (made != NULL && n > 0) {
    memcpy(to.face, found->face, n * sizeof *to.face);
    memcpy(to.corners, found->corners, 3 * n * sizeof *to.corners);
    memcpy(to.weights, found->weights, 3 * n * sizeof *to.weights);
    memcpy(to.points, found->points, 3 * n * sizeof *to.points);
    memcpy(to.normals, found->normals, 3 * n * sizeof *to.normals);
    memcpy(to.k, found->k, n * sizeof *to.k);
    memcpy(to.phi0, found->phi0, n * sizeof *to.phi0);
  }
  return made;
}

/* Finds contacts by the search of the last call unless a concurrent call has it. */
static PyObject *search_contacts(sapwood_state *state, const struct skin *skin,
                                 const fem_field *field) {
  fem_face_search *search = exchange_search(state, NULL);
  fem_contacts found = {0};
  sap_error error = {.group = -1};
  sap_status status;
  Py_BEGIN_ALLOW_THREADS
  status = search == NULL ? fem_face_search_create(&search, NULL) : SAP_OK;
  if (status == SAP_OK) {
    status =
        fem_contacts_with_shape(search, skin->mesh, &skin->faces, skin->x, field, &found, &error);
  }
  Py_END_ALLOW_THREADS
  PyObject *made = sapwood_raise(status, &error) == 0 ? copy_contacts(&found) : NULL;
  fem_face_search_destroy(exchange_search(state, search));
  return made;
}

PyDoc_STRVAR(fem_shape_contacts_doc,
             "fem_shape_contacts(mesh, faces, tetrahedra, x, shape, pose, stiffness, is_depth, /)\n"
             "--\n\n"
             "Contacts of faces with a pressure field: face, corners, weights, points, normals, k, "
             "phi0.");

static PyObject *find_shape_contacts(PyObject *module, PyObject *args) {
  PyObject *given[6], *made = NULL;
  fem_field field;
  struct skin skin;
  if (!PyArg_ParseTuple(args, "OOOOOOdp:fem_shape_contacts", &given[0], &given[1], &given[2],
                        &given[3], &given[4], &given[5], &field.stiffness, &field.is_depth)) {
    return NULL;
  }
  if (read_skin(given, &skin) == 0 && (field.shape = sapwood_shape(given[4])) != NULL &&
      sapwood_read_pose(given[5], "pose", &field.pose) == 0) {
    made = search_contacts(sapwood_state_of_module(module), &skin, &field);
  }
  sapwood_release(skin.in, 3);
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
  in[ORDER] = sapwood_fem_numbers(given[ORDER], "order", a->n_tetrahedra, 0, 0, a->n_tetrahedra);
  if (in[ORDER] && sapwood_read_all(in, given, table, 3) == 0) {
    const fem_balls balls = {.order = sapwood_int32s(in[ORDER]),
                             .centre = sapwood_doubles(in[CENTRE]),
                             .reach = sapwood_doubles(in[REACH])};
    pairs = list_pairs(mesh, &balls, sapwood_doubles(in[X]));
  }
  sapwood_release(in, N);
  return pairs;
}

static PyMethodDef methods[] = {
    {"fem_plane_contacts", find_plane_contacts, METH_VARARGS, fem_plane_contacts_doc},
    {"fem_shape_contacts", find_shape_contacts, METH_VARARGS, fem_shape_contacts_doc},
    {"fem_far_pairs", find_far_pairs, METH_VARARGS, fem_far_pairs_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_fem_contacts(PyObject *module) { return PyModule_AddFunctions(module, methods); }
