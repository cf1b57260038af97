/* The type _core.WorldBatch; see world_batch.h. */
#ifndef SAPWOOD_PYTHON_BATCH_PY_WORLDS_H
#define SAPWOOD_PYTHON_BATCH_PY_WORLDS_H

#include "python/convert.h"

/* Adds the type to the module. Returns 0, or -1 with an exception. */
int sapwood_add_world_batch(PyObject *module);

#endif
