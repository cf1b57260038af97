/* The pivoting methods, see sapwood/lcp.h. Each begins at the basis of the dictionary, which is
 * complementary and without the artificial variable, and ends at another one if it returns
 * LCP_SOLVED. Each adds its pivots. */
#ifndef SAPWOOD_LCP_PIVOTING_H
#define SAPWOOD_LCP_PIVOTING_H

#include "lcp/tableau.h"

/* Runs Lemke's method with the lexicographic ratio test. */
lcp_outcome lcp_lemke(struct lcp_tableau *t, const struct lcp_limits *limits, int32_t *pivots);

/* Runs the principal pivoting method PPM I, and the criss-cross method that ends it. */
lcp_outcome lcp_principal(struct lcp_tableau *t, const struct lcp_limits *limits, int32_t *pivots);

#endif
