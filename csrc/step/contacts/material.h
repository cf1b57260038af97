/* Contact material of a pair of geoms from the materials of the two.
 *
 *     k     = k1 k2/(k1 + k2)                                springs in series
 *     tau_d = k2/(k1 + k2) tau1 + k1/(k1 + k2) tau2          weighted by compliance
 *     e     = 2 e1 e2/(e1 + e2)                              for two rigid geoms, else 0
 *     mu    = 2 mu1 mu2/(mu1 + mu2)                          where a material gives mu1 or mu2
 *             that of the engine's contact                   else, and for pairs that are listed
 *     mu_s  = 2 mu_s1 mu_s2/(mu_s1 + mu_s2)                  of contacts that stick, likewise
 *
 * Each geom takes a share of the overlap by its compliance: share_1 = k2/(k1 + k2), or half of it
 * if both are rigid. The core of geom i is reached at the depth delta_i/share_i, and the pair has
 * the core that is reached first.
 *
 * A rigid geom (k infinite) leaves k and tau_d to the other one; for two rigid geoms k is infinite
 * and tau_d the mean. mu = 0 on one side makes the pair frictionless.
 *
 * A contact that slips with |v_t| in the state before the step has the coefficient
 *
 *     mu_d + (mu_s - mu_d) (1 - h(|v_t|/V))     h(s) = s^3 (10 - 15 s + 6 s^2), 1 for s > 1
 *
 * with the stiction speed V: of the velocity before the step, so that the law of friction stays
 * convex or Coulomb's, and a smooth function of it. (The regularised Stribeck effect of CENIC.)
 *
 * The engine combines its own coefficients in its own way. If they differ along t1 and t2, mu is
 * sqrt(mu_t1 mu_t2): the circle has the area of the ellipse. */
#ifndef SAPWOOD_STEP_CONTACTS_MATERIAL_H
#define SAPWOOD_STEP_CONTACTS_MATERIAL_H

#include "sapwood.h"

struct sap_material {
  double k;              /* N/m */
  double tau_d;          /* s */
  double mu;             /* mu_d, read if friction_given */
  double mu_static;      /* mu_s >= mu, likewise */
  double restitution;    /* e: 0 if either geom is compliant or has a core */
  double delta;          /* m, INFINITY without a core */
  double barrier_lambda; /* 1 without a core */
  int8_t barrier;        /* sap_barrier */
  int8_t friction_given; /* 0: mu is that of the engine's contact */
};

/* Returns the material in a step of length dt. */
struct sap_material sap_material_of_pair(const struct sap_forest *forest, int32_t geom1,
                                         int32_t geom2, double dt);

/* Returns the coefficient of friction of a pair whose materials give it, at a slip speed over V. */
double sap_material_friction(const struct sap_material *material, double slip);

/* Returns 1 if the two geoms are a pair of pair_key. */
int sap_is_listed_pair(const sap_forest *forest, int32_t geom1, int32_t geom2);

/* Returns mu of the engine's contact, from its friction (2). */
double sap_friction_of_engine(const double *friction);

#endif
