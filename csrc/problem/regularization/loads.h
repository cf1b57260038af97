/* The load that a contact carries, and how stiff it is for that.
 *
 * A near-rigid contact (section IX-A) is as soft as the inverse mass w of its lighter side says:
 * R_nr = beta^2 w/(4 pi^2). Under a load of many times the weight of what it carries it would yield
 * by more than the size of that. The free motion presses a contact i with
 *
 *     P_i = max over its sides s of max(0, -a_s/w_s)     N s
 *     a_s = J_n,s dv     w_s = max(|W_s|_F/3, w_body,s/2)
 *
 * where dv is the change of the velocity in the step by all forces but those of constraints. An
 * island, the trees that closed contacts join, has the largest load P of its closed contacts:
 * what lies under a load bears it, wherever it is applied. A contact that is open takes the
 * larger of its own P_i and of the islands that it would join. With the speed V_1
 *
 *     x = R_nr P/V_1     R_n = R_nr where x <= 1, and R_nr x^(e - 1) beyond, e = 1/50
 *
 * so that at rest under P it is V_1 (dt + tau_d) min(x, x^e) deep: the depth grows with the load,
 * and hardly any more where x > 1. P is known before the solve: it acts in the step in which a load
 * arrives. A small V_1 makes more contacts stiffer than others, which Coulomb's law pays with
 * iterations (`python -m benchmarks piles`, mass ratio 100), a large one lets light bodies sink in
 * (`sapwood closed-forms`).
 *
 * Half of the inverse mass w_body of the body itself is the least of w_s: near a centre of rotation
 * |W_s|_F goes to zero, and a load would be made out of nothing. Loads that reach a tree through
 * constraints are not in dv. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_LOADS_H
#define SAPWOOD_PROBLEM_REGULARIZATION_LOADS_H

#include <math.h>

#include "sapwood.h"

/* the load of one side that approaches with `approach` = -a_s */
static inline double sap_side_load(double approach, double w, double w_body) {
  const double w_s = fmax(w, w_body / 2);
  return approach > 0 && w_s > 0 ? approach / w_s : 0;
}

static const double sap_load_exponent = 0.02; /* e */

/* R_n of a near-rigid contact under a load */
static inline double sap_loaded_R(double R_nr, double load, double speed) {
  const double x = R_nr * load / speed;
  return x > 1 && isfinite(x) ? R_nr * pow(x, sap_load_exponent - 1) : R_nr;
}

/* Replaces P_i (n_contacts) by P; `island` and `most` are room (n_trees). */
void sap_spread_loads(const sap_problem *problem, const double *phi0, int32_t *island, double *most,
                      double *load);

#endif
