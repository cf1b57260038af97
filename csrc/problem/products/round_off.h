/* What the bounds on rounding errors share: see solver/certificate/certificate.h. */
#ifndef SAPWOOD_PROBLEM_PRODUCTS_ROUND_OFF_H
#define SAPWOOD_PROBLEM_PRODUCTS_ROUND_OFF_H

#include <float.h>

/* unit round-off, doubled: covers the products of (1 + u) that first-order bounds leave out */
static const double sap_u = DBL_EPSILON;

#endif
