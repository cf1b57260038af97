/* _core.fem_rows: rows of the contacts of soft bodies, fem/contact_rows.h. */
#include "python/parts.h"
#include "fem/contact_rows.h"
#include "python/arrays.h"
#include "python/fem/py_fem.h"

/* The arrays of a call. The list keeps what was read. */
struct call {
  PyObject *kept;
  npy_intp n_trees;
  const int32_t *tree_nv;
  Py_ssize_t n_parts, n_meetings;
  struct fem_part *parts;
  int32_t *n_vertices; /* (n_parts) */
  struct fem_meeting *meetings;
};

/* ---- reading ---- */

/* Keeps an array until the end of the call. Returns it, borrowed, or NULL with an exception. */
static PyArrayObject *keep(struct call *call, PyArrayObject *array) {
  if (array != NULL && PyList_Append(call->kept, (PyObject *)array) != 0) {
    Py_CLEAR(array);
  }
  Py_XDECREF(array);
  return array;
}

static const double *read_doubles(struct call *call, PyObject *object, const char *name, int ndim,
                                  const npy_intp *shape) {
  PyArrayObject *array = keep(call, sapwood_as_float64(object, name, ndim, shape, SAPWOOD_ANY));
  return array == NULL ? NULL : sapwood_doubles(array);
}

/* Reads the tree of a part or of a rigid body, and its velocities. Returns 0, or -1 with an
 * exception. */
static int read_tree(const struct call *call, int tree, int least, int32_t *to, int32_t *nv) {
  if (tree < least || tree >= call->n_trees) {
    return sapwood_value_error("tree", -1, tree, "is out of range");
  }
  *to = tree;
  *nv = tree < 0 ? 0 : call->tree_nv[tree];
  return 0;
}

static int read_part(struct call *call, PyObject *object, Py_ssize_t i) {
  struct fem_part *part = &call->parts[i];
  PyObject *place, *column, *T, *c, *start;
  int tree;
  if (!PyArg_ParseTuple(object, "iOOOOO;a part must be of six", &tree, &place, &column, &T, &c,
                        &start) ||
      read_tree(call, tree, -1, &part->tree, &part->nv) != 0) {
    return -1;
  }
  const npy_intp most = part->nv < 3 ? 0 : part->nv - 2; /* a vertex has three velocities */
  PyArrayObject *columns = keep(call, sapwood_fem_numbers(column, "column", -1, 0, -1, most));
  const npy_intp n_last = columns == NULL ? 0 : PyArray_SIZE(columns);
  PyArrayObject *places =
      columns == NULL ? NULL : keep(call, sapwood_fem_numbers(place, "place", -1, 0, -1, n_last));
  if (places == NULL) {
    return -1;
  }
  part->column = sapwood_int32s(columns);
  part->place = sapwood_int32s(places);
  call->n_vertices[i] = (int32_t)PyArray_SIZE(places);
  if ((T != Py_None &&
       (part->T = read_doubles(call, T, "T", SAPWOOD_SHAPE(3 * n_last, part->nv))) == NULL) ||
      (c != Py_None && (part->c = read_doubles(call, c, "c", SAPWOOD_SHAPE(n_last, 3))) == NULL)) {
    return -1;
  }
  part->start = read_doubles(call, start, "start", SAPWOOD_SHAPE(PyArray_SIZE(places), 3));
  return part->start == NULL ? -1 : 0;
}

/* Reads (part, vertices, weights) of n contacts, whose vertices are among the last ones. */
static int read_side(struct call *call, PyObject *object, npy_intp n, struct fem_side *side) {
  PyObject *vertices, *weights;
  Py_ssize_t i;
  if (!PyArg_ParseTuple(object, "nOO;a side must be of three", &i, &vertices, &weights)) {
    return -1;
  }
  if (i < 0 || i >= call->n_parts) {
    return sapwood_value_error("part", -1, (double)i, "is out of range");
  }
  side->part = &call->parts[i];
  PyArrayObject *shares =
      keep(call, sapwood_as_float64(weights, "weights", SAPWOOD_SHAPE(n, -1), SAPWOOD_ANY));
  if (shares == NULL) {
    return -1;
  }
  const npy_intp n_corners = PyArray_DIM(shares, 1);
  PyArrayObject *numbers =
      keep(call, sapwood_fem_numbers(vertices, "vertices", n, n_corners, 0, call->n_vertices[i]));
  if (numbers == NULL) {
    return -1;
  }
  side->n_corners = (int32_t)n_corners;
  side->vertices = sapwood_int32s(numbers);
  side->weights = sapwood_doubles(shares);
  for (npy_intp k = 0; k < n * n_corners; k++) {
    if (side->part->place[side->vertices[k]] < 0) {
      return sapwood_value_error("vertices", k, side->vertices[k], "is not among the last ones");
    }
  }
  return 0;
}

/* Reads (tree, begin, J, v) of n contacts, or None. */
static int read_rigid(struct call *call, PyObject *object, npy_intp n,
                      struct fem_meeting *meeting) {
  PyObject *J, *v;
  int tree;
  meeting->tree = -1;
  if (object == Py_None) {
    return 0;
  }
  if (!PyArg_ParseTuple(object, "iiOO;a rigid body must be of four", &tree, &meeting->begin, &J,
                        &v) ||
      read_tree(call, tree, 0, &meeting->tree, &meeting->nv) != 0) {
    return -1;
  }
  PyArrayObject *velocities = keep(call, sapwood_as_vector(v, "v", -1, SAPWOOD_ANY));
  if (velocities == NULL) {
    return -1;
  }
  const npy_intp width = PyArray_SIZE(velocities);
  if (meeting->begin < 0 || width > meeting->nv || meeting->begin > meeting->nv - width) {
    return sapwood_value_error("begin", -1, meeting->begin, "is out of range");
  }
  meeting->width = (int32_t)width;
  meeting->v = sapwood_doubles(velocities);
  meeting->J = read_doubles(call, J, "J", SAPWOOD_SHAPE(n, 3, width));
  return meeting->J == NULL ? -1 : 0;
}

static int read_meeting(struct call *call, PyObject *object, struct fem_meeting *meeting) {
  PyObject *normals, *side, *other, *rigid;
  if (!PyArg_ParseTuple(object, "OOOO;a meeting must be of four", &normals, &side, &other,
                        &rigid)) {
    return -1;
  }
  PyArrayObject *read =
      keep(call, sapwood_as_float64(normals, "normals", SAPWOOD_SHAPE(-1, 3), SAPWOOD_ANY));
  if (read == NULL) {
    return -1;
  }
  const npy_intp n = PyArray_DIM(read, 0);
  meeting->n = (int32_t)n;
  meeting->normals = sapwood_doubles(read);
  if (other != Py_None && rigid != Py_None) {
    return SAPWOOD_FAIL(PyExc_ValueError, "meeting: must be of two bodies");
  }
  if (read_side(call, side, n, &meeting->side[0]) != 0 ||
      (other != Py_None && read_side(call, other, n, &meeting->side[1]) != 0)) {
    return -1;
  }
  return read_rigid(call, rigid, n, meeting);
}

/* Reads the trees, parts and meetings. Returns 0, or -1 with an exception; the caller calls
 * forget() in both cases. */
static int read_call(PyObject *args, struct call *call) {
  PyObject *tree_nv, *parts, *meetings;
  if (!PyArg_ParseTuple(args, "OO!O!:fem_rows", &tree_nv, &PyTuple_Type, &parts, &PyTuple_Type,
                        &meetings) ||
      (call->kept = PyList_New(0)) == NULL) {
    return -1;
  }
  PyArrayObject *nv = keep(call, sapwood_fem_numbers(tree_nv, "tree_nv", -1, 0, 0, INT32_MAX));
  if (nv == NULL) {
    return -1;
  }
  call->n_trees = PyArray_SIZE(nv);
  call->tree_nv = sapwood_int32s(nv);
  call->n_parts = PyTuple_GET_SIZE(parts);
  call->n_meetings = PyTuple_GET_SIZE(meetings);
  call->parts = PyMem_Calloc((size_t)call->n_parts + 1, sizeof *call->parts);
  call->n_vertices = PyMem_Calloc((size_t)call->n_parts + 1, sizeof *call->n_vertices);
  call->meetings = PyMem_Calloc((size_t)call->n_meetings + 1, sizeof *call->meetings);
  if (!call->parts || !call->n_vertices || !call->meetings) {
    return sapwood_no_memory();
  }
  for (Py_ssize_t i = 0; i < call->n_parts; i++) {
    if (read_part(call, PyTuple_GET_ITEM(parts, i), i) != 0) {
      return -1;
    }
  }
  for (Py_ssize_t i = 0; i < call->n_meetings; i++) {
    if (read_meeting(call, PyTuple_GET_ITEM(meetings, i), &call->meetings[i]) != 0) {
      return -1;
    }
  }
  return 0;
}

static void forget(struct call *call) {
  PyMem_Free(call->parts);
  PyMem_Free(call->n_vertices);
  PyMem_Free(call->meetings);
  Py_XDECREF(call->kept);
}

/* ---- rows ---- */

/* Makes the arrays, and writes the rows of all meetings. */
static PyObject *make_rows(const struct call *call) {
  enum { AXES, BIAS, SLIP, TREE_A, TREE_B, ROWS, N };
  npy_intp n = 0;
  int64_t size = 0;
  for (Py_ssize_t i = 0; i < call->n_meetings; i++) {
    n += call->meetings[i].n;
    size += fem_rows_size(&call->meetings[i]);
  }
  const sapwood_layout layouts[N] = {{NPY_DOUBLE, 3, {n, 3, 3}}, {NPY_DOUBLE, 2, {n, 3}},
                                     {NPY_DOUBLE, 1, {n}},       {NPY_INT32, 1, {n}},
                                     {NPY_INT32, 1, {n}},        {NPY_DOUBLE, 1, {(npy_intp)size}}};
  PyArrayObject *out[N] = {NULL};
  PyObject *made = NULL;
  if (sapwood_new_all(out, layouts, N) == 0) {
    struct fem_rows rows = {.axes = sapwood_doubles(out[AXES]),
                            .bias = sapwood_doubles(out[BIAS]),
                            .slip = sapwood_doubles(out[SLIP]),
                            .tree_a = sapwood_int32s(out[TREE_A]),
                            .tree_b = sapwood_int32s(out[TREE_B]),
                            .J = sapwood_doubles(out[ROWS])};
    for (Py_ssize_t i = 0; i < call->n_meetings; i++) {
      fem_append_rows(&call->meetings[i], &rows);
    }
    const Py_ssize_t used = rows.J - sapwood_doubles(out[ROWS]);
    PyObject *J = PySequence_GetSlice((PyObject *)out[ROWS], 0, used);
    made = Py_BuildValue("OOOOON", out[AXES], out[BIAS], out[SLIP], out[TREE_A], out[TREE_B], J);
  }
  sapwood_release(out, N);
  return made;
}

PyDoc_STRVAR(fem_rows_doc,
             "fem_rows(tree_nv, parts, meetings, /)\n--\n\n"
             "Axes, biases, slip speeds, trees a and b, and rows of the contacts of meetings\n"
             "(normals, side, other side or None, (tree, begin, J, v) or None). A side is (part,\n"
             "vertices, weights), a part (tree, place, column, T or None, c or None, start).");

static PyObject *fem_rows(PyObject *Py_UNUSED(module), PyObject *args) {
  struct call call = {0};
  PyObject *made = read_call(args, &call) == 0 ? make_rows(&call) : NULL;
  forget(&call);
  return made;
}

/* ---- loads ---- */

PyDoc_STRVAR(fem_add_loads_doc,
             "fem_add_loads(impulses, vertices, weights, gamma, sign, /)\n--\n\n"
             "Add impulses gamma of contacts to those of vertices, times a sign.");

static PyObject *fem_add_loads_to(PyObject *Py_UNUSED(module), PyObject *args) {
  enum { IMPULSES, VERTICES, WEIGHTS, GAMMA, N };
  PyObject *given[N];
  PyArrayObject *in[N] = {NULL};
  double sign;
  if (!PyArg_ParseTuple(args, "OOOOd:fem_add_loads", &given[IMPULSES], &given[VERTICES],
                        &given[WEIGHTS], &given[GAMMA], &sign)) {
    return NULL;
  }
  const sapwood_argument table[] = {SAPWOOD_ARGUMENT(WEIGHTS, "weights", -1, -1),
                                    SAPWOOD_ARGUMENT(GAMMA, "gamma", -1, 3)};
  int is_read = 0;
  if ((in[IMPULSES] =
           sapwood_in_place(given[IMPULSES], "impulses", NPY_DOUBLE, SAPWOOD_SHAPE(-1, 3),
                            NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE)) != NULL &&
      sapwood_read_all(in, given, table, 2) == 0) {
    const npy_intp n = PyArray_DIM(in[WEIGHTS], 0), n_corners = PyArray_DIM(in[WEIGHTS], 1);
    in[VERTICES] = sapwood_fem_numbers(given[VERTICES], "vertices", n, n_corners, 0,
                                       PyArray_DIM(in[IMPULSES], 0));
    is_read = in[VERTICES] != NULL;
    if (is_read && PyArray_DIM(in[GAMMA], 0) != n) {
      is_read = 0;
      PyErr_SetString(PyExc_ValueError, "gamma: must have a row for each contact");
    }
  }
  if (is_read) {
    const struct fem_side side = {.n_corners = (int32_t)PyArray_DIM(in[WEIGHTS], 1),
                                  .vertices = sapwood_int32s(in[VERTICES]),
                                  .weights = sapwood_doubles(in[WEIGHTS])};
    fem_add_loads((int32_t)PyArray_DIM(in[WEIGHTS], 0), &side, sign, sapwood_doubles(in[GAMMA]),
                  sapwood_doubles(in[IMPULSES]));
  }
  sapwood_release(in, N);
  return is_read ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef methods[] = {
    {"fem_rows", fem_rows, METH_VARARGS, fem_rows_doc},
    {"fem_add_loads", fem_add_loads_to, METH_VARARGS, fem_add_loads_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_fem_rows(PyObject *module) { return PyModule_AddFunctions(module, methods); }
