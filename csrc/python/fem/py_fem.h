/* _core.fem_mesh and functions of it: finite elements of elastic bodies. */
#ifndef SAPWOOD_PYTHON_FEM_PY_FEM_H
#define SAPWOOD_PYTHON_FEM_PY_FEM_H

#include "python/convert.h"
#include "sapwood.h"

int sapwood_add_fem(PyObject *module);
int sapwood_add_fem_systems(PyObject *module);
int sapwood_add_fem_contacts(PyObject *module);

/* Returns the mesh in a capsule of _core.fem_mesh; NULL with an exception for anything else. */
const fem_mesh *sapwood_fem_mesh(PyObject *capsule);

#endif
