/* Copies the constant arrays by tables with one row per array. The copies are checked once
 * (sap_forest_check, sap_elements_check), so no Python code can make the gathering read out of
 * bounds. */
#include "python/stepper/constants.h"

#include <stddef.h>
#include <string.h>

typedef enum length_of {
  TREES,
  DOFS,
  ENTRIES,
  BODIES,
  GEOMS,
  PAIRS,
  SLOPES,
  LIMITS,
  TENDONS,
  TENDON_ENTRIES,
  EQUALITIES,
  CONTROLLERS,
  N_LENGTHS
} length_of;

typedef struct constant {
  const char *name;
  int typenum;
  length_of length;
  npy_intp columns; /* 0 for a vector */
  size_t offset;    /* offset of the pointer in its struct */
} constant;

#define FOREST_AS(member, name, typenum, length, columns) \
  {name, typenum, length, columns, offsetof(struct sap_forest, member)}
#define FOREST(name, typenum, length, columns) FOREST_AS(name, #name, typenum, length, columns)

/* the first array of each length sets it, here and below */
static const constant forest_constants[] = {
    FOREST(tree_dofadr, NPY_INT32, TREES, 0),
    FOREST(tree_dofnum, NPY_INT32, TREES, 0),
    FOREST(tree_springs, NPY_INT8, TREES, 0),
    FOREST(dof_parentid, NPY_INT32, DOFS, 0),
    FOREST(dof_quaternion, NPY_INT32, DOFS, 0),
    FOREST(dof_turns, NPY_INT8, DOFS, 0),
    FOREST(damping, NPY_DOUBLE, DOFS, SAP_DAMPING_TERMS),
    FOREST(M_rownnz, NPY_INT32, DOFS, 0),
    FOREST(M_rowadr, NPY_INT32, DOFS, 0),
    FOREST(M_colind, NPY_INT32, ENTRIES, 0),
    FOREST(body_weldid, NPY_INT32, BODIES, 0),
    FOREST(body_rootid, NPY_INT32, BODIES, 0),
    FOREST(body_dofadr, NPY_INT32, BODIES, 0),
    FOREST(body_dofnum, NPY_INT32, BODIES, 0),
    FOREST(body_treeid, NPY_INT32, BODIES, 0),
    FOREST(geom_bodyid, NPY_INT32, GEOMS, 0),
    FOREST(stiffness, NPY_DOUBLE, GEOMS, 0),
    FOREST(dissipation_time, NPY_DOUBLE, GEOMS, 0),
    FOREST(friction, NPY_DOUBLE, GEOMS, 0),
    FOREST(friction_given, NPY_INT8, GEOMS, 0),
    FOREST(static_friction, NPY_DOUBLE, GEOMS, 0),
    FOREST(restitution, NPY_DOUBLE, GEOMS, 0),
    FOREST(geom_driven, NPY_INT8, GEOMS, 0),
    FOREST(geom_inverse_mass, NPY_DOUBLE, GEOMS, 0),
    FOREST(geom_width, NPY_DOUBLE, GEOMS, 0),
    FOREST(pair_key, NPY_INT64, PAIRS, 0),
    FOREST_AS(barrier, "core", NPY_INT8, GEOMS, 0),
    FOREST(delta, NPY_DOUBLE, GEOMS, 0),
    FOREST_AS(barrier_lambda, "core_lambda", NPY_DOUBLE, GEOMS, 0),
    FOREST(D_rownnz, NPY_INT32, DOFS, 0),
    FOREST(D_rowadr, NPY_INT32, DOFS, 0),
    FOREST(D_colind, NPY_INT32, SLOPES, 0),
};

#define ELEMENT(name, typenum, length, columns) \
  {#name, typenum, length, columns, offsetof(struct sap_elements, name)}

static const constant element_constants[] = {
    ELEMENT(dof_frictionloss, NPY_DOUBLE, DOFS, 0),
    ELEMENT(dof_angle, NPY_INT32, DOFS, 0),
    ELEMENT(limit_joint, NPY_INT32, LIMITS, 0),
    ELEMENT(limit_ball, NPY_INT32, LIMITS, 0),
    ELEMENT(limit_qposadr, NPY_INT32, LIMITS, 0),
    ELEMENT(limit_dofadr, NPY_INT32, LIMITS, 0),
    ELEMENT(limit_range, NPY_DOUBLE, LIMITS, 2),
    ELEMENT(limit_k, NPY_DOUBLE, LIMITS, 0),
    ELEMENT(limit_tau_d, NPY_DOUBLE, LIMITS, 0),
    ELEMENT(limit_angle, NPY_INT32, LIMITS, 0),
    ELEMENT(tendon_tree, NPY_INT32, TENDONS, 2),
    ELEMENT(tendon_limited, NPY_INT32, TENDONS, 0),
    ELEMENT(tendon_range, NPY_DOUBLE, TENDONS, 2),
    ELEMENT(tendon_k, NPY_DOUBLE, TENDONS, 0),
    ELEMENT(tendon_tau_d, NPY_DOUBLE, TENDONS, 0),
    ELEMENT(tendon_angle, NPY_INT32, TENDONS, 0),
    ELEMENT(ten_J_rownnz, NPY_INT32, TENDONS, 0),
    ELEMENT(ten_J_rowadr, NPY_INT32, TENDONS, 0),
    ELEMENT(ten_J_colind, NPY_INT32, TENDON_ENTRIES, 0),
    ELEMENT(equality_kind, NPY_INT32, EQUALITIES, 0),
    ELEMENT(equality_tree, NPY_INT32, EQUALITIES, 2),
    ELEMENT(equality_k, NPY_DOUBLE, EQUALITIES, 2),
    ELEMENT(equality_tau_d, NPY_DOUBLE, EQUALITIES, 0),
    ELEMENT(equality_scale, NPY_DOUBLE, EQUALITIES, 0),
    ELEMENT(equality_angle, NPY_INT32, EQUALITIES, 0),
    ELEMENT(equality_driven, NPY_INT32, EQUALITIES, 0),
    ELEMENT(controller_output, NPY_INT32, CONTROLLERS, 0),
    ELEMENT(controller_tree, NPY_INT32, CONTROLLERS, 2),
    ELEMENT(controller_group, NPY_INT32, CONTROLLERS, 0),
    ELEMENT(controller_dof, NPY_INT32, CONTROLLERS, 0),
    ELEMENT(controller_gains, NPY_DOUBLE, CONTROLLERS, 2),
    ELEMENT(controller_range, NPY_DOUBLE, CONTROLLERS, 2),
    ELEMENT(controller_total, NPY_DOUBLE, CONTROLLERS, 2),
};

enum {
  N_FOREST = sizeof forest_constants / sizeof *forest_constants,
  N_ELEMENT = sizeof element_constants / sizeof *element_constants
};
_Static_assert(N_FOREST + N_ELEMENT == SAPWOOD_CONSTANTS, "one private copy per array");

/* ---- copying -------------------------------------------------------------------------------- */

/* Returns a private copy of the array `row->name` of the mapping. */
static PyArrayObject *copy_constant(PyObject *mapping, const constant *row, npy_intp *lengths) {
  PyObject *value = PyMapping_GetItemString(mapping, row->name);
  if (value == NULL) {
    return NULL;
  }
  const npy_intp shape[2] = {lengths[row->length], row->columns};
  PyArrayObject *array = sapwood_in_place(value, row->name, row->typenum, row->columns == 0 ? 1 : 2,
                                          shape, NPY_ARRAY_C_CONTIGUOUS);
  Py_DECREF(value);
  if (array == NULL) {
    return NULL;
  }
  if (PyArray_DIM(array, 0) > INT32_MAX) {
    Py_DECREF(array);
    PyErr_Format(PyExc_ValueError, "%s must have less than 2^31 entries", row->name);
    return NULL;
  }
  lengths[row->length] = PyArray_DIM(array, 0);
  PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
  Py_DECREF(array);
  return copy;
}

/* Fills the pointers of a struct; the copies go to `arrays`. */
static int copy_constants(PyObject *mapping, const constant *table, int n, void *target,
                          npy_intp *lengths, PyArrayObject **arrays) {
  for (int i = 0; i < n; i++) {
    arrays[i] = copy_constant(mapping, &table[i], lengths);
    if (arrays[i] == NULL) {
      return -1;
    }
    /* pointers to data have one representation for all types */
    const void *data = PyArray_DATA(arrays[i]);
    memcpy((char *)target + table[i].offset, &data, sizeof data);
  }
  return 0;
}

static int copy_length(PyObject *mapping, const char *name, int32_t *length) {
  PyObject *value = PyMapping_GetItemString(mapping, name);
  const long number = value == NULL ? -1 : PyLong_AsLong(value);
  Py_XDECREF(value);
  if (PyErr_Occurred()) {
    return -1;
  }
  if (number < 0 || number > INT32_MAX) {
    return SAPWOOD_FAIL(PyExc_ValueError, "%s = %ld: must be a length", name, number);
  }
  *length = (int32_t)number;
  return 0;
}

int sapwood_read_constants(sapwood_stepper *self, PyObject *forest_object,
                           PyObject *elements_object, sap_forest *forest, sap_elements *elements) {
  npy_intp lengths[N_LENGTHS];
  for (int i = 0; i < N_LENGTHS; i++) {
    lengths[i] = -1;
  }
  if (copy_constants(forest_object, forest_constants, N_FOREST, forest, lengths, self->arrays) <
      0) {
    return -1;
  }
  forest->n_trees = (int32_t)lengths[TREES];
  forest->nv = (int32_t)lengths[DOFS];
  forest->n_bodies = (int32_t)lengths[BODIES];
  forest->n_geoms = (int32_t)lengths[GEOMS];
  forest->nM = (int32_t)lengths[ENTRIES];
  forest->n_pairs = (int32_t)lengths[PAIRS];
  forest->nD = (int32_t)lengths[SLOPES];
  if (elements_object == Py_None) {
    return 0;
  }
  if (copy_constants(elements_object, element_constants, N_ELEMENT, elements, lengths,
                     self->arrays + N_FOREST) < 0 ||
      copy_length(elements_object, "nq", &elements->nq) < 0 ||
      copy_length(elements_object, "n_outputs", &elements->n_outputs) < 0 ||
      copy_length(elements_object, "n_flexes", &elements->n_flexes) < 0 ||
      copy_length(elements_object, "flexes_elsewhere", &elements->flexes_elsewhere) < 0) {
    return -1;
  }
  elements->n_limits = (int32_t)lengths[LIMITS];
  elements->n_tendons = (int32_t)lengths[TENDONS];
  elements->n_tendon_entries = (int32_t)lengths[TENDON_ENTRIES];
  elements->n_equalities = (int32_t)lengths[EQUALITIES];
  elements->n_controllers = (int32_t)lengths[CONTROLLERS];
  return 0;
}

/* Adds the arrays of doubles of a table to a dict. */
static int add_doubles(PyObject *dict, const constant *table, int n, PyArrayObject *const *arrays) {
  for (int i = 0; i < n; i++) {
    if (arrays[i] != NULL && table[i].typenum == NPY_DOUBLE &&
        PyDict_SetItemString(dict, table[i].name, (PyObject *)arrays[i]) < 0) {
      return -1;
    }
  }
  return 0;
}

PyObject *sapwood_double_constants(const sapwood_stepper *self) {
  PyObject *dict = PyDict_New();
  if (dict != NULL &&
      (add_doubles(dict, forest_constants, N_FOREST, self->arrays) < 0 ||
       add_doubles(dict, element_constants, N_ELEMENT, self->arrays + N_FOREST) < 0)) {
    Py_CLEAR(dict);
  }
  return dict;
}
