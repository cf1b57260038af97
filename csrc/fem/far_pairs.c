/* This file searches a binary tree of boxes over the tetrahedra of a mesh for overlaps of the mesh
 * with itself. A node is a range of the given order, and has two boxes: one of its tetrahedra at
 * the present positions, and one of the centres of their balls at rest. */
#include <math.h>

#include "base/memory.h"
#include "fem/fem_tuning.h"
#include "fem/mesh.h"
#include "geometry/vec3.h"

struct node {
  struct geo_vec low, high;           /* m, box at the present positions */
  struct geo_vec low_rest, high_rest; /* m, box of the centres */
  double reach;                       /* m, least radius of a ball */
};

struct search {
  const fem_arrays *mesh;
  const fem_balls *balls;
  const double *x;
  struct node *nodes; /* the children of node i are 2 i + 1 and 2 i + 2 */
  int64_t n_nodes;
  int64_t room, n; /* pairs that fit, and found ones */
  int32_t *pairs;
};

/* A node, and its range in the order. */
struct range {
  int64_t node;
  int32_t first, n;
};

static void carve(void *context, struct sap_arena *arena) {
  struct search *s = context;
  s->nodes = sap_arena_take(arena, (size_t)s->n_nodes, sizeof *s->nodes);
}

static struct range half_of(const struct range *whole, int second) {
  const int32_t half = whole->n / 2;
  return (struct range){.node = 2 * whole->node + 1 + second,
                        .first = whole->first + (second ? half : 0),
                        .n = second ? whole->n - half : half};
}

/* ---- boxes ---- */

static struct node enclose(const struct search *s, int32_t i) {
  const int32_t *corner = s->mesh->tetrahedra + 4 * (int64_t)i;
  const struct geo_vec centre = geo_read(s->balls->centre + 3 * (int64_t)i);
  const struct geo_vec first = geo_read(s->x + 3 * (int64_t)corner[0]);
  struct node found = {first, first, centre, centre, s->balls->reach[i]};
  for (int k = 1; k < 4; ++k) {
    const struct geo_vec x = geo_read(s->x + 3 * (int64_t)corner[k]);
    found.low = geo_min(found.low, x);
    found.high = geo_max(found.high, x);
  }
  return found;
}

static struct node unite(const struct node *a, const struct node *b) {
  return (struct node){geo_min(a->low, b->low), geo_max(a->high, b->high),
                       geo_min(a->low_rest, b->low_rest), geo_max(a->high_rest, b->high_rest),
                       fmin(a->reach, b->reach)};
}

/* Fills the nodes of a range; the depth of the recursion is the logarithm of its length. */
static void fill(const struct search *s, struct range range) {
  struct node *node = &s->nodes[range.node];
  if (range.n <= FEM_LEAF_TETRAHEDRA) {
    *node = enclose(s, s->balls->order[range.first]);
    for (int32_t k = 1; k < range.n; ++k) {
      const struct node next = enclose(s, s->balls->order[range.first + k]);
      *node = unite(node, &next);
    }
    return;
  }
  const struct range low = half_of(&range, 0), high = half_of(&range, 1);
  fill(s, low);
  fill(s, high);
  *node = unite(&s->nodes[low.node], &s->nodes[high.node]);
}

/* Do the boxes overlap at the present positions? */
static int do_meet(const struct node *a, const struct node *b) {
  return a->low.x <= b->high.x && b->low.x <= a->high.x && a->low.y <= b->high.y &&
         b->low.y <= a->high.y && a->low.z <= b->high.z && b->low.z <= a->high.z;
}

/* Do all balls of one node meet all those of the other at rest? */
static int are_near(const struct node *a, const struct node *b) {
  const struct geo_vec far =
      geo_max(geo_sub(a->high_rest, b->low_rest), geo_sub(b->high_rest, a->low_rest));
  const double reach = a->reach + b->reach;
  return geo_dot(far, far) <= reach * reach;
}

/* ---- pairs ---- */

static void add_pair(struct search *s, int32_t i, int32_t j) {
  if (s->n < s->room) {
    s->pairs[2 * s->n] = i < j ? i : j;
    s->pairs[2 * s->n + 1] = i < j ? j : i;
  }
  s->n++;
}

/* Tries all pairs of two leaves, or of one. */
static void try_leaves(struct search *s, const struct range *a, const struct range *b) {
  const int32_t *of_a = s->balls->order + a->first, *of_b = s->balls->order + b->first;
  struct node others[FEM_LEAF_TETRAHEDRA];
  for (int32_t l = 0; l < b->n; ++l) {
    others[l] = enclose(s, of_b[l]);
  }
  for (int32_t k = 0; k < a->n; ++k) {
    const struct node one = enclose(s, of_a[k]);
    for (int32_t l = of_a == of_b ? k + 1 : 0; l < b->n; ++l) {
      if (do_meet(&one, &others[l]) && !are_near(&one, &others[l])) {
        add_pair(s, of_a[k], of_b[l]);
      }
    }
  }
}

static void try_ranges(struct search *s, struct range a, struct range b) {
  const struct node *of_a = &s->nodes[a.node], *of_b = &s->nodes[b.node];
  if (!do_meet(of_a, of_b) || are_near(of_a, of_b)) {
    return;
  }
  if (a.n <= FEM_LEAF_TETRAHEDRA && b.n <= FEM_LEAF_TETRAHEDRA) {
    try_leaves(s, &a, &b);
  } else if (a.node == b.node) {
    const struct range low = half_of(&a, 0), high = half_of(&a, 1);
    try_ranges(s, low, low);
    try_ranges(s, high, high);
    try_ranges(s, low, high);
  } else {
    const int is_first = a.n >= b.n;
    const struct range split = is_first ? a : b, whole = is_first ? b : a;
    try_ranges(s, half_of(&split, 0), whole);
    try_ranges(s, half_of(&split, 1), whole);
  }
}

sap_status fem_find_far_pairs(const fem_mesh *mesh, const fem_balls *balls, const double *x,
                              int64_t room, int32_t *pairs, int64_t *n_pairs,
                              const sap_allocator *allocator) {
  const fem_arrays *arrays = fem_mesh_arrays(mesh);
  struct search s = {
      .mesh = arrays, .balls = balls, .x = x, .n_nodes = 1, .room = room, .pairs = pairs};
  /* each halving rounds up */
  for (int32_t n = arrays->n_tetrahedra; n > FEM_LEAF_TETRAHEDRA; n -= n / 2) {
    s.n_nodes = 2 * s.n_nodes + 1;
  }
  struct sap_block scratch = {0};
  const sap_allocator memory = sap_allocator_or_default(allocator);
  if (!sap_block_carve(&scratch, carve, &s, &memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  const struct range all = {.n = arrays->n_tetrahedra};
  fill(&s, all);
  try_ranges(&s, all, all);
  sap_block_release(&scratch, &memory);
  *n_pairs = s.n;
  return SAP_OK;
}
