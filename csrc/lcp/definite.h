/* This module solves a scaled program whose H is positive definite, by the dual active-set method
 * in y = L^T x + L^-1 g with H = L L^T, and refines the solution on the rows that it found active:
 *
 *     [ H  -R^T ] [ dx ]   [ R^T l - H x - g ]
 *     [ R   0   ] [ dl ] = [     r - R x     ]
 *
 * It says only whether it succeeded: what has no solution, or is too badly conditioned for it, is
 * left to the interior point method. */
#ifndef SAPWOOD_LCP_DEFINITE_H
#define SAPWOOD_LCP_DEFINITE_H

#include "lcp/active_set.h"
#include "lcp/program.h"

struct qp_definite {
  const struct qp_program *program;
  struct qp_active_set set;
  double *L;       /* (n, ld) Cholesky factor of H, 1/diagonal on the diagonal */
  double *x;       /* (n) */
  double *l;       /* (n_rows) */
  double *shift;   /* (n) L^-1 g */
  double *Hx, *Rl; /* (n) scratch */
  double *rows;    /* (n_rows) scratch */
  int8_t *start;   /* (n_rows) rows that are expected to be active */
};

void qp_definite_carve(struct qp_definite *d, struct sap_arena *arena, const struct qp_sizes *most);

/* Factors H; 0 if it is not positive definite beyond round-off. */
int qp_definite_factor(struct qp_definite *d);

/* Solves the program for the factor, from the rows in `start`; 1 if x and l solve it to the
 * relative residual `tolerance`. */
int qp_definite_solve(struct qp_definite *d, double tolerance);

#endif
