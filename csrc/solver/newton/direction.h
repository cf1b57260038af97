/* Directions of descent: Newton's, and two changes to it that save iterations.
 *
 * Primal-dual friction (Chan, Golub and Mulet 1999, for sums of norms). The Hessian of a sliding
 * contact has almost no curvature along its slip direction t, so that a step can drive the slip
 * through zero and out on the other side, where friction turns round; the line search then cuts the
 * step short. The direction of friction is therefore also followed as an unknown of its own: the
 * law linearized at the full step, however short the step that was taken, gives
 *
 *     gamma' = gamma - G dv_c,   gamma_n' >= 0,   w = gamma_t'/max(mu gamma_n', |gamma_t'|)
 *
 * and at the next iterate the means of both estimates, m = (t + w)/2 and (gamma_n + gamma_n')/2,
 * take the place of t and gamma_n in the curvature of the norm |y_t|:
 *
 *     G_tt = (mu/R_t) [mu_hat/(1+mu_tilde^2) t t^T + (gamma_n + gamma_n')/(2 y_r) (I - m m^T)],
 *
 * the factor of I - m m^T no larger than in stiction, 1/R_t. As |m| <= 1, G is positive
 * semidefinite and bounded: A <= H <= c A, the direction descends, and the line search makes the
 * method converge. Near the solution w - t, gamma_n' - gamma_n and with them the change of H vanish
 * like the step. Below e_m = 0.01 H is Newton's unchanged.
 *
 * A clamped row between finite bounds c - b and c + b, such as the dry friction of a joint, is the
 * same in one dimension: |y - c| in place of the norm, t = sign(y - c), and beyond a bound
 *
 *     G = (1/R) b/|y - c| (1 - m^2),   m = (t + w)/2,   w = (gamma' - c)/max(b, |gamma' - c|)
 *
 * in place of 0. Then a row whose y changed sides in the last step has curvature in the next one.
 *
 * Primal-dual barriers. Newton's method leaves the wall of a log barrier slowly: what is left to
 * it, 1 - s, at most doubles in a step. The impulse of a contact with a core is therefore followed
 * too, as in an interior-point method: with phi' = |gamma'|_R/|gamma_0|_R, from 1 to phi, its G is
 *
 *     G = phi' G_0 + s phi'(s)/(2 l_0) gamma_0 gamma_0^T
 *
 * where one factor of s phi'(s) comes from phi' (rigid_core.h), and of an exp barrier the mean of
 * phi' and phi takes the place of phi'. It lies between the compliant law's and Newton's.
 *
 * Sticking start. At an impact most contacts slide at the guess, and the first iterations are spent
 * unlearning that. The first direction leads to the minimiser of
 *
 *     1/2 |v - v*|_A^2 + 1/2 sum_{v_hat_n > 0} |J_i v - v_hat_i|^2_{R_i^-1}
 *
 * instead: all touching contacts stick, phi times as stiff with a core, and clamped rows stay what
 * they are at the guess. */
#ifndef SAPWOOD_SOLVER_NEWTON_DIRECTION_H
#define SAPWOOD_SOLVER_NEWTON_DIRECTION_H

#include "solver/newton/objective.h"

/* The precision in which the directions of an island are found: single, where mixed precision is
 * set, if there are many velocities, for the factorization counts then, and no barriers. H = A +
 * J^T G J is well enough conditioned as a rule. */
enum sap_precision sap_choose_precision(const struct sap_island *island,
                                        const sap_settings *settings);

/* Both prepare H dv = right side from the last sap_evaluate(): the right side in dv, G in the
 * triples. The sticking system replaces G and gamma, so that Newton's needs a new sap_evaluate()
 * after it. */
void sap_newton_system(struct sap_workspace *w, const struct sap_island *island);
void sap_stick_system(struct sap_workspace *w, const struct sap_island *island);

/* w and gamma_n' from the G and gamma that the direction came from, under this law of friction;
 * after sap_line_make() */
void sap_dual_predict(struct sap_workspace *w, const struct sap_island *island,
                      sap_friction friction);

/* their share in G; after the next sap_evaluate() */
void sap_dual_blend(struct sap_workspace *w, const struct sap_island *island,
                    sap_friction friction);

#endif
