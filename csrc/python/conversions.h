/* The conversions of convert.h for Python code: as_float64 and as_int32 of the module. */
#ifndef SAPWOOD_PYTHON_CONVERSIONS_H
#define SAPWOOD_PYTHON_CONVERSIONS_H

#include "python/convert.h"

/* Adds the functions to the module. Returns 0, or -1 with an exception. */
int sapwood_add_conversions(PyObject *module);

#endif
