/* Proof of accuracy. l_p is strongly convex, H >= A, so with g = grad l_p(v)
 *
 *     |v - v_min|_A <= |g|_{A^-1},    l(v) - l_min <= 1/2 |g|^2_{A^-1}
 *
 * for the gradient in exact arithmetic. The computed one differs from it by at most e, a bound on its
 * rounding errors found alongside; |g + d|_{A^-1} <= |L^-1 g| + | |L^-1| e | for every |d| <= e. */
#ifndef SAPWOOD_SAP_CERTIFICATE_H
#define SAPWOOD_SAP_CERTIFICATE_H

#include "sap/workspace.h"

/* square of the bound on |v - v_min|_A of one island, in J; sap_verify() at v first. Uses dp and
 * pool.dv_c as scratch. */
double sap_certificate(struct sap_workspace *w, const struct sap_island *island);

/* sum over contacts of |g_i . gamma_i|, g = v_c - v_hat + R gamma: the numerator of (25). Of a clamped row |g|
 * times the distance of gamma from its bounds, or from 0. */
double sap_complementarity(const struct sap_workspace *w, const struct sap_island *island);

#endif
