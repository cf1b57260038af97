/* _core.fem_flex: a fem_flex in a capsule, with the arrays that it uses, and its evaluation. */
#include "python/parts.h"
#include "python/arrays.h"
#include "python/errors.h"
#include "python/fem/py_fem.h"

static const char capsule_name[] = "sapwood._core.fem_flex";

enum { N_TABLES = 5 };

/* Returns the flex in a capsule of _core.fem_flex, or NULL with an exception. The context of the
 * capsule is the tuple of its arrays. */
static const fem_flex *flex_of(PyObject *capsule) {
  return sapwood_capsule_content(capsule, capsule_name, "flex");
}

int sapwood_fem_graph(PyObject *capsule, fem_graph *graph) {
  if (PyCapsule_IsValid(capsule, capsule_name)) {
    *graph = flex_of(capsule)->graph;
    return 0;
  }
  const fem_mesh *mesh = sapwood_fem_mesh(capsule);
  if (mesh != NULL) {
    *graph = fem_mesh_graph(mesh);
  }
  return mesh == NULL ? -1 : 0;
}

/* ---- flexes ---- */

static void release(PyObject *capsule) {
  PyMem_Free(PyCapsule_GetPointer(capsule, capsule_name));
  Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* Returns copies of the vertices and of the tables, which nobody else writes to, in a tuple. */
static PyObject *copy_arrays(PyObject *vertices, PyObject *const tables[N_TABLES]) {
  static const char *const names[N_TABLES] = {"pairs", "elements", "element_edges", "hinges",
                                              "hinge_pairs"};
  static const npy_intp columns[N_TABLES] = {2, -1, -1, 4, 6};
  PyObject *tuple = PyTuple_New(1 + N_TABLES);
  for (int k = 0; tuple && k <= N_TABLES; k++) {
    const npy_intp table_shape[2] = {-1, k > 0 ? columns[k - 1] : 0};
    PyArrayObject *read =
        k == 0 ? sapwood_as_float64(vertices, "vertices", SAPWOOD_SHAPE(-1, 3), SAPWOOD_FINITE)
               : sapwood_in_place(tables[k - 1], names[k - 1], NPY_INT32, 2, table_shape,
                                  NPY_ARRAY_C_CONTIGUOUS);
    PyObject *copy = read ? PyArray_NewCopy(read, NPY_CORDER) : NULL;
    Py_XDECREF(read);
    if (copy) {
      PyTuple_SET_ITEM(tuple, k, copy);
    } else {
      Py_CLEAR(tuple);
    }
  }
  return tuple;
}

/* Fills a flex from its arrays; the numbers of rows of tables agree. */
static int fill(PyObject *arrays, int n_edges, fem_flex *flex) {
  PyArrayObject *table[1 + N_TABLES];
  for (int k = 0; k <= N_TABLES; k++) {
    table[k] = (PyArrayObject *)PyTuple_GET_ITEM(arrays, k);
    if (PyArray_DIM(table[k], 0) > INT32_MAX) {
      return SAPWOOD_FAIL(PyExc_ValueError, "vertices, pairs, elements, hinges: too many");
    }
  }
  const npy_intp corners = PyArray_DIM(table[2], 1);
  if (PyArray_DIM(table[3], 0) != PyArray_DIM(table[2], 0) ||
      PyArray_DIM(table[3], 1) != (corners == 4 ? 6 : 3) ||
      PyArray_DIM(table[5], 0) != PyArray_DIM(table[4], 0)) {
    return SAPWOOD_FAIL(PyExc_ValueError,
                        "element_edges, hinge_pairs: do not fit elements, hinges");
  }
  *flex = (fem_flex){.graph = {.n_vertices = (int32_t)PyArray_DIM(table[0], 0),
                               .n_pairs = (int32_t)PyArray_DIM(table[1], 0),
                               .vertices = sapwood_doubles(table[0]),
                               .pairs = sapwood_int32s(table[1])},
                     .n_edges = n_edges,
                     .n_elements = (int32_t)PyArray_DIM(table[2], 0),
                     .n_hinges = (int32_t)PyArray_DIM(table[4], 0),
                     .n_corners = (int32_t)corners,
                     .elements = sapwood_int32s(table[2]),
                     .element_edges = sapwood_int32s(table[3]),
                     .hinges = sapwood_int32s(table[4]),
                     .hinge_pairs = sapwood_int32s(table[5])};
  sap_error error = {.group = -1};
  return sapwood_raise(fem_check_flex(flex, &error), &error);
}

PyDoc_STRVAR(fem_flex_doc,
             "fem_flex(vertices, n_edges, pairs, elements, element_edges, hinges, hinge_pairs, /)"
             "\n--\n\n"
             "Flex of checked tables; its edges are the first pairs.");

static PyObject *new_flex(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *vertices, *tables[N_TABLES];
  int n_edges;
  if (!PyArg_ParseTuple(args, "OiOOOOO:fem_flex", &vertices, &n_edges, &tables[0], &tables[1],
                        &tables[2], &tables[3], &tables[4])) {
    return NULL;
  }
  PyObject *arrays = copy_arrays(vertices, tables);
  fem_flex *flex = arrays ? PyMem_Malloc(sizeof *flex) : NULL;
  PyObject *capsule = NULL;
  if (flex == NULL && arrays) {
    PyErr_NoMemory();
  } else if (flex && fill(arrays, n_edges, flex) == 0) {
    capsule = PyCapsule_New(flex, capsule_name, release);
  }
  if (capsule) {
    PyCapsule_SetContext(capsule, arrays);
  } else {
    PyMem_Free(flex);
    Py_XDECREF(arrays);
  }
  return capsule;
}

/* ---- evaluation ---- */

enum { STIFFNESS, BENDING, REST, LAST, LAST_LENGTHS, X, N_GIVEN };

/* Reads arrays of finite numbers. Returns 0, or -1 with an exception; arrays that were read are set
 * in both cases. */
static int read_arrays(PyObject *const given[N_GIVEN], const fem_flex *flex,
                       PyArrayObject *read[N_GIVEN]) {
  const npy_intp n = flex->graph.n_vertices, edges = flex->n_edges;
  const sapwood_argument table[N_GIVEN] = {
      SAPWOOD_READ(STIFFNESS, "stiffness", SAPWOOD_FINITE, 0, flex->n_elements, -1),
      SAPWOOD_READ(BENDING, "bending", SAPWOOD_FINITE, 0, flex->n_hinges, 4, 4),
      SAPWOOD_READ(REST, "rest", SAPWOOD_FINITE, 0, edges),
      SAPWOOD_READ(LAST, "last", SAPWOOD_FINITE, 0, n, 3),
      SAPWOOD_READ(LAST_LENGTHS, "last_lengths", SAPWOOD_FINITE, 0, edges),
      SAPWOOD_READ(X, "x", SAPWOOD_FINITE, 0, n, 3)};
  const npy_intp least = flex->n_corners == 4 ? 21 : 6;
  if (sapwood_read_all(read, given, table, N_GIVEN) < 0) {
    return -1;
  }
  if (flex->n_elements > 0 && PyArray_DIM(read[STIFFNESS], 1) < least) {
    return SAPWOOD_FAIL(PyExc_ValueError, "stiffness: must have %zd columns", (Py_ssize_t)least);
  }
  return 0;
}

PyDoc_STRVAR(fem_evaluate_flex_doc,
             "fem_evaluate_flex(flex, numbers, last, x, outputs, /)\n--\n\n"
             "Fills outputs = (tension, force, K, K_pairs) from numbers = (stiffness, bending, "
             "rest, edge_stiffness) and last = (positions, lengths, rate, edge_rate).");

static PyObject *evaluate(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *outputs, *given[N_GIVEN];
  PyArrayObject *read[N_GIVEN] = {NULL};
  fem_flex_numbers numbers = {.stride = 0};
  double *tension = NULL, *force = NULL, *K = NULL, *K_pairs = NULL;
  if (!PyArg_ParseTuple(args, "O(OOOd)(OOdd)OO!:fem_evaluate_flex", &capsule, &given[STIFFNESS],
                        &given[BENDING], &given[REST], &numbers.edge_stiffness, &given[LAST],
                        &given[LAST_LENGTHS], &numbers.rate, &numbers.edge_rate, &given[X],
                        &PyTuple_Type, &outputs)) {
    return NULL;
  }
  const fem_flex *flex = flex_of(capsule);
  if (flex == NULL) {
    return NULL;
  }
  const npy_intp n = flex->graph.n_vertices;
  const struct sapwood_output table[] = {{"tension", &tension, 1, {flex->n_edges, 0, 0}},
                                         {"force", &force, 2, {n, 3, 0}},
                                         {"K", &K, 3, {n, 3, 3}},
                                         {"K_pairs", &K_pairs, 3, {flex->graph.n_pairs, 3, 3}}};
  if (sapwood_read_outputs(outputs, table, 4) != 0) {
    return NULL;
  }
  if (!tension || !force || (K == NULL) != (K_pairs == NULL)) {
    return PyErr_Format(PyExc_ValueError,
                        "outputs: tension, force must be given, and K with K_pairs");
  }
  const int is_read = read_arrays(given, flex, read) == 0;
  if (is_read) {
    numbers.stiffness = sapwood_doubles(read[STIFFNESS]);
    numbers.stride = (int32_t)PyArray_DIM(read[STIFFNESS], 1);
    numbers.bending = sapwood_doubles(read[BENDING]);
    numbers.rest = sapwood_doubles(read[REST]);
    numbers.last = sapwood_doubles(read[LAST]);
    numbers.last_lengths = sapwood_doubles(read[LAST_LENGTHS]);
    const double *x = sapwood_doubles(read[X]);
    Py_BEGIN_ALLOW_THREADS
    fem_evaluate_flex(flex, &numbers, x, tension, force, K, K_pairs);
    Py_END_ALLOW_THREADS
  }
  sapwood_release(read, N_GIVEN);
  if (!is_read) {
    return NULL;
  }
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"fem_flex", new_flex, METH_VARARGS, fem_flex_doc},
    {"fem_evaluate_flex", evaluate, METH_VARARGS, fem_evaluate_flex_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_fem_flexes(PyObject *module) { return PyModule_AddFunctions(module, methods); }
