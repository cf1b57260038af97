/* Proves the accuracy of a result. l_p is strongly convex, H >= A, so with g = grad l_p(v)
 *
 *     |v - v_min|_A <= |g|_{A^-1},    l(v) - l_min <= 1/2 |g|^2_{A^-1}
 *
 * for the gradient in exact arithmetic. The computed one differs from it by at most e, a bound on
 * its rounding errors to first order in the round-off u; |g + d|_{A^-1} <= |S g| + | |S| e | for
 * every |d| <= e, with S^T S = A^-1. Both norms are summed over the trees of an island first.
 *
 * A (v - v*) adds its part to e entry by entry. A row of J v is wrong by d <= n u |J| |v|. If v_c
 * and v are the sums of k steps from v_0, each step rounds them twice, and v_c is wrong by
 *
 *     d <= (n + 2 k) u |J| r,    r = |v_0| + sum |alpha dv|
 *
 * instead, with which (20) is checked as long as |D e| stays below a hundredth of its right side;
 * A (v - v*) is always computed from the returned v. gamma is wrong by |dgamma|_R <=
 * |d|_{R^-1}, since the projection does not expand in the norm of R (round_off.c; other laws bound
 * theirs). J^T gamma is then wrong by |J|^T |dgamma|, entry by entry. A cheaper bound holds for
 * patches of contacts of three rows without core between whole trees of up to 8 velocities: with
 * p_t and p_n the largest |J_1| + |J_2| and |J_n| of the patch, column by column,
 *
 *     d_t = (n + 2 k) u p_t^T r                 d_n = (n + 2 k) u p_n^T r
 *     |dgamma_t| <= d_t/R_t + d_n/sqrt(R_t R_n)    |dgamma_n| <= d_n/R_n + d_t/sqrt(R_t R_n)
 *     e += p_t sum |dgamma_t| + p_n sum |dgamma_n|
 *
 * does not read J, for p is found while J is packed. This e is 1.9 times as large in geometric
 * mean over the reference problems of free bodies, and at most 4 times.
 *
 * S comes from the computed factor of A. It is exact for diagonal blocks; otherwise the bound holds
 * up to a share of about n u cond(A) (A scaled to a unit diagonal), 1e-5 at a condition of
 * 1e12. */
#ifndef SAPWOOD_SOLVER_CERTIFICATE_CERTIFICATE_H
#define SAPWOOD_SOLVER_CERTIFICATE_CERTIFICATE_H

#include "solver/plan/workspace.h"

/* Writes `error`, a bound on the rounding errors of the last gradient, without the part of A off
 * its diagonal. Returns |D error|. Uses pool.dv_c as scratch. */
double sap_bound_error(struct sap_workspace *w, const struct sap_island *island);

/* Returns the square of the bound on |v - v_min|_A of one island, J, at the last evaluated v. Adds
 * the part of A off its diagonal to `error`. Infinite if the plan leaves bounds out, like the next
 * one. */
double sap_certificate(struct sap_workspace *w, const struct sap_island *island);

/* Returns the numerator of (25): the sum over contacts of |g_i . gamma_i|, g = v_c - v_hat + R
 * gamma. A clamped row adds |g| times the distance of gamma from its bounds, or from 0. */
double sap_complementarity(const struct sap_workspace *w, const struct sap_island *island);

#endif
