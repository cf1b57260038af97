/* This module checks the arrays of a shape. */
#ifndef SAPWOOD_GEOMETRY_SHAPE_CHECK_H
#define SAPWOOD_GEOMETRY_SHAPE_CHECK_H

#include "sapwood/geometry.h"

/* Checks everything that needs no memory. */
sap_status geo_check_arrays(const geo_arrays *arrays, sap_error *error);

/* Checks that no cell occurs twice; order (n_cells) is scratch. */
sap_status geo_check_twins(const geo_arrays *arrays, int32_t *order, sap_error *error);

#endif
