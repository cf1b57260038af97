/* Random groups of every kind beside contacts, for the C tests. */
#ifndef SAPWOOD_TESTS_GROUPS_H
#define SAPWOOD_TESTS_GROUPS_H

#include <math.h>

#include "scene.h"

enum { GROUPS = 6, MOST_CONSTRAINTS = 12, MOST_ROWS = 6 * MOST_CONSTRAINTS };

/* There is one group of each kind, a second one of bilaterals, and an empty one. */
static const sap_kind kinds[GROUPS] = {SAP_LIMIT,        SAP_BILATERAL, SAP_CONTROLLER,
                                       SAP_DRY_FRICTION, SAP_BILATERAL, SAP_LIMIT};

struct group {
  int32_t size[MOST_CONSTRAINTS], tree_a[MOST_CONSTRAINTS], tree_b[MOST_CONSTRAINTS];
  double J[MOST_ROWS * 2 * SCENE_MOST_NV];
  double R[MOST_ROWS], v_hat[MOST_ROWS], lower[MOST_ROWS], upper[MOST_ROWS];
  int32_t n_rows;
};

static struct scene scene;
static struct group group[GROUPS];
static sap_constraints constraints[GROUPS];

static inline void bounds_of(sap_kind kind, double *lower, double *upper, uint64_t *seed) {
  const double bound = check_random(seed, 0, 1);
  *upper = kind == SAP_LIMIT ? INFINITY : bound;
  *lower = kind == SAP_LIMIT ? 0 : -bound;
  if (kind == SAP_BILATERAL && check_random(seed, 0, 1) < 0.7) {
    *lower = -INFINITY;
    *upper = INFINITY;
  } else if (kind == SAP_BILATERAL && check_random(seed, 0, 1) < 0.5) {
    /* a cable under tension, or a row that cannot change at all */
    *lower = check_random(seed, 0, 1) < 0.3 ? bound : 0.5 * bound;
  }
}

static inline void make_group(int32_t g, int32_t n, int32_t n_trees, uint64_t *seed) {
  struct group *to = &group[g];
  double *J = to->J;
  to->n_rows = 0;
  for (int32_t i = 0; i < n; ++i) {
    /* often the same trees as before: rows of several constraints share a triple */
    const int again = i > 0 && check_random(seed, 0, 1) < 0.6;
    to->size[i] = kinds[g] == SAP_BILATERAL ? 1 + (int32_t)(check_random_bits(seed) % 6) : 1;
    to->tree_a[i] =
        again ? to->tree_a[i - 1] : (int32_t)(check_random_bits(seed) % (uint64_t)n_trees);
    to->tree_b[i] = again ? to->tree_b[i - 1]
                          : (int32_t)(check_random_bits(seed) % (uint64_t)(n_trees + 1)) - 1;
    if (to->tree_b[i] == to->tree_a[i]) {
      to->tree_b[i] = -1;
    }
    const int32_t b = to->tree_b[i];
    const int32_t width = scene.tree_nv[to->tree_a[i]] + (b < 0 ? 0 : scene.tree_nv[b]);
    for (int32_t k = 0; k < to->size[i] * width; ++k) {
      *J++ = check_random(seed, -1, 1);
    }
    for (int32_t r = 0; r < to->size[i]; ++r, ++to->n_rows) {
      const int32_t row = to->n_rows;
      to->R[row] = pow(10, check_random(seed, -4, 0));
      to->v_hat[row] = check_random(seed, -1, 1);
      bounds_of(kinds[g], &to->lower[row], &to->upper[row], seed);
    }
  }
  constraints[g] =
      (sap_constraints){kinds[g],   n,          kinds[g] == SAP_BILATERAL ? to->size : NULL,
                        to->tree_a, to->tree_b, to->J,
                        to->R,      to->v_hat,  to->lower,
                        to->upper,  NULL};
}

static inline void make_groups(int32_t n_trees, int32_t n_contacts, int32_t n, uint64_t *seed) {
  scene_make(&scene, n_trees, n_contacts, seed);
  for (int32_t g = 0; g < GROUPS; ++g) {
    make_group(g, g == GROUPS - 1 ? 0 : n, n_trees, seed);
  }
  scene.problem.n_groups = GROUPS;
  scene.problem.groups = constraints;
  REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
}

#endif
