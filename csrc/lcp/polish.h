/* Polishing: the rows that an interior point method has found to be active become equalities, the
 * others are left out, and the solution of what remains that is next to the one found has as many
 * digits as the problem. Where its multipliers and slacks say that other rows are active, it is
 * done again with those. */
#ifndef SAPWOOD_LCP_POLISH_H
#define SAPWOOD_LCP_POLISH_H

#include "lcp/normal_equations.h"

struct qp_polish {
  const struct qp_program *program;
  struct qp_condensed *condensed;
  double *best_x, *best_l;  /* (n), (n_rows) where to begin, and what comes of it */
  double *x, *l, *positive; /* (n), (n_rows), (n_rows) scratch: now, and with l >= 0 */
  double *step_x, *step_l;  /* (n), (n_rows) scratch */
  double *f, *h, *Rl;       /* (n), (n_rows), (n) scratch: right sides, and R^T l */
};

/* Replaces best_x and best_l where that makes the relative residual smaller than *residual, in at
 * most so many rounds; 1 where it does, with *residual the new one. */
int qp_polish(const struct qp_polish *of, int rounds, double *residual);

#endif
