/* _core.field_shape and _core.contact_surfaces: shapes with or without a pressure field, and the
 * surfaces on which they meet. */
#ifndef SAPWOOD_PYTHON_GEOMETRY_PY_GEOMETRY_H
#define SAPWOOD_PYTHON_GEOMETRY_PY_GEOMETRY_H

#include "python/convert.h"
#include "sapwood.h"

/* Returns the shape in a capsule of _core.field_shape; NULL with an exception for anything else. */
const geo_shape *sapwood_shape(PyObject *capsule);

/* Reads a matrix (4, 4), or None for the identity. Returns 0, or -1 with an exception. */
int sapwood_read_pose(PyObject *object, const char *name, geo_pose *pose);

#endif
