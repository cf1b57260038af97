#include "python/stepper/py_fields.h"

#include "python/errors.h"
#include "python/geometry/py_geometry.h"

/* Returns shapes by geom, NULL for None; they belong to the capsules in the tuple. */
static const geo_shape **read_shapes(PyObject *tuple) {
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  const geo_shape **shapes = PyMem_Calloc((size_t)n + 1, sizeof *shapes);
  if (shapes == NULL) {
    PyErr_NoMemory();
  }
  for (Py_ssize_t i = 0; i < n && shapes != NULL; i++) {
    PyObject *shape = PyTuple_GET_ITEM(tuple, i);
    if (shape != Py_None && (shapes[i] = sapwood_shape(shape)) == NULL) {
      PyMem_Free(shapes);
      shapes = NULL;
    }
  }
  return shapes;
}

int sapwood_take_fields(sapwood_stepper *self, PyObject *object) {
  sapwood_fields *own = &self->fields;
  PyObject *pair_geom, *pair_dim, *pair_friction, *shapes;
  if (object == Py_None) {
    return 0;
  }
  if (!PyTuple_Check(object) || !PyArg_ParseTuple(object, "OOOO!:fields", &pair_geom, &pair_dim,
                                                  &pair_friction, &PyTuple_Type, &shapes)) {
    return SAPWOOD_FAIL(PyExc_TypeError,
                        "fields must be None or (pair_geom, pair_dim, pair_friction, shapes)");
  }
  const sap_forest *forest = sap_stepper_forest(self->core);
  if (PyTuple_GET_SIZE(shapes) != forest->n_geoms) {
    return SAPWOOD_FAIL(PyExc_ValueError,
                        "fields: there are %zd shapes, expected one for each of %d geoms",
                        PyTuple_GET_SIZE(shapes), (int)forest->n_geoms);
  }
  own->pair_dim = sapwood_as_int32(pair_dim, "fields.pair_dim", -1);
  const npy_intp n = own->pair_dim == NULL ? 0 : PyArray_SIZE(own->pair_dim);
  if (own->pair_dim == NULL || n > INT32_MAX / 2 ||
      (own->pair_geom = sapwood_as_int32(pair_geom, "fields.pair_geom", 2 * n)) == NULL ||
      (own->pair_friction = sapwood_as_float64(pair_friction, "fields.pair_friction",
                                               SAPWOOD_SHAPE(n, 2), SAPWOOD_ANY)) == NULL ||
      (own->shape = read_shapes(shapes)) == NULL) {
    return -1;
  }
  own->shapes = Py_NewRef(shapes);
  own->core = (sap_fields){.n_pairs = (int32_t)n,
                           .pair_geom = sapwood_int32s(own->pair_geom),
                           .pair_dim = sapwood_int32s(own->pair_dim),
                           .pair_friction = sapwood_doubles(own->pair_friction),
                           .shape = own->shape};
  sap_error error = {.group = -1};
  return sapwood_raise(sap_stepper_set_fields(self->core, &own->core, &error), &error);
}

void sapwood_release_fields(sapwood_stepper *self) {
  Py_XDECREF(self->fields.pair_geom);
  Py_XDECREF(self->fields.pair_dim);
  Py_XDECREF(self->fields.pair_friction);
  Py_XDECREF(self->fields.shapes);
  PyMem_Free(self->fields.shape);
}
