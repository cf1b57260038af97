/* This module sorts the numbers 0 .. n - 1 by an order of the caller: heap sort, in place. */
#ifndef SAPWOOD_GEOMETRY_SORT_H
#define SAPWOOD_GEOMETRY_SORT_H

#include <stdint.h>

/* Does a come before b? The order is strict and no two numbers are equal. */
typedef int (*geo_before)(const void *context, int32_t a, int32_t b);

void geo_sort(int32_t n, int32_t *order, geo_before before, const void *context);

#endif
