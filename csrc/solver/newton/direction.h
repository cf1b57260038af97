/* Computes directions of descent: Newton's, with three changes that save iterations.
 *
 * Primal-dual friction (Chan, Golub and Mulet 1999, for sums of norms). The Hessian of a sliding
 * contact has almost no curvature along its slip direction t, so that a step can drive the slip
 * through zero to the other side, where friction reverses; the line search then cuts the step
 * short. The direction of friction is therefore also an unknown of its own: the law
 * linearized at the full step, however short the step that was taken, gives
 *
 *     gamma' = gamma - G dv_c,   gamma_n' >= 0,   w = gamma_t'/max(mu gamma_n', |gamma_t'|)
 *
 * and at the next iterate the means of both estimates, m = (t + w)/2 and (gamma_n + gamma_n')/2,
 * take the place of t and gamma_n in the curvature of the norm |y_t|:
 *
 *     G_tt = (mu/R_t) [mu_hat/(1+mu_tilde^2) t t^T + (gamma_n + gamma_n')/(2 y_r) (I - m m^T)],
 *
 * where the factor of I - m m^T is at most that of stiction, 1/R_t. As |m| <= 1, G is positive
 * semidefinite and bounded: A <= H <= c A, the direction descends, and the line search makes the
 * method converge. Near the solution w - t and gamma_n' - gamma_n, and with them the change of H,
 * vanish like the step. Below e_m = 0.01 H is Newton's unchanged.
 *
 * A clamped row between finite bounds c - b and c + b, such as the dry friction of a joint, is the
 * same in one dimension: |y - c| in place of the norm, t = sign(y - c), and beyond a bound
 *
 *     G = (1/R) b/|y - c| (1 - m^2),   m = (t + w)/2,   w = (gamma' - c)/max(b, |gamma' - c|)
 *
 * in place of 0. Then a row has curvature in the step after its y changed sides.
 *
 * Primal-dual barriers. Newton's method leaves the wall of a log barrier slowly: the distance to
 * it, 1 - s, at most doubles in a step. The impulse of a contact with a core is therefore an
 * unknown too, as in an interior-point method: with phi' = |gamma'|_R/|gamma_0|_R, from 1 to phi,
 * its G is
 *
 *     G = phi' G_0 + s phi'(s)/(2 l_0) gamma_0 gamma_0^T
 *
 * where one factor of s phi'(s) comes from phi' (rigid_core.h). For an exp barrier the mean of phi'
 * and phi replaces phi'. It lies between the compliant law's and Newton's.
 *
 * Stick start. At an impact most contacts slide at the guess, and the first iterations only undo
 * that. The first direction therefore leads to the minimiser of
 *
 *     1/2 |v - v*|_A^2 + 1/2 sum_{v_hat_n > 0} |J_i v - v_hat_i|^2_{R_i^-1}
 *
 * where all touching contacts stick, phi times as stiff with a core, and clamped rows keep their
 * state at the guess. */
#ifndef SAPWOOD_SOLVER_NEWTON_DIRECTION_H
#define SAPWOOD_SOLVER_NEWTON_DIRECTION_H

#include "solver/newton/objective.h"

/* Chooses the precision of an island's directions. It is single with the setting mixed_precision if
 * there are no barriers and so many velocities that the factorization dominates; H = A + J^T G J is
 * usually well enough conditioned. */
enum sap_precision sap_choose_precision(const struct sap_island *island,
                                        const sap_settings *settings);

/* Both prepare H dv = right side from the last sap_evaluate(): the right side in dv, G in the
 * triples. The stick system replaces G and gamma; Newton's system needs a new sap_evaluate() after
 * it. */
void sap_newton_system(struct sap_workspace *w, const struct sap_island *island);
void sap_stick_system(struct sap_workspace *w, const struct sap_island *island);

/* Computes w and gamma_n' from the G and gamma of the direction, under this law of friction, after
 * sap_line_make(). */
void sap_dual_predict(struct sap_workspace *w, const struct sap_island *island,
                      sap_friction friction);

/* Adds the effect of w and gamma_n' to G, after the next sap_evaluate(). */
void sap_dual_blend(struct sap_workspace *w, const struct sap_island *island,
                    sap_friction friction);

#endif
