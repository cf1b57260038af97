/* Looking for NaN and infinity in an array. */
#ifndef SAPWOOD_BASE_FINITE_H
#define SAPWOOD_BASE_FINITE_H

#include "sapwood.h"

/* index of the first element that is NaN or infinite, or -1 */
int64_t sap_first_non_finite(int64_t n, const double *x);

/* a finite array of n values, or an error that names it */
sap_status sap_check_finite(const char *argument, int64_t n, const double *x, sap_error *error);

#endif
