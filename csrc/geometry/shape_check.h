/* What is wrong with the arrays of a shape. */
#ifndef SAPWOOD_GEOMETRY_SHAPE_CHECK_H
#define SAPWOOD_GEOMETRY_SHAPE_CHECK_H

#include "sapwood/geometry.h"

/* "tetrahedra" or "triangles", as errors call cells */
const char *geo_cells_name(geo_kind kind);

/* All but what needs memory. */
sap_status geo_check_arrays(const geo_arrays *arrays, sap_error *error);

/* No cell is there twice; order (n_cells) is scratch. */
sap_status geo_check_twins(const geo_arrays *arrays, int32_t *order, sap_error *error);

#endif
