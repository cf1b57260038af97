/* This module scales rows and columns of a complementarity problem by powers of two, which round
 * nothing:
 *
 *     M' = D M D,   q' = D q/s,   z = s D z',   w = s D^-1 w'
 *
 * is the same problem. The largest entry of each row and column of M' is about 1, the largest entry
 * of q' is from 1 to 2. Tolerances then mean the same for contacts of grams and of tons. */
#ifndef SAPWOOD_LCP_SCALING_H
#define SAPWOOD_LCP_SCALING_H

#include <stdint.h>

/* Writes D (n), M' (n, n), row-major, and q' (n); returns s, which is 1 for q = 0. */
double lcp_scale(int32_t n, const double *M, const double *q, double *D, double *M_scaled,
                 double *q_scaled);

#endif
