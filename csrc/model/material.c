#include "model/material.h"

#include <math.h>

/* position of `key` in the sorted pair_key, or -1 */
static int32_t find_pair(const struct sap_forest *f, int64_t key) {
  int32_t low = 0, high = f->n_pairs;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (f->pair_key[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < f->n_pairs && f->pair_key[low] == key ? low : -1;
}

/* the core of a geom, where it is reached before that of the pair so far */
static void add_barrier(const struct sap_forest *f, int32_t geom, double share,
                        struct sap_material *pair) {
  const double delta = f->barrier[geom] != SAP_BARRIER_NONE ? f->delta[geom] / share : INFINITY;
  if (delta < pair->delta) {
    pair->delta = delta;
    pair->barrier = f->barrier[geom];
    pair->barrier_lambda = f->barrier_lambda[geom];
  }
}

struct sap_material sap_material_of_pair(const struct sap_forest *forest, int32_t geom1,
                                         int32_t geom2) {
  const double tau1 = forest->dissipation_time[geom1], tau2 = forest->dissipation_time[geom2];
  const double mu1 = forest->friction[geom1], mu2 = forest->friction[geom2];
  struct sap_material pair;

  /* springs in series: compliances add, and each weighs its own dissipation time */
  const double c1 = 1.0 / forest->stiffness[geom1], c2 = 1.0 / forest->stiffness[geom2];
  const double share = c1 + c2 > 0.0 ? c1 / (c1 + c2) : 0.5;
  pair.k = 1.0 / (c1 + c2);
  pair.tau_d = share * tau1 + (1.0 - share) * tau2;
  pair.delta = INFINITY;
  pair.barrier = SAP_BARRIER_NONE;
  pair.barrier_lambda = 1.0;
  if (forest->barrier) {
    add_barrier(forest, geom1, share, &pair);
    add_barrier(forest, geom2, c1 + c2 > 0.0 ? c2 / (c1 + c2) : 0.5, &pair);
  }

  /* friction of the pair where the model gives one, else of the two geoms */
  const int32_t p =
      forest->n_pairs > 0 ? find_pair(forest, sap_pair_key(forest, geom1, geom2)) : -1;
  if (p >= 0) {
    pair.mu = forest->pair_friction[p];
  } else {
    pair.mu = mu1 + mu2 > 0.0 ? 2.0 * mu1 * mu2 / (mu1 + mu2) : 0.0;
  }
  return pair;
}
