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

/* the cells order[first .. first + n - 1] in one box */
static struct geo_box enclose(const struct building *building, int32_t first, int32_t n) {
  struct geo_bounds all = building->bounds[building->order[first]];
  for (int32_t i = first + 1; i < first + n; ++i) {
    const struct geo_bounds *b = &building->bounds[building->order[i]];
    all.low = geo_min(all.low, b->low);
    all.high = geo_max(all.high, b->high);
    all.p_low = fmin(all.p_low, b->p_low);
    all.p_high = fmax(all.p_high, b->p_high);
  }
  const struct geo_vec pad = {building->pad, building->pad, building->pad};
  return (struct geo_box){.center = geo_between(all.low, all.high, 0.5),
                          .half = geo_add(geo_scale(0.5, geo_sub(all.high, all.low)), pad),
                          .p_low = all.p_low,
                          .p_high = all.p_high};
}

/* sorts them along the longest edge of their box; how many are in the first half */
static int32_t halve(struct building *building, int32_t first, int32_t n) {
  if (n > 1) {
    const struct geo_box box = enclose(building, first, n);
    building->axis = longest(box.half);
    geo_sort(n, building->order + first, before, building);
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

static struct geo_box child_of(const struct geo_node *node, int k) {
  return (struct geo_box){geo_of_four(&node->center, k), geo_of_four(&node->half, k),
                          node->p_low[k], node->p_high[k], node->child[k]};
}

/* smaller than any gap: no box is near it */
static const struct geo_box nothing = {{0, 0, 0}, {-1e300, -1e300, -1e300}, 0, 0, -1};

/* the box of cells and the nodes below it; median splits keep the depth below 16 */
static struct geo_box build(struct building *building, int32_t first, int32_t n) {
  struct geo_box box = enclose(building, first, n);
  box.child = ~first;
  if (n > 1) {
    box.child = building->tree->n_nodes++;
    const int32_t half = halve(building, first, n);
    const int32_t quarter = halve(building, first, half);
    const int32_t rest = halve(building, first + half, n - half);
    const int32_t start[5] = {first, first + quarter, first + half, first + half + rest, first + n};
    for (int k = 0; k < 4; ++k) {
      const int32_t count = start[k + 1] - start[k];
      const struct geo_box part = count > 0 ? build(building, start[k], count) : nothing;
      set_child(&building->tree->nodes[box.child], k, &part);
    }
  }
  return box;
}

void geo_tree_build(struct geo_tree *tree, int32_t n, const struct geo_bounds *bounds, double pad,
                    int32_t *order) {
  struct building building = {bounds, tree, pad, order, 0};
  tree->n_nodes = 0;
  for (int32_t i = 0; i < n; ++i) {
    order[i] = i;
  }
  tree->root = n > 0 ? build(&building, 0, n) : nothing;
}

/* ---- two trees ---- */

/* a frame of one tree in the other, and its entries' absolute values */
struct view {
  struct geo_frame frame, spread;
};

struct meeting {
  const struct geo_node *a, *b;
  struct view of_b, of_a; /* in a, in b */
  geo_meet meet;
  void *context;
};

static struct view see(const struct geo_frame *frame) {
  struct view view = {*frame, *frame};
  for (int i = 0; i < 3; ++i) {
    view.spread.row[i] = geo_abs(frame->row[i]);
  }
  return view;
}

/* children of a node that are not separated from a box along an axis of their own: a bit for
 * each */
static int near(const struct geo_node *node, struct geo_vec at, struct geo_vec reach) {
  double apart[4];
  for (int k = 0; k < 4; ++k) {
    const double x = fabs(at.x - node->center.x[k]) - node->half.x[k] - reach.x;
    const double y = fabs(at.y - node->center.y[k]) - node->half.y[k] - reach.y;
    const double z = fabs(at.z - node->center.z[k]) - node->half.z[k] - reach.z;
    const double most = x > y ? x : y;
    apart[k] = most > z ? most : z;
  }
  return (apart[0] <= 0) | (apart[1] <= 0) << 1 | (apart[2] <= 0) << 2 | (apart[3] <= 0) << 3;
}

/* The same of one child along the axes of the box, which is `at` in the child's frame; and are
 * their fields equal anywhere? */
static int overlaps(const struct geo_box *child, const struct view *view, struct geo_vec at,
                    const struct geo_box *box) {
  const struct geo_vec seen = geo_rotate_back(&view->frame, geo_sub(at, child->center));
  const struct geo_vec reach = geo_add(box->half, geo_rotate_back(&view->spread, child->half));
  return (fabs(seen.x) <= reach.x) & (fabs(seen.y) <= reach.y) & (fabs(seen.z) <= reach.z) &
         (child->p_low <= box->p_high) & (box->p_low <= child->p_high);
}

static double size(const struct geo_box *box) {
  const double most = box->half.x > box->half.y ? box->half.x : box->half.y;
  return most > box->half.z ? most : box->half.z;
}

/* two boxes that overlap */
static void descend(const struct meeting *m, const struct geo_box *a, const struct geo_box *b) {
  if (a->child < 0 && b->child < 0) {
    m->meet(m->context, ~a->child, ~b->child);
    return;
  }
  const int into_a = b->child < 0 || (a->child >= 0 && size(a) >= size(b));
  const struct geo_node *node = into_a ? &m->a[a->child] : &m->b[b->child];
  const struct view *view = into_a ? &m->of_b : &m->of_a;
  const struct geo_box *box = into_a ? b : a;
  const struct geo_vec at = geo_transform(&view->frame, box->center);
  for (int found = near(node, at, geo_rotate(&view->spread, box->half)); found;
       found &= found - 1) {
    const struct geo_box child = child_of(node, __builtin_ctz((unsigned)found));
    if (overlaps(&child, view, at, box)) {
      descend(m, into_a ? &child : a, into_a ? b : &child);
    }
  }
}

void geo_tree_meet_tree(const struct geo_tree *a, const struct geo_tree *b,
                        const struct geo_frame *frame, const struct geo_frame *back, geo_meet meet,
                        void *context) {
  const struct meeting m = {a->nodes, b->nodes, see(frame), see(back), meet, context};
  if (overlaps(&a->root, &m.of_b, geo_transform(frame, b->root.center), &b->root)) {
    descend(&m, &a->root, &b->root);
  }
}

/* ---- a tree and a plane ---- */

struct slicing {
  const struct geo_node *nodes;
  struct geo_vec n, spread;
  double offset;
  int behind;
  geo_meet meet;
  void *context;
};

static void slice(const struct slicing *s, const struct geo_box *box) {
  const double height = geo_dot(s->n, box->center) - s->offset;
  const double reach = geo_dot(s->spread, box->half);
  if (height > reach || (!s->behind && height < -reach)) {
    return;
  }
  if (box->child < 0) {
    s->meet(s->context, ~box->child, 0);
    return;
  }
  for (int k = 0; k < 4; ++k) {
    const struct geo_box child = child_of(&s->nodes[box->child], k);
    slice(s, &child);
  }
}

void geo_tree_meet_plane(const struct geo_tree *tree, struct geo_vec n, double offset, int behind,
                         geo_meet meet, void *context) {
  const struct slicing s = {tree->nodes, n, geo_abs(n), offset, behind, meet, context};
  slice(&s, &tree->root);
}
