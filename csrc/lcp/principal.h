/* This module implements the principal pivoting method PPM I and the criss-cross method that ends
 * it, see sapwood/lcp.h. */
#ifndef SAPWOOD_LCP_PRINCIPAL_H
#define SAPWOOD_LCP_PRINCIPAL_H

#include "lcp/tableau.h"

/* Begins at the basis of the dictionary, which is complementary and without the artificial
 * variable, and ends at another one if it returns LCP_SOLVED. Adds its pivots. */
lcp_outcome lcp_principal(struct lcp_tableau *t, const struct lcp_limits *limits, int32_t *pivots);

#endif
