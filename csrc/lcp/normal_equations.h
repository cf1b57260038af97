/* This module solves the linear systems of the interior point method and of polishing,
 *
 *     [ H   -R^T  ] [ dx ]   [ f ]
 *     [ R   1/W   ] [ dl ] = [ h ],
 *
 * with W >= 0 diagonal: 0 leaves a row out, INFINITY makes it an equality. By dl = W (h - R dx)
 * they become (H + R^T W R) dx = f + R^T W h. The matrix is factored with the largest W cut at
 * 1/epsilon and epsilon added to the diagonal. It stays definite for H and R of any rank, and
 * iterative refinement on the system above removes both changes. */
#ifndef SAPWOOD_LCP_NORMAL_EQUATIONS_H
#define SAPWOOD_LCP_NORMAL_EQUATIONS_H

#include "lcp/program.h"

struct qp_condensed {
  double *K;       /* (n, ld) H + R^T W R, then its Cholesky factor */
  double *scaled;  /* (n_dense, ld) rows times W */
  double *W;       /* (n_rows) W, which the caller sets */
  double *cut;     /* (n_rows) W cut at 1/epsilon */
  double *f, *dx;  /* (n) scratch of refinement */
  double *h, *dl;  /* (n_rows) scratch of refinement */
  double *product; /* (n_rows) scratch */
  /* residual over the right-hand side at which refinement stops, which the caller sets */
  double accuracy;
};

void qp_condensed_carve(struct qp_condensed *c, struct sap_arena *arena,
                        const struct qp_sizes *most);

/* Factors the matrix for c->W; 0 if H is not positive semidefinite, or not finite. */
int qp_condensed_factor(struct qp_condensed *c, const struct qp_program *p, double epsilon);

/* Solves for dx (n) and dl (n_rows), which must not be f and h, with at most `refinements` steps of
 * refinement. dl is 0 where W is 0. */
void qp_condensed_solve(struct qp_condensed *c, const struct qp_program *p, const double *f,
                        const double *h, int refinements, double *dx, double *dl);

#endif
