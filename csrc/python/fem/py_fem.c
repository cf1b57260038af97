/* _core.fem_mesh: a fem_mesh in a capsule, and its evaluation. */
#include "python/fem/py_fem.h"
#include "python/parts.h"

#include "python/errors.h"

static const char capsule_name[] = "sapwood._core.fem_mesh";

/* names in the order of fem_model and fem_mass */
static const char *const models[] = {"linear",      "linear_corotated",    "corotated",
                                     "neo_hookean", "st_venant_kirchhoff", NULL};
static const char *const masses[] = {"lumped", "consistent", "one_point", NULL};

const fem_mesh *sapwood_fem_mesh(PyObject *capsule) {
  return sapwood_capsule_content(capsule, capsule_name, "mesh");
}

static void release(PyObject *capsule) {
  fem_mesh_destroy(PyCapsule_GetPointer(capsule, capsule_name));
}

/* ---- meshes ---- */

PyDoc_STRVAR(fem_mesh_doc,
             "fem_mesh(vertices, tetrahedra, /)\n--\n\n"
             "Mesh of checked tetrahedra, given as one flat array.");

static PyObject *make_mesh(PyArrayObject *vertices, PyArrayObject *tetrahedra) {
  const npy_intp n = PyArray_DIM(vertices, 0), cells = PyArray_SIZE(tetrahedra) / 4;
  if (n > INT32_MAX || cells > INT32_MAX) {
    return PyErr_Format(PyExc_ValueError, "vertices, tetrahedra: must be fewer than 2^31");
  }
  fem_mesh *made = NULL;
  sap_error error = {.group = -1};
  sap_status status;
  Py_BEGIN_ALLOW_THREADS
  status = fem_mesh_create(&made, (int32_t)n, sapwood_doubles(vertices), (int32_t)cells,
                           sapwood_int32s(tetrahedra), NULL, &error);
  Py_END_ALLOW_THREADS
  if (sapwood_raise(status, &error) != 0) {
    return NULL;
  }
  PyObject *capsule = PyCapsule_New(made, capsule_name, release);
  if (capsule == NULL) {
    fem_mesh_destroy(made);
  }
  return capsule;
}

static PyObject *new_mesh(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *given_vertices, *given_tetrahedra, *capsule = NULL;
  if (!PyArg_ParseTuple(args, "OO:fem_mesh", &given_vertices, &given_tetrahedra)) {
    return NULL;
  }
  PyArrayObject *vertices =
      sapwood_as_float64(given_vertices, "vertices", SAPWOOD_SHAPE(-1, 3), SAPWOOD_ANY);
  PyArrayObject *tetrahedra =
      vertices ? sapwood_as_int32(given_tetrahedra, "tetrahedra", -1) : NULL;
  if (tetrahedra) {
    capsule = make_mesh(vertices, tetrahedra);
  }
  Py_XDECREF(vertices);
  Py_XDECREF(tetrahedra);
  return capsule;
}

/* Returns an array of the mesh, read only; it keeps the capsule. */
static PyObject *view(PyObject *capsule, int typenum, int ndim, const npy_intp *shape,
                      const void *data) {
  void *place;
  memcpy(&place, &data, sizeof place); /* NumPy only reads it */
  PyObject *array = PyArray_New(&PyArray_Type, ndim, shape, typenum, NULL, place, 0,
                                NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, NULL);
  if (array != NULL) {
    Py_INCREF(capsule);
    if (PyArray_SetBaseObject((PyArrayObject *)array, capsule) != 0) {
      Py_CLEAR(array);
    }
  }
  return array;
}

PyDoc_STRVAR(fem_arrays_doc,
             "fem_arrays(mesh, /)\n--\n\n"
             "Gradients and volumes of tetrahedra, and pairs of vertices of a mesh.");

static PyObject *list_arrays(PyObject *Py_UNUSED(module), PyObject *capsule) {
  const fem_mesh *mesh = sapwood_fem_mesh(capsule);
  if (mesh == NULL) {
    return NULL;
  }
  const fem_arrays *a = fem_mesh_arrays(mesh);
  const npy_intp gradients[3] = {a->n_tetrahedra, 3, 3}, pairs[2] = {a->n_pairs, 2};
  return Py_BuildValue("NNN", view(capsule, NPY_DOUBLE, 3, gradients, a->gradients),
                       view(capsule, NPY_DOUBLE, 1, gradients, a->volume),
                       view(capsule, NPY_INT32, 2, pairs, a->pairs));
}

/* ---- evaluation ---- */

/* Returns positions (n_vertices, 3); NULL with an exception. */
static PyArrayObject *read_positions(const fem_arrays *a, PyObject *object) {
  return sapwood_as_float64(object, "x", SAPWOOD_SHAPE(a->n_vertices, 3), SAPWOOD_FINITE);
}

PyDoc_STRVAR(fem_rotations_doc,
             "fem_rotations(mesh, x, /)\n--\n\n"
             "Rotations nearest to the deformation of each tetrahedron.");

static PyObject *find_rotations(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *given_x;
  if (!PyArg_ParseTuple(args, "OO:fem_rotations", &capsule, &given_x)) {
    return NULL;
  }
  const fem_mesh *mesh = sapwood_fem_mesh(capsule);
  if (mesh == NULL) {
    return NULL;
  }
  const fem_arrays *a = fem_mesh_arrays(mesh);
  PyArrayObject *x = read_positions(a, given_x);
  PyObject *rotations =
      x ? (PyObject *)sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(a->n_tetrahedra, 3, 3)) : NULL;
  if (rotations) {
    double *to = sapwood_doubles((PyArrayObject *)rotations);
    Py_BEGIN_ALLOW_THREADS
    fem_find_rotations(mesh, sapwood_doubles(x), to);
    Py_END_ALLOW_THREADS
  }
  Py_XDECREF(x);
  return rotations;
}

int sapwood_read_outputs(PyObject *tuple, const struct sapwood_output *outputs, int n) {
  if (PyTuple_GET_SIZE(tuple) != n) {
    return SAPWOOD_FAIL(PyExc_ValueError, "outputs: must be %d arrays or None", n);
  }
  for (int k = 0; k < n; k++) {
    PyObject *given = PyTuple_GET_ITEM(tuple, k);
    if (given != Py_None) {
      PyArrayObject *array =
          sapwood_in_place(given, outputs[k].name, NPY_DOUBLE, outputs[k].ndim, outputs[k].shape,
                           NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE);
      if (array == NULL) {
        return -1;
      }
      *outputs[k].to = sapwood_doubles(array);
      Py_DECREF(array);
    }
  }
  return 0;
}

PyDoc_STRVAR(fem_evaluate_doc,
             "fem_evaluate(mesh, model, young, poisson, x, rotations, exact, outputs, /)\n--\n\n"
             "Energy and number of tetrahedra that have turned over; fills the arrays of `outputs`:"
             " force, K, K_pairs, energies, deformation, stress.");

static PyObject *evaluate(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *model, *given_x, *given_rotations, *outputs;
  PyArrayObject *x = NULL, *rotations = NULL;
  PyObject *found = NULL;
  fem_material material = {.model = FEM_LINEAR};
  int exact;
  if (!PyArg_ParseTuple(args, "OOddOOpO!:fem_evaluate", &capsule, &model, &material.young,
                        &material.poisson, &given_x, &given_rotations, &exact, &PyTuple_Type,
                        &outputs)) {
    return NULL;
  }
  const fem_mesh *mesh = sapwood_fem_mesh(capsule);
  const int chosen = mesh == NULL ? -1 : sapwood_as_choice(model, "model", models);
  if (chosen < 0) {
    return NULL;
  }
  material.model = (fem_model)chosen;
  const fem_arrays *a = fem_mesh_arrays(mesh);
  const npy_intp n = a->n_vertices, cells = a->n_tetrahedra, n_pairs = a->n_pairs;
  fem_result result = {.energy = 0};
  const struct sapwood_output table[] = {{"force", &result.force, 2, {n, 3, 0}},
                                         {"K", &result.K, 3, {n, 3, 3}},
                                         {"K_pairs", &result.K_pairs, 3, {n_pairs, 3, 3}},
                                         {"energies", &result.energies, 1, {cells, 0, 0}},
                                         {"deformation", &result.deformation, 3, {cells, 3, 3}},
                                         {"stress", &result.stress, 3, {cells, 3, 3}}};
  if (sapwood_read_outputs(outputs, table, (int)(sizeof table / sizeof *table)) != 0) {
    return NULL;
  }
  x = read_positions(a, given_x);
  if (x && given_rotations != Py_None) {
    rotations = sapwood_as_float64(given_rotations, "rotations", SAPWOOD_SHAPE(cells, 3, 3),
                                   SAPWOOD_FINITE);
  }
  if (x && !PyErr_Occurred()) {
    sap_error error = {.group = -1};
    sap_status status;
    Py_BEGIN_ALLOW_THREADS
    status = fem_evaluate(mesh, &material, sapwood_doubles(x), sapwood_optional_doubles(rotations),
                          exact ? FEM_EXACT : FEM_PROJECTED, &result, &error);
    Py_END_ALLOW_THREADS
    if (sapwood_raise(status, &error) == 0) {
      found = Py_BuildValue("di", result.energy, (int)result.turned_over);
    }
  }
  Py_XDECREF(x);
  Py_XDECREF(rotations);
  return found;
}

PyDoc_STRVAR(fem_mass_doc,
             "fem_mass(mesh, density, kind, /)\n--\n\n"
             "Masses of the vertices and of the pairs, kg.");

static PyObject *find_mass(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *capsule, *kind;
  double density;
  if (!PyArg_ParseTuple(args, "OdO:fem_mass", &capsule, &density, &kind)) {
    return NULL;
  }
  const fem_mesh *mesh = sapwood_fem_mesh(capsule);
  const int chosen = mesh == NULL ? -1 : sapwood_as_choice(kind, "mass", masses);
  if (chosen < 0) {
    return NULL;
  }
  const fem_arrays *a = fem_mesh_arrays(mesh);
  const npy_intp n = a->n_vertices, n_pairs = a->n_pairs;
  PyObject *diagonal = PyArray_SimpleNew(1, &n, NPY_DOUBLE);
  PyObject *pairs = PyArray_SimpleNew(1, &n_pairs, NPY_DOUBLE);
  PyObject *both = NULL;
  if (diagonal && pairs) {
    sap_error error = {.group = -1};
    const sap_status status =
        fem_mass_matrix(mesh, density, (fem_mass)chosen, sapwood_doubles((PyArrayObject *)diagonal),
                        sapwood_doubles((PyArrayObject *)pairs), &error);
    if (sapwood_raise(status, &error) == 0) {
      both = PyTuple_Pack(2, diagonal, pairs);
    }
  }
  Py_XDECREF(diagonal);
  Py_XDECREF(pairs);
  return both;
}

static PyMethodDef methods[] = {{"fem_mesh", new_mesh, METH_VARARGS, fem_mesh_doc},
                                {"fem_arrays", list_arrays, METH_O, fem_arrays_doc},
                                {"fem_rotations", find_rotations, METH_VARARGS, fem_rotations_doc},
                                {"fem_evaluate", evaluate, METH_VARARGS, fem_evaluate_doc},
                                {"fem_mass", find_mass, METH_VARARGS, fem_mass_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_fem(PyObject *module) { return PyModule_AddFunctions(module, methods); }
