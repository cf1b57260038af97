/* The method WorldBatch.run: one call of many steps of many worlds. */
#ifndef SAPWOOD_PYTHON_BATCH_BATCH_CALL_H
#define SAPWOOD_PYTHON_BATCH_BATCH_CALL_H

#include "python/convert.h"

extern const char sapwood_world_batch_run_doc[];
PyObject *sapwood_world_batch_run(PyObject *self, PyObject *args, PyObject *keywords);

#endif
