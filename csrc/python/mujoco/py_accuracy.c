#include "python/mujoco/py_accuracy.h"
#include "python/parts.h"

#include "python/record.h"
#include "python/state.h"

/* Checks that entries are positive, or sets ValueError. */
static int check_scale(const double *scale, npy_intp nv) {
  for (npy_intp i = 0; i < nv; i++) {
    if (!(scale[i] > 0.0)) {
      return SAPWOOD_FAIL(PyExc_ValueError, "scale[%zd] must be > 0", (Py_ssize_t)i);
    }
  }
  return 0;
}

int sapwood_read_accuracy(PyObject *tuple, npy_intp nv, npy_intp steps, sap_accuracy *accuracy,
                          sap_parts_record **parts) {
  PyObject *scale, *records;
  *accuracy = (sap_accuracy){0};
  if (!PyArg_ParseTuple(tuple, "diiiOO:accuracy", &accuracy->tolerance, &accuracy->halvings,
                        &accuracy->level, &accuracy->state_spec, &scale, &records)) {
    return -1;
  }
  if (!(accuracy->tolerance > 0.0) || accuracy->halvings < 1 || accuracy->halvings > 30 ||
      accuracy->level < 0 || accuracy->level >= accuracy->halvings) {
    return SAPWOOD_FAIL(PyExc_ValueError,
                        "accuracy: tolerance must be > 0, halvings from 1 to 30, level below them");
  }
  PyArrayObject *array =
      sapwood_in_place(scale, "scale", NPY_DOUBLE, SAPWOOD_SHAPE(nv), NPY_ARRAY_C_CONTIGUOUS);
  if (array == NULL) {
    return -1;
  }
  accuracy->scale = sapwood_doubles(array);
  Py_DECREF(array); /* the tuple owns it */
  *parts = sapwood_take_structs(records, "parts", "PARTS_RECORD", sizeof **parts, steps,
                                NPY_ARRAY_WRITEABLE);
  return *parts == NULL || check_scale(accuracy->scale, nv) < 0 ? -1 : 0;
}

static const sapwood_field fields[] = {
    SAPWOOD_FIELD(sap_parts_record, smallest_step, "f8"),
    SAPWOOD_FIELD(sap_parts_record, error, "f8"),
    SAPWOOD_FIELD(sap_parts_record, substeps, "i4"),
    SAPWOOD_FIELD(sap_parts_record, refused, "i4"),
    SAPWOOD_FIELD(sap_parts_record, unmet, "i4"),
    SAPWOOD_FIELD(sap_parts_record, level, "i4"),
};

int sapwood_add_parts_record(PyObject *module) {
  PyArray_Descr *dtype = SAPWOOD_RECORD(sap_parts_record, fields);
  return sapwood_add_object(module, "PARTS_RECORD", (PyObject *)dtype);
}
