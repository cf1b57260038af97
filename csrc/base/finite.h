/* Looking for NaN and infinity in an array. */
#ifndef SAPWOOD_BASE_FINITE_H
#define SAPWOOD_BASE_FINITE_H

#include <stdint.h>

/* index of the first element that is NaN or infinite, or -1 */
int64_t sap_first_non_finite(int64_t n, const double *x);

#endif
