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

/* Returns the engine of the capsule `object`, or NULL with TypeError. */
const sapwood_engine *sapwood_engine_of(PyObject *object);

/* Returns the address of the struct of a MjModel or MjData, which must be of `type`. NULL with an
 * exception that calls it `name`. */
void *sapwood_engine_address(PyObject *object, PyTypeObject *type, const char *name);

#endif
