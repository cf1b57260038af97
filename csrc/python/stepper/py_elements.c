#include "python/stepper/py_elements.h"

#include <stddef.h>
#include <string.h>

/* lengths of the arrays */
typedef enum element_length {
  NQ,
  NV,
  N_ROWS,
  N_TENDONS,
  N_TENDON_ENTRIES,
  N_OUTPUTS,
  ANY_LENGTH
} element_length;

typedef struct element_array {
  const char *name; /* of the field of the engine's data */
  int typenum;
  element_length length;
  int optional; /* rows of a sparse Jacobian */
  int written;
  size_t offset; /* of the pointer in struct sap_element_state */
} element_array;

#define ROW(name, typenum, length, optional, written) \
  {#name, typenum, length, optional, written, offsetof(struct sap_element_state, name)}

/* places in the table of what has a length of its own */
enum { EFC_J = 6, EFC_J_COLIND = 9, MOMENT_COLIND = 16, MOMENT = 17 };

static const element_array element_arrays[SAPWOOD_ELEMENT_ARRAYS] = {
    ROW(qpos, NPY_DOUBLE, NQ, 0, 0),
    ROW(efc_type, NPY_INT32, N_ROWS, 0, 0),
    ROW(efc_id, NPY_INT32, N_ROWS, 0, 0),
    ROW(efc_pos, NPY_DOUBLE, N_ROWS, 0, 0),
    ROW(efc_frictionloss, NPY_DOUBLE, N_ROWS, 0, 0),
    ROW(efc_D, NPY_DOUBLE, N_ROWS, 0, 0),
    [EFC_J] = ROW(efc_J, NPY_DOUBLE, ANY_LENGTH, 0, 0),
    ROW(efc_J_rownnz, NPY_INT32, N_ROWS, 1, 0),
    ROW(efc_J_rowadr, NPY_INT32, N_ROWS, 1, 0),
    [EFC_J_COLIND] = ROW(efc_J_colind, NPY_INT32, ANY_LENGTH, 1, 0),
    ROW(ten_length, NPY_DOUBLE, N_TENDONS, 0, 0),
    ROW(ten_J, NPY_DOUBLE, N_TENDON_ENTRIES, 0, 0),
    ROW(actuator_length, NPY_DOUBLE, N_OUTPUTS, 0, 0),
    ROW(actuator_velocity, NPY_DOUBLE, N_OUTPUTS, 0, 0),
    ROW(moment_rownnz, NPY_INT32, N_OUTPUTS, 0, 0),
    ROW(moment_rowadr, NPY_INT32, N_OUTPUTS, 0, 0),
    [MOMENT_COLIND] = ROW(moment_colind, NPY_INT32, ANY_LENGTH, 0, 0),
    [MOMENT] = ROW(actuator_moment, NPY_DOUBLE, ANY_LENGTH, 0, 0),
    ROW(actuator_force, NPY_DOUBLE, N_OUTPUTS, 0, 1),
    ROW(qfrc_actuator, NPY_DOUBLE, NV, 0, 1),
    ROW(qfrc_smooth, NPY_DOUBLE, NV, 0, 1),
};

/* entries that two arrays side by side both have; the second may be NULL */
static int64_t shorter(PyArrayObject *one, PyArrayObject *other) {
  const npy_intp a = PyArray_SIZE(one), b = other == NULL ? a : PyArray_SIZE(other);
  return a < b ? a : b;
}

int sapwood_elements_take(const sapwood_stepper *self, PyObject *tuple, int32_t n_rows,
                          struct sap_element_state *state, PyArrayObject **held, int *n_held) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != SAPWOOD_ELEMENT_ARRAYS + 1) {
    PyErr_Format(PyExc_TypeError, "elements must be a tuple of %d arrays and an integer",
                 SAPWOOD_ELEMENT_ARRAYS);
    return -1;
  }
  const sap_elements *e = &self->core->elements;
  const npy_intp lengths[] = {
      [NQ] = e->nq,
      [NV] = self->core->forest.nv,
      [N_ROWS] = n_rows,
      [N_TENDONS] = e->n_tendons,
      [N_TENDON_ENTRIES] = e->n_tendon_entries,
      [N_OUTPUTS] = e->n_outputs,
      [ANY_LENGTH] = -1,
  };
  PyArrayObject *arrays[SAPWOOD_ELEMENT_ARRAYS] = {NULL};
  for (int i = 0; i < SAPWOOD_ELEMENT_ARRAYS; i++) {
    const element_array *row = &element_arrays[i];
    PyObject *object = PyTuple_GET_ITEM(tuple, i);
    const void *data = NULL;
    if (object != Py_None || !row->optional) {
      arrays[i] =
          sapwood_in_place(object, row->name, row->typenum, 1, &lengths[row->length],
                           NPY_ARRAY_C_CONTIGUOUS | (row->written ? NPY_ARRAY_WRITEABLE : 0));
      if (arrays[i] == NULL) {
        return -1;
      }
      held[(*n_held)++] = arrays[i];
      data = PyArray_DATA(arrays[i]);
    }
    memcpy((char *)state + row->offset, &data, sizeof data);
  }
  /* a sparse Jacobian has all three arrays */
  if (state->efc_J_rownnz != NULL && (state->efc_J_rowadr == NULL || state->efc_J_colind == NULL)) {
    PyErr_SetString(PyExc_TypeError, "efc_J_rowadr and efc_J_colind come with efc_J_rownnz");
    return -1;
  }
  state->n_rows = n_rows;
  state->n_constraint_entries = shorter(arrays[EFC_J], arrays[EFC_J_COLIND]);
  state->n_moment_entries = shorter(arrays[MOMENT], arrays[MOMENT_COLIND]);
  const long long disabled = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, SAPWOOD_ELEMENT_ARRAYS));
  if (PyErr_Occurred()) {
    return -1;
  }
  if (disabled < INT32_MIN || disabled > INT32_MAX) {
    PyErr_Format(PyExc_ValueError, "disabled = %lld: must be of 32 bits", disabled);
    return -1;
  }
  state->disabled = (int32_t)disabled;
  return 0;
}

int sapwood_add_elements(PyObject *module) {
  PyObject *names = PyTuple_New(SAPWOOD_ELEMENT_ARRAYS);
  for (int i = 0; i < SAPWOOD_ELEMENT_ARRAYS && names != NULL; i++) {
    PyObject *name = PyUnicode_FromString(element_arrays[i].name);
    if (name == NULL) {
      Py_CLEAR(names);
    } else {
      PyTuple_SET_ITEM(names, i, name);
    }
  }
  const int failed = names == NULL || PyModule_AddObjectRef(module, "ELEMENT_ARRAYS", names) < 0;
  Py_XDECREF(names);
  return failed ? -1 : 0;
}
