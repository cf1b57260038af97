/* The laws alone, as functions of the module. */
#ifndef SAPWOOD_PYTHON_LAWS_PY_LAWS_H
#define SAPWOOD_PYTHON_LAWS_PY_LAWS_H

#include "python/convert.h"

/* Each adds its functions to the module. It returns 0, or -1 with an exception. */
int sapwood_add_contact_law(PyObject *module);
int sapwood_add_disk_law(PyObject *module);
int sapwood_add_row_law(PyObject *module);

#endif
