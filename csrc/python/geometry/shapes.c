/* _core.field_shape: a geo_shape in a capsule. */
#include "python/parts.h"
#include "python/errors.h"
#include "python/geometry/py_geometry.h"

static const char capsule_name[] = "sapwood._core.field_shape";

/* names of kinds, in the order of geo_kind */
static const char *const kinds[] = {"tetrahedra", "triangles", "half_space", "compliant_half_space",
                                    NULL};

const geo_shape *sapwood_shape(PyObject *capsule) {
  return sapwood_capsule_content(capsule, capsule_name, "a shape");
}

static void release(PyObject *capsule) {
  geo_shape_destroy(PyCapsule_GetPointer(capsule, capsule_name));
}

/* Reads cells (n, 4) or (n, 3), flat as the check of integers needs them; NULL with an
 * exception. */
static PyArrayObject *read_cells(PyObject *object, geo_arrays *arrays) {
  const char *name = arrays->kind == GEO_TETRAHEDRA ? "tetrahedra" : "triangles";
  const int corners = arrays->kind == GEO_TETRAHEDRA ? 4 : 3;
  PyArrayObject *cells = sapwood_as_int32(object, name, -1);
  if (cells != NULL && PyArray_SIZE(cells) / corners > INT32_MAX) {
    PyErr_Format(PyExc_ValueError, "%s: must be fewer than 2^31", name);
    Py_CLEAR(cells);
  }
  if (cells != NULL) {
    arrays->n_cells = (int32_t)(PyArray_SIZE(cells) / corners);
    arrays->cells = sapwood_int32s(cells);
  }
  return cells;
}

PyDoc_STRVAR(field_shape_doc,
             "field_shape(kind, vertices, cells, pressure, slope, margin, /)\n--\n\n"
             "Shape of a mesh or half space, its cells as one flat array.");

static PyObject *field_shape(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *kind, *given_vertices, *given_cells, *given_pressure;
  PyArrayObject *vertices = NULL, *cells = NULL, *pressure = NULL;
  PyObject *capsule = NULL;
  geo_arrays arrays = {0};
  if (!PyArg_ParseTuple(args, "OOOOdd:field_shape", &kind, &given_vertices, &given_cells,
                        &given_pressure, &arrays.slope, &arrays.margin)) {
    return NULL;
  }
  const int chosen = sapwood_as_choice(kind, "kind", kinds);
  if (chosen < 0) {
    return NULL;
  }
  arrays.kind = (geo_kind)chosen;
  vertices = sapwood_as_float64(given_vertices, "vertices", SAPWOOD_SHAPE(-1, 3), SAPWOOD_FINITE);
  cells = vertices ? read_cells(given_cells, &arrays) : NULL;
  if (cells) {
    const npy_intp n = chosen == GEO_TETRAHEDRA ? PyArray_DIM(vertices, 0) : 0;
    pressure = sapwood_as_vector(given_pressure, "pressure", n, SAPWOOD_FINITE);
  }
  if (pressure && PyArray_DIM(vertices, 0) <= INT32_MAX) {
    arrays.n_vertices = (int32_t)PyArray_DIM(vertices, 0);
    arrays.vertices = sapwood_doubles(vertices);
    arrays.pressure = sapwood_doubles(pressure);
    geo_shape *made = NULL;
    sap_error error = {.group = -1};
    sap_status status;
    Py_BEGIN_ALLOW_THREADS
    status = geo_shape_create(&made, &arrays, NULL, &error);
    Py_END_ALLOW_THREADS
    if (sapwood_raise(status, &error) == 0) {
      capsule = PyCapsule_New(made, capsule_name, release);
      if (capsule == NULL) {
        geo_shape_destroy(made);
      }
    }
  } else if (!PyErr_Occurred()) {
    PyErr_SetString(PyExc_ValueError, "vertices: must be fewer than 2^31");
  }
  Py_XDECREF(vertices);
  Py_XDECREF(cells);
  Py_XDECREF(pressure);
  return capsule;
}

static PyMethodDef methods[] = {{"field_shape", field_shape, METH_VARARGS, field_shape_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_shapes(PyObject *module) { return PyModule_AddFunctions(module, methods); }
