#include "problem/regularization/loads.h"

/* the tree that stands for the island of a tree; shortens the way to it */
static int32_t find_island(int32_t *island, int32_t tree) {
  while (island[tree] != tree) {
    island[tree] = island[island[tree]];
    tree = island[tree];
  }
  return tree;
}

void sap_spread_loads(const sap_problem *problem, const double *phi0, int32_t *island, double *most,
                      double *load) {
  const int32_t *tree_a = problem->tree_a, *tree_b = problem->tree_b, n = problem->n_contacts;
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    island[t] = t;
    most[t] = 0;
  }
  for (int32_t i = 0; i < n; ++i) {
    if (phi0[i] <= 0 && tree_b[i] >= 0) {
      island[find_island(island, tree_b[i])] = find_island(island, tree_a[i]);
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    if (phi0[i] <= 0) {
      double *of_island = most + find_island(island, tree_a[i]);
      *of_island = fmax(*of_island, load[i]);
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    load[i] = fmax(load[i], most[find_island(island, tree_a[i])]);
    if (tree_b[i] >= 0) {
      load[i] = fmax(load[i], most[find_island(island, tree_b[i])]);
    }
  }
}
