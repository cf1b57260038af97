/* Heap sort of numbers 0 .. n - 1 by an order that the caller knows: in place, with no
 * recursion. */
#ifndef SAPWOOD_GEOMETRY_SORT_H
#define SAPWOOD_GEOMETRY_SORT_H

#include <stdint.h>

/* does a come before b? A strict order in which no two are equal. */
typedef int (*geo_before)(const void *context, int32_t a, int32_t b);

void geo_sort(int32_t n, int32_t *order, geo_before before, const void *context);

#endif
