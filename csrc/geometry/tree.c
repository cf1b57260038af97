#include "geometry/tree.h"

#include <math.h>

#include "geometry/sort.h"

struct builder {
  const struct geo_bounds *bounds;
  struct geo_tree *tree;
  double pad;
  int32_t *order;
  int axis; /* axis along which cells are sorted */
};

static double along(const struct geo_bounds *b, int axis) {
  switch (axis) {
    case 0: return b->low.x + b->high.x;
    case 1: return b->low.y + b->high.y;
    default: return b->low.z + b->high.z;
  }
}

static int comes_before(const void *context, int32_t a, int32_t b) {
  const struct builder *builder = context;
  const double at_a = along(&builder->bounds[a], builder->axis);
  const double at_b = along(&builder->bounds[b], builder->axis);
  return at_a < at_b || (at_a == at_b && a < b);
}

static int longest(struct geo_vec a) {
  if (a.x >= a.y && a.x >= a.z) {
    return 0;
  }
  return a.y >= a.z ? 1 : 2;
}

/* Returns the box of the cells order[first .. first + n - 1]. */
static struct geo_box enclose(const struct builder *builder, int32_t first, int32_t n) {
  struct geo_bounds all = builder->bounds[builder->order[first]];
  for (int32_t i = first + 1; i < first + n; ++i) {
    const struct geo_bounds *b = &builder->bounds[builder->order[i]];
    all.low = geo_min(all.low, b->low);
    all.high = geo_max(all.high, b->high);
    all.p_low = fmin(all.p_low, b->p_low);
    all.p_high = fmax(all.p_high, b->p_high);
  }
  const struct geo_vec pad = {builder->pad, builder->pad, builder->pad};
  return (struct geo_box){.center = geo_between(all.low, all.high, 0.5),
                          .half = geo_add(geo_scale(0.5, geo_sub(all.high, all.low)), pad),
                          .p_low = all.p_low,
                          .p_high = all.p_high};
}

/* Sorts the cells along the longest edge of their box; returns the number in the first half. */
static int32_t halve(struct builder *builder, int32_t first, int32_t n) {
  if (n > 1) {
    const struct geo_box box = enclose(builder, first, n);
    builder->axis = longest(box.half);
    geo_sort(n, builder->order + first, comes_before, builder);
  }
  return n / 2;
}

static void set_child(struct geo_node *node, int k, const struct geo_box *box) {
  geo_to_four(box->center, &node->center, k);
  geo_to_four(box->half, &node->half, k);
  node->p_low[k] = box->p_low;
  node->p_high[k] = box->p_high;
  node->child[k] = box->child;
}

/* This box is smaller than any gap: no box is near it unless its numbers overflow. */
static const struct geo_box nothing = {{0, 0, 0}, {-1e300, -1e300, -1e300}, 0, 0, GEO_NO_CHILD};

/* Builds the box of cells and the nodes below it; median splits keep the depth below 16. */
static struct geo_box build(struct builder *builder, int32_t first, int32_t n) {
  struct geo_box box = enclose(builder, first, n);
  box.child = ~first;
  if (n > 1 || builder->tree->n_nodes == 0) {
    box.child = builder->tree->n_nodes++;
    const int32_t half = halve(builder, first, n);
    const int32_t quarter = halve(builder, first, half);
    const int32_t third = halve(builder, first + half, n - half);
    const int32_t start[5] = {first, first + quarter, first + half, first + half + third,
                              first + n};
    for (int k = 0; k < 4; ++k) {
      const int32_t count = start[k + 1] - start[k];
      const struct geo_box part = count > 0 ? build(builder, start[k], count) : nothing;
      set_child(&builder->tree->nodes[box.child], k, &part);
    }
  }
  return box;
}

void geo_tree_build(struct geo_tree *tree, int32_t n, const struct geo_bounds *bounds, double pad,
                    int32_t *order) {
  struct builder builder = {bounds, tree, pad, order, 0};
  tree->n_nodes = 0;
  for (int32_t i = 0; i < n; ++i) {
    order[i] = i;
  }
  tree->root = n > 0 ? build(&builder, 0, n) : nothing;
}
