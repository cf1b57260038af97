/* Solves an island with Coulomb's friction: the disk law (disk.h) with b = mu gamma_n at the
 * solution.
 *
 * With the impulses gamma(v) of the disk law, at bounds that follow from v, it solves
 *
 *     r(v) = A (v - v*) - J^T gamma(v) = 0
 *
 * by a semismooth Newton method. There is no cost: where a contact slides, friction depends on the
 * normal velocity and not the other way round, so that the matrix A + J^T (G + U) J of
 * unsymmetric_direction.h is not symmetric. Contacts whose slip the last step reversed stick in the
 * next system (reversals.h). Where the full step is not the solution, contacts in dispute are
 * solved exactly beside it (disputes.h), and the step is the one of the least |D r|. It is taken
 * even where |D r| rises: near an iterate where one contact has no solution beside the others,
 * those have to change too, and |D r| rises before it falls. After three iterations that do not
 * lower |D r| by a tenth, the step is the last one with contacts in dispute. After eight, if the
 * search alternates between two iterates, or if a step is not finite, one convex solve with fixed
 * bounds follows: a step of the fixed point b = mu gamma_n(b). If five iterations from its result
 * bring nothing, the next such step follows from there, and so on: where |D r| has a least value
 * that is not 0, Newton's steps circle around it, and the fixed point leads away from it, slowly at
 * first.
 *
 * The first step is the full step of Newton's stick start (newton.c), unless the guess is fair.
 * Where contacts stick, all laws of friction agree, and the prediction of friction there improves
 * the next direction. Small components come here only if their Delassus problem (dense.h) fails.
 * Only the velocity passes from one solve to the next. e_c is |D r| over the scale of (20), and
 * (20) is the criterion. If it is not met, the iterate with the least e_c is the result.
 *
 * A solution exists. The minimiser v(b) with fixed bounds b depends on them continuously, and since
 * l_t <= R_t |y_t|^2/2 for every b, its cost is bounded, and with it gamma_n. So
 * b -> mu gamma_n(v(b)) maps a box into itself, and has a fixed point (Brouwer). With R -> 0
 * gamma_n may grow without bound: the rigid problem may have no solution (Painleve). There may be
 * several solutions, and no proof of convergence is known. The certificate proves that the result
 * solves the convex problem with its bounds fixed, see certificate.h. */
#ifndef SAPWOOD_SOLVER_COULOMB_COULOMB_H
#define SAPWOOD_SOLVER_COULOMB_COULOMB_H

#include "solver/newton/newton.h"

/* Starts from w->v and leaves the result there, as sap_newton(). */
struct sap_newton_result sap_coulomb(struct sap_workspace *w, const struct sap_island *island,
                                     const sap_settings *settings);

#endif
