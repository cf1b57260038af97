/* Frictional contact with torsional and rolling friction: the laws of contact.h and disk.h, in
 * whose formulas y_t has five components instead of two.
 *
 * To slip v_t comes the relative angular velocity omega about (n, t1, t2), with the lengths mu_k of
 * sap_spin. Of omega_k mu_k/mu and gamma_k mu/mu_k, a speed and an impulse, both laws are
 * isotropic: their cone is circular, and R_t is that of all five. So with
 *
 *     y_k = -(mu_k/mu) omega_k/R_t,   e = y_t/|y_t|
 *
 * the law of three rows at (|y_t|, 0, y_n), here "radial", says all there is to say:
 *
 *     gamma_t = gamma_1 e,   G_tt = G_11 e e^T + G_22 (I - e e^T),   G_tn = G_1n e
 *
 * with its cost, its gamma_n and its G_nn. Impulses and G of the angular rows themselves take one
 * factor mu_k/mu each: with mu_k = 0 there is no friction about k, and nothing to divide by. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_TORSIONAL_H
#define SAPWOOD_CONSTRAINTS_LAWS_TORSIONAL_H

#include <float.h>

#include "constraints/laws/disk.h"

/* components of y_t: (t1, t2), and those about (n, t1, t2) */
enum { SAP_WIDE = 5 };

/* the law of three rows that is lifted */
struct sap_radial {
  struct sap_contact contact;
  int cone; /* convex friction, else bounded by b */
  double b;
};

struct sap_wide_state {
  struct sap_contact_state radial;
  double y_t[SAP_WIDE];
  double e[SAP_WIDE]; /* 0 where y_t is */
};

/* gamma_k mu/mu_k from gamma_k: 0 where mu_k is, or as good as that */
static inline double sap_wide_unscale(double scale, double gamma) {
  return scale > DBL_MIN ? gamma / scale : 0;
}

/* sum over the components of x y */
static inline double sap_wide_dot(const double x[SAP_WIDE], const double y[SAP_WIDE]) {
  double sum = 0;
  for (int k = 0; k < SAP_WIDE; ++k) {
    sum += x[k] * y[k];
  }
  return sum;
}

static inline struct sap_wide_state sap_wide_at_impulse(const struct sap_radial *law,
                                                        const double y_t[SAP_WIDE], double y_n) {
  const double length = sqrt(sap_wide_dot(y_t, y_t));
  const double inverse = length > 0 ? 1 / length : 0;
  struct sap_wide_state at;
  at.radial = law->cone ? sap_contact_at_impulse(&law->contact, length, 0, y_n)
                        : sap_disk_at_impulse(&law->contact, law->b, length, 0, y_n);
  for (int k = 0; k < SAP_WIDE; ++k) {
    at.y_t[k] = y_t[k];
    at.e[k] = y_t[k] * inverse;
  }
  return at;
}

static inline void sap_wide_impulse(const struct sap_radial *law, const struct sap_wide_state *at,
                                    double gamma_t[SAP_WIDE], double *gamma_n) {
  double gamma[3];
  if (law->cone) {
    sap_contact_impulse(&law->contact, &at->radial, gamma);
  } else {
    sap_disk_impulse(&at->radial, law->b, gamma);
  }
  for (int k = 0; k < SAP_WIDE; ++k) {
    gamma_t[k] = at->radial.sticks ? at->y_t[k] : gamma[0] * at->e[k];
  }
  *gamma_n = gamma[2];
}

static inline double sap_wide_cost(const struct sap_radial *law, const struct sap_wide_state *at) {
  return law->cone ? sap_contact_cost(&law->contact, &at->radial)
                   : sap_disk_cost(&law->contact, &at->radial, law->b);
}

/* cost at b minus cost at a, as sap_contact_cost_difference(): dy_t, dy_n as they were formed */
double sap_wide_cost_difference(const struct sap_radial *law, const struct sap_wide_state *a,
                                const struct sap_wide_state *b, const double dy_t[SAP_WIDE],
                                double dy_n);

/* entries of the radial G */
static inline void sap_wide_hessian(const struct sap_radial *law, const struct sap_wide_state *at,
                                    double G[SAP_G_ENTRIES]) {
  if (law->cone) {
    sap_contact_hessian(&law->contact, &at->radial, G);
  } else {
    sap_disk_hessian(&law->contact, &at->radial, law->b, G);
  }
}

/* w^T G w for a change w of the five speeds and of v_n */
static inline double sap_wide_curvature(const struct sap_radial *law,
                                        const struct sap_wide_state *at, const double w_t[SAP_WIDE],
                                        double w_n) {
  const double along = sap_wide_dot(at->e, w_t);
  const double across2 = sap_wide_dot(w_t, w_t) - along * along;
  const double across = sqrt(across2 > 0 ? across2 : 0);
  return law->cone ? sap_contact_curvature(&law->contact, &at->radial, along, across, w_n)
                   : sap_disk_curvature(&law->contact, &at->radial, law->b, along, across, w_n);
}

#endif
