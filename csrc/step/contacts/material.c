#include "step/contacts/material.h"

#include <math.h>

#include "step/contacts/listed_contact.h"
#include "step/dissipation_time.h"

int sap_is_listed_pair(const sap_forest *f, int32_t geom1, int32_t geom2) {
  const int64_t key = sap_pair_key(f, geom1, geom2);
  int32_t low = 0, high = f->n_pairs;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (f->pair_key[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < f->n_pairs && f->pair_key[low] == key;
}

/* Adds the core of a geom, if it is reached before that of the pair so far. */
static void add_barrier(const struct sap_forest *f, int32_t geom, double share,
                        struct sap_material *pair) {
  const double delta = f->barrier[geom] != SAP_BARRIER_NONE ? f->delta[geom] / share : INFINITY;
  if (delta < pair->delta) {
    pair->delta = delta;
    pair->barrier = f->barrier[geom];
    pair->barrier_lambda = f->barrier_lambda[geom];
  }
}

/* Returns 1 if mu follows from the geoms: at least one of their materials gives it. */
static int8_t is_given(const struct sap_forest *f, int32_t geom1, int32_t geom2) {
  const int given = !f->friction_given || f->friction_given[geom1] || f->friction_given[geom2];
  return given && !sap_is_listed_pair(f, geom1, geom2);
}

/* Returns the mean of two coefficients by Drake's rule. */
static double harmonic(double a, double b) { return a + b > 0.0 ? 2.0 * a * b / (a + b) : 0.0; }

/* Returns e of a pair without a core. */
static double find_restitution(const struct sap_forest *f, int32_t geom1, int32_t geom2) {
  if (!f->restitution || !isinf(f->stiffness[geom1]) || !isinf(f->stiffness[geom2])) {
    return 0.0;
  }
  return harmonic(f->restitution[geom1], f->restitution[geom2]);
}

struct sap_material sap_material_of_pair(const struct sap_forest *forest, int32_t geom1,
                                         int32_t geom2, double dt) {
  const double tau1 = sap_dissipation_time(forest->dissipation_time[geom1], dt);
  const double tau2 = sap_dissipation_time(forest->dissipation_time[geom2], dt);
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

  pair.friction_given = is_given(forest, geom1, geom2);
  pair.restitution =
      pair.barrier == SAP_BARRIER_NONE ? find_restitution(forest, geom1, geom2) : 0.0;
  pair.mu = harmonic(mu1, mu2);
  pair.mu_static = forest->static_friction
                       ? harmonic(forest->static_friction[geom1], forest->static_friction[geom2])
                       : pair.mu;
  return pair;
}

double sap_material_friction(const struct sap_material *material, double slip) {
  const double s = fmin(slip, 1.0), share = s * s * s * (10.0 - s * (15.0 - 6.0 * s));
  return material->mu + (material->mu_static - material->mu) * (1.0 - share);
}

double sap_friction_of_engine(const double *friction) {
  const double mu = friction[0] == friction[1] ? friction[0] : sqrt(friction[0] * friction[1]);
  return mu <= SAP_LEAST_FRICTION ? 0.0 : mu;
}
