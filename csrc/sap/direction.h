/* Directions of descent: Newton's, and two changes to it that save iterations.
 *
 * Turning curvature. The Hessian of a sliding contact has almost no curvature along its slip direction t, so
 * that a step can drive the slip through zero and out on the other side, where friction turns round; the
 * line search then cuts the step short. Where t has just turned, some of the cross-slip curvature is added
 * along t:
 *
 *     G_tt = (mu/R_t) [(mu_hat/(1+mu_tilde^2) + theta gamma_n/y_r) P + (gamma_n/y_r) (I - P)]
 *     theta <- max(0.4 theta, clip(1 - t . t_before, 0, 1))
 *
 * G only grows, so the direction still descends and Appendix F's argument for convergence holds; theta is
 * dropped close to the solution, where Newton converges quadratically.
 *
 * Sticking start. At an impact most contacts slide at the guess, and the first iterations are spent
 * unlearning that. The first direction leads to the minimiser of
 *
 *     1/2 |v - v*|_A^2 + 1/2 sum_{v_hat_n > 0} |J_i v - v_hat_i|^2_{R_i^-1}
 *
 * instead: all touching contacts stick. */
#ifndef SAPWOOD_SAP_DIRECTION_H
#define SAPWOOD_SAP_DIRECTION_H

#include "sap/objective.h"

/* Both prepare H dv = right side from the last sap_evaluate(): the right side in dv, G in the contacts. The
 * sticking system replaces G, so that Newton's needs a new sap_evaluate() after it. */
void sap_newton_system(struct sap_workspace *w, const struct sap_island *island);
void sap_sticking_system(struct sap_workspace *w, const struct sap_island *island);

/* forgets all slip directions */
void sap_turn_reset(struct sap_workspace *w, const struct sap_island *island);

/* Follows the slip directions from one iterate to the next, and with `add` adds the turning curvature to
 * G; after sap_evaluate(). */
void sap_turn_follow(struct sap_workspace *w, const struct sap_island *island, int add);

#endif
