/* _core.fem_system: a fem_system in a capsule, and the calls of it. A factorization lets go of the
 * GIL; a system may be used by one thread at a time, and other threads get an exception. */
#include "python/parts.h"

#include <stdatomic.h>

#include "python/arrays.h"
#include "python/errors.h"
#include "python/fem/py_fem.h"

static const char capsule_name[] = "sapwood._core.fem_system";

/* The content of a capsule. */
struct owned {
  fem_system *system;
  atomic_int is_used; /* 1: a thread without the GIL uses it */
};

/* The context of the capsule is the mesh or the flex, whose arrays the system uses. */
static fem_system *system_of(PyObject *capsule, fem_graph *graph) {
  struct owned *owned = sapwood_capsule_content(capsule, capsule_name, "system");
  if (owned == NULL || sapwood_fem_graph(PyCapsule_GetContext(capsule), graph) != 0) {
    return NULL;
  }
  if (atomic_load(&owned->is_used)) {
    PyErr_SetString(PyExc_RuntimeError, "system: is used by another thread");
    return NULL;
  }
  return owned->system;
}

/* Returns a system that has its factor, with its graph, or NULL with an exception. */
static fem_system *factored_system_of(PyObject *capsule, fem_graph *graph) {
  fem_system *system = system_of(capsule, graph);
  if (system != NULL && !fem_system_is_factored(system)) {
    PyErr_SetString(PyExc_ValueError, "system: must be factored first");
    return NULL;
  }
  return system;
}

static void release(PyObject *capsule) {
  struct owned *owned = PyCapsule_GetPointer(capsule, capsule_name);
  fem_system_destroy(owned->system);
  PyMem_Free(owned);
  Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

PyDoc_STRVAR(fem_system_doc,
             "fem_system(body, /)\n--\n\nSystem of the mass and stiffness of a mesh or a flex.");

static PyObject *new_system(PyObject *Py_UNUSED(module), PyObject *body) {
  fem_graph graph;
  fem_system *made = NULL;
  if (sapwood_fem_graph(body, &graph) != 0 ||
      sapwood_raise(fem_system_create(&made, &graph, NULL), NULL) != 0) {
    return NULL;
  }
  struct owned *owned = PyMem_Malloc(sizeof *owned);
  PyObject *capsule = owned == NULL ? NULL : PyCapsule_New(owned, capsule_name, release);
  if (capsule == NULL) {
    PyMem_Free(owned);
    fem_system_destroy(made);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  owned->system = made;
  atomic_init(&owned->is_used, 0);
  Py_INCREF(body);
  PyCapsule_SetContext(capsule, body);
  return capsule;
}

PyDoc_STRVAR(fem_order_doc,
             "fem_order(system, last, /)\n--\n\n"
             "Chooses the vertices that are eliminated last.");

static PyObject *order(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *given;
  fem_graph graph;
  if (!PyArg_ParseTuple(args, "OO:fem_order", &capsule, &given)) {
    return NULL;
  }
  fem_system *system = system_of(capsule, &graph);
  PyArrayObject *last = system ? sapwood_as_int32(given, "last", -1) : NULL;
  if (last == NULL) {
    return NULL;
  }
  sap_error error = {.group = -1};
  const npy_intp n = PyArray_SIZE(last);
  const sap_status status =
      fem_system_order(system, n > INT32_MAX ? -1 : (int32_t)n, sapwood_int32s(last), &error);
  Py_DECREF(last);
  if (sapwood_raise(status, &error) != 0) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* Arrays of fem_blocks. */
enum { K, K_PAIRS, MASS, MASS_PAIRS, N_BLOCKS };
struct blocks {
  fem_blocks values;
  PyArrayObject *arrays[N_BLOCKS];
};

/* Reads (c_K, K, K_pairs, c_M, mass, mass_pairs). Returns 0, or -1 with an exception and no
 * arrays. */
static int read_blocks(PyObject *tuple, const fem_graph *a, struct blocks *b) {
  const sapwood_argument table[] = {SAPWOOD_ARGUMENT(K, "K", a->n_vertices, 3, 3),
                                    SAPWOOD_ARGUMENT(K_PAIRS, "K_pairs", a->n_pairs, 3, 3),
                                    SAPWOOD_ARGUMENT(MASS, "mass", a->n_vertices),
                                    SAPWOOD_ARGUMENT(MASS_PAIRS, "mass_pairs", a->n_pairs)};
  PyObject *given[N_BLOCKS];
  *b = (struct blocks){.arrays = {NULL}};
  if (!PyArg_ParseTuple(tuple, "dOOdOO:blocks", &b->values.c_K, &given[K], &given[K_PAIRS],
                        &b->values.c_M, &given[MASS], &given[MASS_PAIRS]) ||
      sapwood_read_all(b->arrays, given, table, N_BLOCKS) < 0) {
    sapwood_release(b->arrays, N_BLOCKS);
    return -1;
  }
  b->values.K = sapwood_doubles(b->arrays[K]);
  b->values.K_pairs = sapwood_doubles(b->arrays[K_PAIRS]);
  b->values.mass = sapwood_doubles(b->arrays[MASS]);
  b->values.mass_pairs = sapwood_doubles(b->arrays[MASS_PAIRS]);
  return 0;
}

/* Returns a copy of a vector (n_vertices, 3); NULL with an exception. */
static PyArrayObject *copy_vector(PyObject *given, const fem_graph *a) {
  PyArrayObject *read =
      sapwood_as_float64(given, "x", SAPWOOD_SHAPE(a->n_vertices, 3), SAPWOOD_ANY);
  PyArrayObject *copy = read ? (PyArrayObject *)PyArray_NewCopy(read, NPY_CORDER) : NULL;
  Py_XDECREF(read);
  return copy;
}

/* Gives the exception of a factorization that failed at a vertex the attribute `vertex`. */
static void name_vertex(int64_t vertex) {
  PyObject *value = sapwood_take_exception(), *number = PyLong_FromLongLong(vertex);
  if (value && number && PyObject_SetAttrString(value, "vertex", number) == 0) {
    PyErr_SetObject((PyObject *)Py_TYPE(value), value);
  }
  Py_XDECREF(number);
  Py_XDECREF(value);
}

PyDoc_STRVAR(fem_factor_doc,
             "fem_factor(system, blocks, fixed, x, /)\n--\n\n"
             "Factors A = c_K K + c_M M of blocks = (c_K, K, K_pairs, c_M, mass, mass_pairs), and "
             "returns A^-1 x. Where A is not positive definite, the ValueError has `vertex`.");

static PyObject *factor(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *tuple, *given_fixed, *given_x;
  PyArrayObject *fixed = NULL, *x = NULL;
  fem_graph graph;
  struct blocks blocks;
  if (!PyArg_ParseTuple(args, "OO!OO:fem_factor", &capsule, &PyTuple_Type, &tuple, &given_fixed,
                        &given_x)) {
    return NULL;
  }
  fem_system *system = system_of(capsule, &graph);
  const npy_intp n = system ? graph.n_vertices : 0;
  if (system == NULL || read_blocks(tuple, &graph, &blocks) != 0) {
    return NULL;
  }
  if (given_fixed != Py_None) {
    fixed =
        sapwood_in_place(given_fixed, "fixed", NPY_INT8, SAPWOOD_SHAPE(n), NPY_ARRAY_C_CONTIGUOUS);
  }
  if (!PyErr_Occurred()) {
    x = copy_vector(given_x, &graph);
  }
  if (x) {
    struct owned *owned = PyCapsule_GetPointer(capsule, capsule_name);
    const int8_t *is_fixed = fixed ? (const int8_t *)PyArray_DATA(fixed) : NULL;
    double *solution = sapwood_doubles(x);
    sap_error error = {.group = -1};
    sap_status status;
    atomic_store(&owned->is_used, 1);
    Py_BEGIN_ALLOW_THREADS
    status = fem_system_factor(system, &blocks.values, is_fixed, solution, &error);
    Py_END_ALLOW_THREADS
    atomic_store(&owned->is_used, 0);
    sapwood_raise(status, &error);
    if (status == SAP_NOT_POSITIVE_DEFINITE) {
      name_vertex(error.index);
    }
  }
  Py_XDECREF(fixed);
  sapwood_release(blocks.arrays, N_BLOCKS);
  if (PyErr_Occurred()) {
    Py_CLEAR(x);
  }
  return (PyObject *)x;
}

PyDoc_STRVAR(fem_solve_doc,
             "fem_solve(system, x, /)\n--\n\n"
             "A^-1 x of a factored system.");

static PyObject *solve(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *given;
  fem_graph graph;
  if (!PyArg_ParseTuple(args, "OO:fem_solve", &capsule, &given)) {
    return NULL;
  }
  fem_system *system = factored_system_of(capsule, &graph);
  PyArrayObject *x = system ? copy_vector(given, &graph) : NULL;
  if (x) {
    fem_system_solve(system, sapwood_doubles(x));
  }
  return (PyObject *)x;
}

PyDoc_STRVAR(fem_extend_doc,
             "fem_extend(system, x_last, /)\n--\n\n"
             "Vertices (n, 3) that follow a change x_last (n_last, 3) of those that come last.");

static PyObject *extend(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *given;
  fem_graph graph;
  if (!PyArg_ParseTuple(args, "OO:fem_extend", &capsule, &given)) {
    return NULL;
  }
  fem_system *system = factored_system_of(capsule, &graph);
  if (system == NULL) {
    return NULL;
  }
  PyArrayObject *x_last =
      sapwood_as_float64(given, "x_last", SAPWOOD_SHAPE(fem_system_n_last(system), 3), SAPWOOD_ANY);
  PyObject *x =
      x_last ? (PyObject *)sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(graph.n_vertices, 3)) : NULL;
  if (x) {
    fem_system_extend(system, sapwood_doubles(x_last), sapwood_doubles((PyArrayObject *)x));
  }
  Py_XDECREF(x_last);
  return x;
}

PyDoc_STRVAR(fem_schur_doc,
             "fem_schur(system, /)\n--\n\n"
             "Schur complement of A onto the vertices that come last.");

static PyObject *find_schur(PyObject *Py_UNUSED(module), PyObject *capsule) {
  fem_graph graph;
  fem_system *system = factored_system_of(capsule, &graph);
  if (system == NULL) {
    return NULL;
  }
  const npy_intp p = 3 * (npy_intp)fem_system_n_last(system);
  PyObject *S = (PyObject *)sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(p, p));
  if (S) {
    fem_system_schur(system, sapwood_doubles((PyArrayObject *)S));
  }
  return S;
}

PyDoc_STRVAR(fem_multiply_doc,
             "fem_multiply(body, blocks, x, /)\n--\n\n"
             "(c_K K + c_M M) x, blocks as of fem_factor.");

static PyObject *multiply(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *tuple, *given, *product = NULL;
  struct blocks blocks;
  if (!PyArg_ParseTuple(args, "OO!O:fem_multiply", &capsule, &PyTuple_Type, &tuple, &given)) {
    return NULL;
  }
  fem_graph graph;
  if (sapwood_fem_graph(capsule, &graph) != 0 || read_blocks(tuple, &graph, &blocks) != 0) {
    return NULL;
  }
  const npy_intp shape[2] = {graph.n_vertices, 3};
  PyArrayObject *x = sapwood_as_float64(given, "x", 2, shape, SAPWOOD_ANY);
  product = x ? PyArray_SimpleNew(2, shape, NPY_DOUBLE) : NULL;
  if (product) {
    fem_multiply_blocks(&graph, &blocks.values, sapwood_doubles(x),
                        sapwood_doubles((PyArrayObject *)product));
  }
  Py_XDECREF(x);
  sapwood_release(blocks.arrays, N_BLOCKS);
  return product;
}

static PyMethodDef methods[] = {{"fem_system", new_system, METH_O, fem_system_doc},
                                {"fem_order", order, METH_VARARGS, fem_order_doc},
                                {"fem_factor", factor, METH_VARARGS, fem_factor_doc},
                                {"fem_solve", solve, METH_VARARGS, fem_solve_doc},
                                {"fem_extend", extend, METH_VARARGS, fem_extend_doc},
                                {"fem_schur", find_schur, METH_O, fem_schur_doc},
                                {"fem_multiply", multiply, METH_VARARGS, fem_multiply_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_fem_systems(PyObject *module) { return PyModule_AddFunctions(module, methods); }
