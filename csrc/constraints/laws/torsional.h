/* This module is the law of contact with torsional and rolling friction. The formulas of contact.h
 * and disk.h hold with five components of y_t instead of two.
 *
 * The relative angular velocity omega about (n, t1, t2) joins the slip v_t, with the lengths mu_k
 * of sap_spin. In omega_k mu_k/mu and gamma_k mu/mu_k, a speed and an impulse, both laws are
 * isotropic: their cone is circular, and all five components have the same R_t. So with
 *
 *     y_k = -(mu_k/mu) omega_k/R_t,   e = y_t/|y_t|
 *
 * the law of three rows at (|y_t|, 0, y_n), called "radial" here, determines everything:
 *
 *     gamma_t = gamma_1 e,   G_tt = G_11 e e^T + G_22 (I - e e^T),   G_tn = G_1n e
 *
 * with its cost, its gamma_n and its G_nn. Impulses and G of the angular rows themselves have one
 * factor mu_k/mu each: with mu_k = 0 there is no friction about k, and no division. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_TORSIONAL_H
#define SAPWOOD_CONSTRAINTS_LAWS_TORSIONAL_H

#include <float.h>

#include "constraints/laws/disk.h"

/* number of components of y_t: (t1, t2), and the rotations about (n, t1, t2) */
enum { SAP_TORSIONAL = 5 };

/* The law of three rows that is lifted to five components. */
struct sap_radial {
  struct sap_contact contact;
  int cone; /* 1 for convex friction, 0 for friction bounded by b */
  double b;
};

struct sap_torsional_state {
  struct sap_contact_state radial;
  double y_t[SAP_TORSIONAL];
  double e[SAP_TORSIONAL]; /* direction of y_t, 0 where y_t is 0 */
};

/* Returns gamma_k mu/mu_k from gamma_k: 0 if mu_k is 0 or nearly so. */
static inline double sap_torsional_unscale(double scale, double gamma) {
  return scale > DBL_MIN ? gamma / scale : 0;
}

/* Returns the sum of x y over the components. */
static inline double sap_torsional_dot(const double x[SAP_TORSIONAL],
                                       const double y[SAP_TORSIONAL]) {
  double sum = 0;
  for (int k = 0; k < SAP_TORSIONAL; ++k) {
    sum += x[k] * y[k];
  }
  return sum;
}

static inline struct sap_torsional_state sap_torsional_at_impulse(const struct sap_radial *law,
                                                                  const double y_t[SAP_TORSIONAL],
                                                                  double y_n) {
  const double length = sqrt(sap_torsional_dot(y_t, y_t));
  const double inverse = length > 0 ? 1 / length : 0;
  struct sap_torsional_state at;
  at.radial = law->cone ? sap_contact_at_impulse(&law->contact, length, 0, y_n)
                        : sap_disk_at_impulse(&law->contact, law->b, length, 0, y_n);
  for (int k = 0; k < SAP_TORSIONAL; ++k) {
    at.y_t[k] = y_t[k];
    at.e[k] = y_t[k] * inverse;
  }
  return at;
}

static inline void sap_torsional_impulse(const struct sap_radial *law,
                                         const struct sap_torsional_state *at,
                                         double gamma_t[SAP_TORSIONAL], double *gamma_n) {
  double gamma[3];
  if (law->cone) {
    sap_contact_impulse(&law->contact, &at->radial, gamma);
  } else {
    sap_disk_impulse(&at->radial, law->b, gamma);
  }
  for (int k = 0; k < SAP_TORSIONAL; ++k) {
    gamma_t[k] = at->radial.sticks ? at->y_t[k] : gamma[0] * at->e[k];
  }
  *gamma_n = gamma[2];
}

static inline double sap_torsional_cost(const struct sap_radial *law,
                                        const struct sap_torsional_state *at) {
  return law->cone ? sap_contact_cost(&law->contact, &at->radial)
                   : sap_disk_cost(&law->contact, &at->radial, law->b);
}

/* Returns the cost at b minus the cost at a, as sap_contact_cost_difference() does, from dy_t and
 * dy_n as they were formed. */
double sap_torsional_cost_difference(const struct sap_radial *law,
                                     const struct sap_torsional_state *a,
                                     const struct sap_torsional_state *b,
                                     const double dy_t[SAP_TORSIONAL], double dy_n);

/* Writes the entries of the radial G. */
static inline void sap_torsional_hessian(const struct sap_radial *law,
                                         const struct sap_torsional_state *at,
                                         double G[SAP_G_ENTRIES]) {
  if (law->cone) {
    sap_contact_hessian(&law->contact, &at->radial, G);
  } else {
    sap_disk_hessian(&law->contact, &at->radial, law->b, G);
  }
}

/* Returns w^T G w for a change w of the five speeds and of v_n. */
static inline double sap_torsional_curvature(const struct sap_radial *law,
                                             const struct sap_torsional_state *at,
                                             const double w_t[SAP_TORSIONAL], double w_n) {
  const double along = sap_torsional_dot(at->e, w_t);
  const double across2 = sap_torsional_dot(w_t, w_t) - along * along;
  const double across = sqrt(across2 > 0 ? across2 : 0);
  return law->cone ? sap_contact_curvature(&law->contact, &at->radial, along, across, w_n)
                   : sap_disk_curvature(&law->contact, &at->radial, law->b, along, across, w_n);
}

#endif
