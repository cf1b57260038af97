#define SAPWOOD_IMPORT_ARRAY
#include "python/convert.h"

#include "python/numpy_api.h"

int sapwood_import_numpy(void) { return PyArray_ImportNumPyAPI(); }
