/* This module finds the load of a contact and stiffens near-rigid contacts under large loads.
 *
 * The inverse mass w of its lighter side sets the softness of a near-rigid contact (section IX-A):
 * R_nr = beta^2 w/(4 pi^2). Under a load of many times the weight of the carried body it would
 * yield by more than the size of the body. The free motion presses a contact i with
 *
 *     P_i = max over its sides s of max(0, -a_s/w_s)     N s
 *     a_s = J_n,s dv     w_s = max(|W_s|_F/3, w_body,s/2)
 *
 * where dv is the change of the velocity in the step by all forces except those of constraints. An
 * island, the trees that closed contacts join, has the largest load P of its closed contacts: a
 * body under a load bears it, wherever it is applied. An open contact uses the larger of its own
 * P_i and of the islands that it would join. With the speed V_1
 *
 *     x = R_nr P/V_1     R_n = R_nr where x <= 1, and R_nr x^(e - 1) beyond, e = 1/50
 *
 * so that at rest under P it is V_1 (dt + tau_d) min(x, x^e) deep: the depth grows with the load,
 * and hardly any more for x > 1. P is known ahead of the solve: it acts in the step in which a load
 * arrives. A small V_1 makes more contacts stiffer than others, which costs iterations with
 * Coulomb's law (`python -m benchmarks piles`, mass ratio 100); a large one lets light bodies sink
 * in (`sapwood closed-forms`).
 *
 * An impact presses its own contact with the impulse that stops the free motion v* at the end of
 * the gap:
 *
 *     P_n = max(0, min(0, v_hat_n) - J_n v*)/w
 *
 * R_n uses the larger one of P and P_n: the rest of the approach after the impact is V_1 x^e, so
 * that a bullet does not pass through a thin wall. P_n makes contacts stiffer from an approach of
 * 4 pi^2 V_1/beta^2 on.
 *
 * Half of the inverse mass w_body of the body itself is the lower limit of w_s: near a centre of
 * rotation |W_s|_F goes to zero, and P_i would grow without a load. Loads that reach a tree through
 * constraints are not in dv. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_LOADS_H
#define SAPWOOD_PROBLEM_REGULARIZATION_LOADS_H

#include <math.h>

#include "sapwood.h"

/* Returns the load of one side that approaches with `approach` = -a_s. */
static inline double sap_side_load(double approach, double w, double w_body) {
  const double w_s = fmax(w, w_body / 2);
  return approach > 0 && w_s > 0 ? approach / w_s : 0;
}

/* Returns the load P_n of an impact, where the free motion approaches with `approach` = -J_n v*. */
static inline double sap_impact_load(double v_hat_n, double approach, double w) {
  return fmax(0, fmin(0, v_hat_n) + approach) / w;
}

static const double sap_load_exponent = 0.02; /* e */

/* Returns R_n of a near-rigid contact under a load. */
static inline double sap_loaded_R(double R_nr, double load, double speed) {
  const double x = R_nr * load / speed;
  return x > 1 && isfinite(x) ? R_nr * pow(x, sap_load_exponent - 1) : R_nr;
}

/* Replaces P_i (n_contacts) by P; `island` and `most` are scratch (n_trees). */
void sap_spread_loads(const sap_problem *problem, const double *phi0, int32_t *island, double *most,
                      double *load);

#endif
