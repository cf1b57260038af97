/* How far from optimal a point of a quadratic program and multipliers of its rows are: the largest
 * of what the gradient, the rows and the gap leave, each over 1 plus the sizes of what it is the
 * difference of. */
#ifndef SAPWOOD_LCP_OPTIMALITY_H
#define SAPWOOD_LCP_OPTIMALITY_H

#include "lcp/program.h"

/* For x (n) and l (n_rows), l >= 0 of inequalities, with H x (n), R^T l (n) and R x (n_rows) known;
 * infinite where anything is not finite. */
double qp_optimality(const struct qp_program *p, const double *x, const double *l, const double *Hx,
                     const double *Rl, const double *rows);

/* The same, with Hx (n), Rl (n) and rows (n_rows) to be written. */
double qp_relative_residual(const struct qp_program *p, const double *x, const double *l,
                            double *Hx, double *Rl, double *rows);

#endif
