#include "solver/dense/joined_trees.h"

#include <string.h>

#include "problem/graph/branches.h"

void sap_joined_trees_carve(struct sap_joined_trees *joined, struct sap_arena *arena,
                            const struct sap_component_counts *counts) {
  const size_t n = counts->n_joined_rows > 0 ? (size_t)counts->widest : 0;
  joined->J = sap_arena_take(arena, (size_t)counts->n_joined_rows * n, sizeof(double));
  joined->A = sap_arena_take(arena, n * n, sizeof(double));
  joined->S = sap_arena_take(arena, n * n, sizeof(double));
  joined->strips = sap_arena_take(arena, n, sizeof(uint64_t));
  joined->v_star = sap_arena_take(arena, n, sizeof(double));
  joined->v = sap_arena_take(arena, n, sizeof(double));
}

const double *sap_joined_trees_rows(struct sap_joined_trees *joined, const int32_t *tree_nv,
                                    int32_t a, int32_t b, int32_t n_rows, const double **J) {
  const struct sap_components *c = joined->components;
  const int32_t n = c->size[c->first[a]], trees[2] = {a, b};
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
    double *to = rows + c->offset[trees[side]];
    for (int32_t r = 0; r < n_rows; ++r, given += n_t) {
      memcpy(to + (int64_t)r * n, given, (size_t)n_t * sizeof *to);
    }
  }
  *J = given;
  return rows;
}

/* Copies a block (n_t, n_t) to the diagonal of (n, n), at column `offset`. */
static void put_block(const double *block, int32_t n_t, int32_t offset, int32_t n, double *to) {
  to += (int64_t)offset * (n + 1);
  for (int32_t j = 0; j < n_t; ++j) {
    memcpy(to + (int64_t)j * n, block + (int64_t)j * n_t, (size_t)n_t * sizeof *to);
  }
}

void sap_joined_trees_gather(const struct sap_joined_trees *joined, const sap_problem *problem,
                             const struct sap_masses *masses, const double *guess, int32_t t) {
  const struct sap_components *c = joined->components;
  const int32_t n = c->size[t];
  const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
  memset(joined->A, 0, bytes);
  memset(joined->S, 0, bytes);
  for (int32_t k = t, found = 0; found < n; ++k) {
    if (c->first[k] == t) {
      const int32_t n_k = problem->tree_nv[k], offset = c->offset[k];
      found += n_k;
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
  const struct sap_components *c = joined->components;
  for (int32_t k = t, found = 0; found < c->size[t]; ++k) {
    if (c->first[k] == t) {
      found += problem->tree_nv[k];
      memcpy(v + masses->tree_v[k], joined->v + c->offset[k],
             (size_t)problem->tree_nv[k] * sizeof(double));
    }
  }
}
