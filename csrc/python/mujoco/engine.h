/* The capsule around the table of MuJoCo's functions and fields.
 *
 * sapwood/mujoco/reading/engine.py finds both at run time: addresses in the loaded library, offsets
 * from MuJoCo's own description of its structs, checked against a live model.
 *
 * Ownership: the capsule keeps the types of the model and the data alive; it never changes. */
#ifndef SAPWOOD_PYTHON_MUJOCO_ENGINE_H
#define SAPWOOD_PYTHON_MUJOCO_ENGINE_H

#include "python/convert.h"
#include "sapwood/mujoco.h"

typedef struct sapwood_engine {
  sap_mujoco api;
  PyTypeObject *model_type, *data_type; /* references */
} sapwood_engine;

extern const char sapwood_mujoco_api_doc[];

/* Returns the capsule of mujoco_api(functions, layout, model_type, data_type). */
PyObject *sapwood_mujoco_api(PyObject *module, PyObject *args);

extern const char sapwood_mujoco_is_tested_doc[];

PyObject *sapwood_mujoco_is_tested(PyObject *module, PyObject *version);

/* Adds the tables of sapwood/mujoco_engine.h to the module: the tuples MUJOCO_FUNCTIONS,
 * MUJOCO_CALLBACKS and MUJOCO_FIELDS, with a tuple for each row, and the list MUJOCO_TESTED.
 * Returns 0, or -1 with an exception. */
int sapwood_add_engine(PyObject *module);

/* Returns the engine of the capsule `object`, or NULL with TypeError. */
const sapwood_engine *sapwood_engine_of(PyObject *object);

/* Returns the address of the struct of a MjModel or MjData, which must be of `type`. NULL with an
 * exception that calls it `name`. */
void *sapwood_engine_address(PyObject *object, PyTypeObject *type, const char *name);

#endif
