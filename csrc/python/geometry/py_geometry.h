/* _core.field_shape and _core.contact_surfaces: shapes with or without a pressure field, and the
 * surfaces on which they meet. */
#ifndef SAPWOOD_PYTHON_GEOMETRY_PY_GEOMETRY_H
#define SAPWOOD_PYTHON_GEOMETRY_PY_GEOMETRY_H

#include "python/convert.h"
#include "sapwood.h"

/* Returns the shape in a capsule of _core.field_shape; NULL with an exception for anything else. */
const geo_shape *sapwood_shape(PyObject *capsule);

#endif
