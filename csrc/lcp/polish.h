/* This module polishes a solution. The rows that an interior point method found active become
 * equalities, and the others are left out. The solution of this system next to the one found has as
 * many digits as the problem. If its multipliers and slacks show other rows to be active, another
 * round uses those. */
#ifndef SAPWOOD_LCP_POLISH_H
#define SAPWOOD_LCP_POLISH_H

#include "lcp/normal_equations.h"

struct qp_polish {
  const struct qp_program *program;
  struct qp_condensed *condensed;
  double *best_x, *best_l;  /* (n), (n_rows) start and result */
  double *x, *l, *positive; /* (n), (n_rows), (n_rows) scratch: iterate, and its l cut to l >= 0 */
  double *step_x, *step_l;  /* (n), (n_rows) scratch */
  double *f, *h, *Rl;       /* (n), (n_rows), (n) scratch: right-hand sides, and R^T l */
};

/* Replaces best_x and best_l if that makes the relative residual smaller than *residual, in at most
 * `rounds` rounds; then returns 1 with *residual the new one. */
int qp_polish(const struct qp_polish *polish, int rounds, double *residual);

#endif
