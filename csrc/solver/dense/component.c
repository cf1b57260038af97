#include "solver/dense/component.h"

#include <string.h>

#include "problem/graph/branches.h"

/* ---- components ------------------------------------------------------------------------------ */

static void carve_trees(void *context, struct sap_arena *arena) {
  struct sap_joined_trees *joined = context;
  const size_t n = (size_t)joined->n_trees;
  joined->first = sap_arena_take(arena, n, sizeof(int32_t));
  joined->size = sap_arena_take(arena, n, sizeof(int32_t));
  joined->offset = sap_arena_take(arena, n, sizeof(int32_t));
}

/* the first tree of what t has been joined with so far */
static int32_t first_of(const int32_t *first, int32_t t) {
  while (first[t] != t) {
    t = first[t];
  }
  return t;
}

/* the trees of n constraints; returns how many are between two */
static int32_t join(int32_t *first, int32_t n, const int32_t *tree_a, const int32_t *tree_b) {
  int32_t between = 0;
  for (int32_t i = 0; i < n; ++i) {
    if (tree_b[i] >= 0) {
      const int32_t a = first_of(first, tree_a[i]), b = first_of(first, tree_b[i]);
      first[a > b ? a : b] = a > b ? b : a;
      ++between;
    }
  }
  return between;
}

int sap_joined_trees_find(struct sap_joined_trees *joined, const sap_problem *problem,
                          const sap_sizes *sizes, const sap_allocator *allocator) {
  const int32_t n = joined->n_trees = problem->n_trees;
  int32_t between = 0;
  if (!sap_block_carve(&joined->block, carve_trees, joined, allocator)) {
    return 0;
  }
  for (int32_t t = 0; t < n; ++t) {
    joined->first[t] = t;
  }
  if (problem->n_contacts > 0) {
    between += join(joined->first, problem->n_contacts, problem->tree_a, problem->tree_b);
  }
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    between += join(joined->first, group->n, group->tree_a, group->tree_b);
  }
  joined->any = between > 0;
  joined->widest = 0;
  for (int32_t t = 0; t < n; ++t) {
    /* first[t] <= t is final where its own is */
    const int32_t first = joined->first[t] = joined->first[joined->first[t]];
    joined->offset[t] = first < t ? joined->size[first] : 0;
    joined->size[t] = 0;
    joined->size[first] += problem->tree_nv[t];
    if (joined->size[first] > joined->widest) {
      joined->widest = joined->size[first];
    }
  }
  const int64_t of_contacts = problem->n_contacts + (problem->spin ? problem->spin->n : 0);
  joined->n_rows = joined->any ? sizes->n_rows + 3 * of_contacts : 0;
  joined->used = 0;
  return 1;
}

void sap_joined_trees_carve(struct sap_joined_trees *joined, struct sap_arena *arena) {
  const size_t n = joined->any ? (size_t)joined->widest : 0;
  joined->J = sap_arena_take(arena, (size_t)joined->n_rows * n, sizeof(double));
  joined->A = sap_arena_take(arena, n * n, sizeof(double));
  joined->S = sap_arena_take(arena, n * n, sizeof(double));
  joined->strips = sap_arena_take(arena, n, sizeof(uint64_t));
  joined->v_star = sap_arena_take(arena, n, sizeof(double));
  joined->v = sap_arena_take(arena, n, sizeof(double));
}

/* ---- numbers --------------------------------------------------------------------------------- */

const double *sap_joined_trees_rows(struct sap_joined_trees *joined, const int32_t *tree_nv,
                                    int32_t a, int32_t b, int32_t n_rows, const double **J) {
  const int32_t n = joined->size[joined->first[a]], trees[2] = {a, b};
  const double *given = *J;
  if (n == tree_nv[a]) {
    *J += (int64_t)n_rows * n;
    return given;
  }
  double *rows = joined->J + joined->used;
  joined->used += (int64_t)n_rows * n;
  memset(rows, 0, (size_t)n_rows * (size_t)n * sizeof *rows);
  for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
    const int32_t n_t = tree_nv[trees[side]];
    double *to = rows + joined->offset[trees[side]];
    for (int32_t r = 0; r < n_rows; ++r, given += n_t) {
      memcpy(to + (int64_t)r * n, given, (size_t)n_t * sizeof *to);
    }
  }
  *J = given;
  return rows;
}

/* a block (n_t, n_t) on the diagonal of (n, n), at column `offset` */
static void put_block(const double *block, int32_t n_t, int32_t offset, int32_t n, double *to) {
  to += (int64_t)offset * (n + 1);
  for (int32_t j = 0; j < n_t; ++j) {
    memcpy(to + (int64_t)j * n, block + (int64_t)j * n_t, (size_t)n_t * sizeof *to);
  }
}

void sap_joined_trees_gather(const struct sap_joined_trees *joined, const sap_problem *problem,
                             const struct sap_masses *masses, const double *guess, int32_t t) {
  const int32_t n = joined->size[t];
  const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
  memset(joined->A, 0, bytes);
  memset(joined->S, 0, bytes);
  for (int32_t k = t; k < joined->n_trees; ++k) {
    if (joined->first[k] == t) {
      const int32_t n_k = problem->tree_nv[k], offset = joined->offset[k];
      const int64_t v = masses->tree_v[k], block = masses->tree_A[k];
      put_block(problem->A + block, n_k, offset, n, joined->A);
      put_block(masses->S + block, n_k, offset, n, joined->S);
      sap_branches_list(n, offset, offset + n_k, problem->parent ? problem->parent + v : NULL,
                        joined->strips);
      memcpy(joined->v_star + offset, problem->v_star + v, (size_t)n_k * sizeof(double));
      memcpy(joined->v + offset, guess + v, (size_t)n_k * sizeof(double));
    }
  }
  sap_branches_merge(n, joined->strips);
}

void sap_joined_trees_scatter(const struct sap_joined_trees *joined, const sap_problem *problem,
                              const struct sap_masses *masses, int32_t t, double *v) {
  for (int32_t k = t; k < joined->n_trees; ++k) {
    if (joined->first[k] == t) {
      memcpy(v + masses->tree_v[k], joined->v + joined->offset[k],
             (size_t)problem->tree_nv[k] * sizeof(double));
    }
  }
}
