/* The accuracy of ModelStepper.run, and the dtype PARTS_RECORD of its records. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_ACCURACY_H
#define SAPWOOD_PYTHON_MUJOCO_PY_ACCURACY_H

#include "python/convert.h"
#include "sapwood/mujoco.h"

/* Reads the tuple (tolerance, halvings, level, state_spec, scale, parts): scale is an array (nv) of
 * doubles, parts a contiguous array of PARTS_RECORD with room for all steps; the tuple owns both.
 * Returns 0, or -1 with an exception. */
int sapwood_read_accuracy(PyObject *tuple, npy_intp nv, npy_intp steps, sap_accuracy *accuracy,
                          sap_parts_record **parts);

#endif
