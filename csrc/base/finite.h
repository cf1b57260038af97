/* Searches arrays for NaN and infinity. */
#ifndef SAPWOOD_BASE_FINITE_H
#define SAPWOOD_BASE_FINITE_H

#include "sapwood.h"

/* Returns the index of the first element that is NaN or infinite, or -1. */
int64_t sap_first_non_finite(int64_t n, const double *x);

/* Checks that n values are given and finite; the error names the array. */
sap_status sap_check_finite(const char *argument, int64_t n, const double *x, sap_error *error);

#endif
