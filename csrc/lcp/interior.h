/* This module implements a primal-dual interior point method on the homogeneous embedding of a
 * quadratic program (Andersen and Ye 1999; the quadratic cost as in Clarabel, Goulart and Chen
 * 2024):
 *
 *     H x - R^T l + g tau = 0,   R x - s - r tau = 0,   g^T x - r^T l + x^T H x/tau + kappa = 0,
 *     s, l >= 0 of inequalities, s = 0 of equalities,   s_i l_i = 0,   tau kappa = 0.
 *
 * It has solutions for every program: with tau > 0, x/tau and l/tau are optimal; with kappa > 0
 * either l proves that no point is feasible, or x is an unbounded direction. */
#ifndef SAPWOOD_LCP_INTERIOR_H
#define SAPWOOD_LCP_INTERIOR_H

#include "lcp/normal_equations.h"

struct qp_interior {
  struct qp_program *program;
  struct qp_condensed *condensed;
  int32_t n_inequalities;

  /* iterate */
  double *x;     /* (n) */
  double *s, *l; /* (n_rows) */
  double tau, kappa;

  /* residuals of the three equations, H x and R^T l of the iterate, and the mean mu of s l, tau
   * kappa */
  double *r_x, *Hx, *Rl; /* (n) */
  double *r_s;           /* (n_rows) */
  double r_tau, mu;

  /* directions for the constant right-hand side, for the other terms, and their sum */
  double *x_2, *x_1, *dx;         /* (n) */
  double *l_2, *l_1, *dl, *ds;    /* (n_rows) */
  double dtau, dkappa, curvature; /* curvature of the third equation along l_2 */
  int cautious;                   /* 1: the corrector is scaled by the step of the predictor */
  double *f, *h, *target;         /* (n), (n_rows), (n_rows) right-hand sides, see interior.c */

  /* iterate of the smallest residual, over tau, which polishing improves */
  double *best_x, *best_l; /* (n), (n_rows) */
  double best;             /* relative residual of that iterate */
  int polished;
};

void qp_interior_carve(struct qp_interior *w, struct sap_arena *arena, const struct qp_sizes *most);

/* Solves the program; leaves in x (n) and l (n_rows) the solution, as far as it was found, or the
 * proof that there is none. Returns the outcome and adds its iterations. */
qp_outcome qp_interior_solve(struct qp_interior *w, const qp_settings *settings,
                             int32_t *iterations);

/* Do the rows that are active at best_x and best_l, or those found by polishing from there, solve
 * the program with all digits? If so, leaves the solution in x and l. */
int qp_interior_resume(struct qp_interior *w, const qp_settings *settings);

#endif
