/* Loads and stores entries of the panels of H, of doubles or floats, for files that are compiled
 * once per instruction set. */
#ifndef SAPWOOD_PROBLEM_PRODUCTS_PANEL_ENTRIES_H
#define SAPWOOD_PROBLEM_PRODUCTS_PANEL_ENTRIES_H

#include "problem/products/packed_rows.h"

/* Destination of the blocks: panels of doubles or floats. */
struct panels {
  void *values;
  int single;
};

/* Load and store the first n entries of a vector at an entry of a panel. n, up to the width, and
 * `single` are constants except for the last rows of large blocks. */
INLINE simd load_entries(const int single, const void *values, size_t at, const int32_t n) {
  return single ? simd_load_single((const float *)values + at, n)
                : simd_load_part((const double *)values + at, simd_first(n));
}

INLINE void store_entries(const int single, void *values, size_t at, simd x, const int32_t n) {
  if (single) {
    simd_store_single((float *)values + at, x, n);
  } else {
    simd_store_part((double *)values + at, x, simd_first(n));
  }
}

/* Returns the place of entry (i, j) of a block. */
INLINE size_t entry(struct sap_place place, int32_t i, int32_t j) {
  return place.offset + (size_t)j * (size_t)place.ld + (size_t)i;
}

#endif
