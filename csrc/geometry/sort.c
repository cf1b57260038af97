#include "geometry/sort.h"

/* Lets order[i] sink until both entries below it come before it. */
static void sink(int32_t i, int32_t n, int32_t *order, geo_before comes_before,
                 const void *context) {
  const int32_t moved = order[i];
  for (int32_t below = 2 * i + 1; below < n; below = 2 * i + 1) {
    if (below + 1 < n && comes_before(context, order[below], order[below + 1])) {
      ++below;
    }
    if (!comes_before(context, moved, order[below])) {
      break;
    }
    order[i] = order[below];
    i = below;
  }
  order[i] = moved;
}

void geo_sort(int32_t n, int32_t *order, geo_before comes_before, const void *context) {
  for (int32_t i = n / 2; i-- > 0;) {
    sink(i, n, order, comes_before, context);
  }
  for (int32_t end = n - 1; end > 0; --end) {
    const int32_t last = order[0];
    order[0] = order[end];
    order[end] = last;
    sink(0, end, order, comes_before, context);
  }
}
