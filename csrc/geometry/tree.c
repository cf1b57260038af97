#include "geometry/tree.h"

#include <math.h>

#include "geometry/sort.h"

/* ---- building ---- */

struct building {
  const struct geo_bounds *bounds;
  struct geo_tree *tree;
  double pad;
  int32_t *order;
  int axis; /* that cells are being sorted along */
};

static double along(const struct geo_bounds *b, int axis) {
  switch (axis) {
    case 0: return b->low.x + b->high.x;
    case 1: return b->low.y + b->high.y;
    default: return b->low.z + b->high.z;
  }
}

static int before(const void *context, int32_t a, int32_t b) {
  const struct building *building = context;
  const double at_a = along(&building->bounds[a], building->axis);
  const double at_b = along(&building->bounds[b], building->axis);
  return at_a < at_b || (at_a == at_b && a < b);
}

static int longest(struct geo_vec a) {
  if (a.x >= a.y && a.x >= a.z) {
    return 0;
  }
  return a.y >= a.z ? 1 : 2;
}

/* the nodes of cells order[first .. first + n - 1]; a median split keeps the depth below 32 */
static void build(struct building *building, int32_t first, int32_t n) {
  struct geo_tree *tree = building->tree;
  struct geo_bounds all = building->bounds[building->order[first]];
  for (int32_t i = first + 1; i < first + n; ++i) {
    const struct geo_bounds *b = &building->bounds[building->order[i]];
    all.low = geo_min(all.low, b->low);
    all.high = geo_max(all.high, b->high);
    all.p_low = fmin(all.p_low, b->p_low);
    all.p_high = fmax(all.p_high, b->p_high);
  }
  struct geo_node *node = &tree->nodes[tree->n_nodes++];
  const struct geo_vec pad = {building->pad, building->pad, building->pad};
  node->center = geo_between(all.low, all.high, 0.5);
  node->half = geo_add(geo_scale(0.5, geo_sub(all.high, all.low)), pad);
  node->size = fmax(fmax(node->half.x, node->half.y), node->half.z);
  node->p_low = all.p_low;
  node->p_high = all.p_high;
  node->right = -1;
  node->cell = n == 1 ? first : -1;
  if (n > 1) {
    building->axis = longest(node->half);
    geo_sort(n, building->order + first, before, building);
    build(building, first, n / 2);
    node->right = tree->n_nodes;
    build(building, first + n / 2, n - n / 2);
  }
}

void geo_tree_build(struct geo_tree *tree, int32_t n, const struct geo_bounds *bounds, double pad,
                    int32_t *order) {
  struct building building = {bounds, tree, pad, order, 0};
  tree->n_nodes = 0;
  for (int32_t i = 0; i < n; ++i) {
    order[i] = i;
  }
  if (n > 0) {
    build(&building, 0, n);
  }
}

/* ---- two trees ---- */

struct meeting {
  const struct geo_node *a, *b; /* roots */
  struct geo_frame frame;       /* of b in a */
  struct geo_frame spread;      /* its entries' absolute values */
  geo_meet meet;
  void *context;
};

/* separated along an axis of either box? */
static int overlap(const struct meeting *m, const struct geo_node *a, const struct geo_node *b) {
  if (a->p_low > b->p_high || b->p_low > a->p_high) {
    return 0;
  }
  const struct geo_vec apart = geo_sub(geo_transform(&m->frame, b->center), a->center);
  const struct geo_vec reach = geo_add(a->half, geo_rotate(&m->spread, b->half));
  if (fabs(apart.x) > reach.x || fabs(apart.y) > reach.y || fabs(apart.z) > reach.z) {
    return 0;
  }
  const struct geo_vec seen = geo_rotate_back(&m->frame, apart);
  const struct geo_vec back = geo_add(b->half, geo_rotate_back(&m->spread, a->half));
  return fabs(seen.x) <= back.x && fabs(seen.y) <= back.y && fabs(seen.z) <= back.z;
}

static void descend(const struct meeting *m, const struct geo_node *a, const struct geo_node *b) {
  if (!overlap(m, a, b)) {
    return;
  }
  if (a->cell >= 0 && b->cell >= 0) {
    m->meet(m->context, a->cell, b->cell);
  } else if (b->cell >= 0 || (a->cell < 0 && a->size >= b->size)) {
    descend(m, a + 1, b);
    descend(m, m->a + a->right, b);
  } else {
    descend(m, a, b + 1);
    descend(m, a, m->b + b->right);
  }
}

void geo_tree_meet_tree(const struct geo_tree *a, const struct geo_tree *b,
                        const struct geo_frame *frame, geo_meet meet, void *context) {
  struct meeting m = {a->nodes, b->nodes, *frame, *frame, meet, context};
  for (int i = 0; i < 3; ++i) {
    m.spread.row[i] = geo_abs(frame->row[i]);
  }
  if (a->n_nodes > 0 && b->n_nodes > 0) {
    descend(&m, a->nodes, b->nodes);
  }
}

/* ---- a tree and a plane ---- */

struct slicing {
  const struct geo_node *root;
  struct geo_vec n, spread;
  double offset;
  int behind;
  geo_meet meet;
  void *context;
};

static void slice(const struct slicing *s, const struct geo_node *node) {
  const double height = geo_dot(s->n, node->center) - s->offset;
  const double reach = geo_dot(s->spread, node->half);
  if (height > reach || (!s->behind && height < -reach)) {
    return;
  }
  if (node->cell >= 0) {
    s->meet(s->context, node->cell, 0);
  } else {
    slice(s, node + 1);
    slice(s, s->root + node->right);
  }
}

void geo_tree_meet_plane(const struct geo_tree *tree, struct geo_vec n, double offset, int behind,
                         geo_meet meet, void *context) {
  const struct slicing s = {tree->nodes, n, geo_abs(n), offset, behind, meet, context};
  if (tree->n_nodes > 0) {
    slice(&s, tree->nodes);
  }
}
