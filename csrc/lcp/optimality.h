/* This module measures how far a point of a quadratic program and multipliers of its rows are from
 * optimal. Each condition is judged by its own data: its residual beyond round-off is divided by
 * the sizes of its constant and of its terms,
 *
 *     (r - R x)_i, where > 0 or an equality   |r_i| + min(sum_j |R_ij x_j|, largest |r|)
 *     |H x + g - R^T l|_j                     |g_j| + min(|H x|_j + |R^T l|_j, largest |g|)
 *     sum_i |l_i (r - R x)_i|                 |x|^T (|g| + |H x| + |R^T l|) + sum_i |r_i l_i|
 *
 * Terms count up to the largest constant of all rows: where there is no solution, x and l of the
 * homogeneous embedding grow without end, and the quotients may not fall with them.
 *
 * Round-off scales with the largest terms. At a solution x = 0 these are next to 0, so the size of
 * x is at least the smallest |r_i| > 0. So neither a distant bound nor a nearly linear cost hides a
 * violated row, and a large x hides no more than a part of the gradient. The terms of the gap are
 * at least the product of the sizes of x and of the gradient.
 */
#ifndef SAPWOOD_LCP_OPTIMALITY_H
#define SAPWOOD_LCP_OPTIMALITY_H

#include "lcp/program.h"

/* Sums have errors below this part of their largest term, in a program with entries about 1. */
static const double qp_round_off = 1e-14;

/* Returns the largest of the three quotients for x (n) and l (n_rows), l >= 0 of inequalities, with
 * H x (n), R^T l (n) and R x (n_rows) known; infinite if anything is not finite. */
double qp_optimality(const struct qp_program *p, const double *x, const double *l, const double *Hx,
                     const double *Rl, const double *rows);

/* Returns the same and writes Hx (n), Rl (n) and rows (n_rows). */
double qp_relative_residual(const struct qp_program *p, const double *x, const double *l,
                            double *Hx, double *Rl, double *rows);

/* Returns 1 if R x (n_rows) violates a row by more than the tolerance times |r_i|, or, where r_i =
 * 0, times the largest r: a large x may hide that no point is feasible. Returns 0 if x = 0 is
 * feasible. */
int qp_hides_rows(const struct qp_program *p, const double *rows, double tolerance);

#endif
