/* The linear systems of the interior point method and of polishing,
 *
 *     [ H   -R^T  ] [ dx ]   [ f ]
 *     [ R   1/W   ] [ dl ] = [ h ],
 *
 * W >= 0 diagonal: 0 leaves a row out, INFINITY makes it an equality. By
 * dl = W (h - R dx) they become (H + R^T W R) dx = f + R^T W h, which is factored with the largest
 * W cut at 1/epsilon and epsilon added to the diagonal: it stays definite for H and R of any rank,
 * and iterative refinement on the system as it is above takes both back. */
#ifndef SAPWOOD_LCP_NORMAL_EQUATIONS_H
#define SAPWOOD_LCP_NORMAL_EQUATIONS_H

#include "lcp/program.h"

struct qp_condensed {
  double *K;       /* (n, ld) its Cholesky factor */
  double *scaled;  /* (n_dense, ld) rows times W */
  double *W;       /* (n_rows) of the caller */
  double *cut;     /* (n_rows) W as it is factored */
  double *f, *dx;  /* (n) scratch of refinement */
  double *h, *dl;  /* (n_rows) scratch of refinement */
  double *product; /* (n_rows) scratch */
  double accuracy; /* of the caller: a residual that refinement leaves alone, over the right side */
};

void qp_condensed_carve(struct qp_condensed *c, struct sap_arena *arena,
                        const struct qp_sizes *most);

/* For c->W; 0 where H is not positive semidefinite, or not finite. */
int qp_condensed_factor(struct qp_condensed *c, const struct qp_program *p, double epsilon);

/* dx (n) and dl (n_rows), which may not be f and h, in at most so many steps of refinement. dl is 0
 * where W is. */
void qp_condensed_solve(struct qp_condensed *c, const struct qp_program *p, const double *f,
                        const double *h, int refinements, double *dx, double *dl);

#endif
