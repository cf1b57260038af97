#include "fem/dissection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fem/fem_tuning.h"
#include "geometry/sort.h"

/* vertices along an axis */
struct axis {
  const double *position;
  const int32_t *vertex;
  int axis;
};

static int comes_before(const void *context, int32_t a, int32_t b) {
  const struct axis *c = context;
  const double x = c->position[3 * (int64_t)c->vertex[a] + c->axis];
  const double y = c->position[3 * (int64_t)c->vertex[b] + c->axis];
  return x < y || (x == y && c->vertex[a] < c->vertex[b]);
}

static int longest_axis(const double *position, int32_t n, const int32_t *vertex) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int32_t i = 0; i < n; ++i) {
    for (int k = 0; k < 3; ++k) {
      const double x = position[3 * (int64_t)vertex[i] + k];
      low[k] = fmin(low[k], x);
      high[k] = fmax(high[k], x);
    }
  }
  int axis = 0;
  for (int k = 1; k < 3; ++k) {
    axis = high[k] - low[k] > high[axis] - low[axis] ? k : axis;
  }
  return axis;
}

static void sort_along(const struct fem_dissection *d, int axis, int32_t n, int32_t *vertex) {
  const struct axis context = {.position = d->position, .vertex = vertex, .axis = axis};
  int32_t *order = d->scratch;
  for (int32_t i = 0; i < n; ++i) {
    order[i] = i;
  }
  geo_sort(n, order, comes_before, &context);
  for (int32_t i = 0; i < n; ++i) {
    order[i] = vertex[order[i]];
  }
  memcpy(vertex, order, (size_t)n * sizeof *vertex);
}

/* Moves the vertices among the first `cut` that have a neighbour among the others to the end, and
 * keeps all other orders. Returns their number. */
static int32_t move_separator(const struct fem_dissection *d, int32_t cut, int32_t n,
                              int32_t *vertex) {
  for (int32_t i = cut; i < n; ++i) {
    d->side[vertex[i]] = 1;
  }
  int32_t kept = 0, n_separators = 0;
  for (int32_t i = 0; i < cut; ++i) {
    const int32_t v = vertex[i];
    int separates = 0;
    for (int32_t k = d->start[v]; k < d->start[v + 1] && !separates; ++k) {
      separates = d->side[d->neighbour[k]];
    }
    if (separates) {
      d->scratch[n_separators++] = v;
    } else {
      vertex[kept++] = v;
    }
  }
  for (int32_t i = cut; i < n; ++i) {
    d->side[vertex[i]] = 0;
    vertex[kept++] = vertex[i];
  }
  memcpy(vertex + kept, d->scratch, (size_t)n_separators * sizeof *vertex);
  return n_separators;
}

/* Returns the size of the first part, between two and three fifths of the sorted vertices, that has
 * the fewest vertices with a neighbour in the second part. */
static int32_t choose_cut(const struct fem_dissection *d, int32_t n, const int32_t *vertex) {
  int32_t *rank = d->side, *change = d->scratch; /* rank + 1, or 0 for vertices of other sets */
  for (int32_t i = 0; i < n; ++i) {
    rank[vertex[i]] = i + 1;
    change[i] = 0;
  }
  /* a vertex of rank i separates parts of i + 1 to m vertices, m the highest rank around it */
  for (int32_t i = 0; i < n; ++i) {
    const int32_t v = vertex[i];
    int32_t highest = i + 1;
    for (int32_t k = d->start[v]; k < d->start[v + 1]; ++k) {
      highest = rank[d->neighbour[k]] > highest ? rank[d->neighbour[k]] : highest;
    }
    change[i] += 1;
    change[highest - 1] -= 1;
  }
  const int32_t half = n / 2, lowest = 2 * n / 5;
  int32_t best = half, fewest = n, separators = 0;
  for (int32_t size = 1; size <= n - lowest; ++size) {
    separators += change[size - 1];
    const int is_nearer = abs(size - half) < abs(best - half);
    if (size >= lowest && (separators < fewest || (separators == fewest && is_nearer))) {
      fewest = separators;
      best = size;
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    rank[vertex[i]] = 0;
  }
  return best;
}

/* The depth of the recursion is the logarithm of the number of vertices. */
static void dissect(const struct fem_dissection *d, int32_t n, int32_t *vertex) {
  if (n <= FEM_UNCUT_VERTICES) {
    return;
  }
  sort_along(d, longest_axis(d->position, n, vertex), n, vertex);
  const int32_t cut = choose_cut(d, n, vertex);
  const int32_t n_separators = move_separator(d, cut, n, vertex);
  const int32_t low = cut - n_separators;
  dissect(d, low, vertex);
  dissect(d, n - cut, vertex + low);
}

void fem_dissect(const struct fem_dissection *d, int32_t n_listed, int32_t *listed) {
  memset(d->side, 0, (size_t)d->n * sizeof *d->side);
  dissect(d, n_listed, listed);
}
