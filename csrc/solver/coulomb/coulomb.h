/* Coulomb's friction: b = mu gamma_n of the disk law (disk.h) at the velocity that is looked for.
 *
 * With the impulses gamma(v) of the disk law whose bounds follow from v, solves
 *
 *     r(v) = A (v - v*) - J^T gamma(v) = 0
 *
 * by a semismooth Newton method. There is no cost: where a contact slides, friction depends on
 * the normal velocity and not the other way round, and the matrix H + J^T U J of krylov.h is
 * not symmetric. The full step is taken where |D r| falls; else the step goes to the minimum,
 * along the same direction, of the convex cost with the bounds held at those of the iterate. So
 * far from the solution costs are compared, which stiff contacts that come and go do not upset
 * as they do gradients; near to it the steps are full, and converge fast. Where eight
 * iterations do not lower |D r| by a tenth, or dv leads up, the bounds are held for one convex
 * solve: a step of the fixed point b = mu gamma_n(b), and on from there; after eight that bring
 * nothing, once, from the minimiser with convex friction.
 *
 * The first step is the whole of Newton's sticking start (newton.c), unless the guess is close
 * already, or fair and that leads away: where contacts stick all laws of friction are one, and what
 * is predicted of friction there turns the next direction. Small components come here only where
 * the Delassus problem of their impulses (dense.h) leads nowhere. Nothing but
 * the velocity is remembered from one solve to the next. |D r| over the scale of (20) is e_c, and
 * (20) the criterion; short of it the iterate with the least e_c is the result.
 *
 * A solution exists. The minimiser v(b) with bounds b held follows them continuously, and since
 * l_t <= R_t |y_t|^2/2 for every b, its cost is bounded, and with it gamma_n: b -> mu
 * gamma_n(v(b)) takes a box into itself, and has a fixed point (Brouwer). With R -> 0 gamma_n
 * may grow without bound: the rigid problem may have no solution (Painleve). There may be
 * several, and nothing is proved of the approach to one of them. What is proved of the result
 * is that it solves the convex problem with its bounds held, see certificate.h. */
#ifndef SAPWOOD_SOLVER_COULOMB_COULOMB_H
#define SAPWOOD_SOLVER_COULOMB_COULOMB_H

#include "solver/newton/newton.h"

/* as sap_newton() */
struct sap_newton_result sap_coulomb(struct sap_workspace *w, const struct sap_island *island,
                                     const sap_settings *settings);

#endif
