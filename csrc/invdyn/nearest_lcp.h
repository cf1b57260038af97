/* This module solves Coulomb friction with complementarity for the motor impulses that are nearest
 * to those of the last call: MINDIFF, Algorithm 3 of Zapolsky and Drumwright, for few contacts.
 *
 * Eq. (64) may have many solutions x: a polyhedron for each choice of x_i = 0 or w_i = 0. Algorithm
 * 3 looks at all 2^size choices. Branch and bound looks at the same ones: an undecided choice is
 * relaxed to x_i >= 0 and w_i >= 0, which makes the nearest point a convex program,
 *
 *     minimise 1/2 |lambda(x) - lambda_last|^2   where   x >= 0,  w = Q x + r >= 0,
 *
 * and leaves out all choices below one that has no point, or none nearer than the best. It starts
 * from no impulses at all: the first call finds the least torques. */
#ifndef SAPWOOD_INVDYN_NEAREST_LCP_H
#define SAPWOOD_INVDYN_NEAREST_LCP_H

#include "invdyn/coulomb_lcp.h"
#include "sapwood/qp.h"

struct invdyn_nearest_lcp {
  double *last;     /* (n_q) motor impulses of the last call, N m s */
  double *lambda;   /* (n_q) motor impulses without contact impulses, minus `last` */
  double *D;        /* (n_q, size) change of the motor impulses per unknown */
  double *H, *g;    /* (size, size), (size) objective */
  double *A, *b;    /* rows w_i = 0 */
  double *C, *d;    /* rows w_i >= 0 */
  double *lower;    /* (size) zeros */
  double *upper;    /* (size) 0 where x_i = 0 */
  double *x, *best; /* (size) */
  int8_t *choices;  /* (size + 1, size) stack of nodes, enum choice per unknown */
};

void invdyn_nearest_lcp_carve(struct invdyn_nearest_lcp *nearest, const invdyn_settings *settings,
                              const invdyn_problem *most, struct sap_arena *arena);

/* Starts with no impulses of a last call, once the arrays for `size` unknowns are there. */
void invdyn_nearest_lcp_begin(struct invdyn_nearest_lcp *nearest, int32_t n_q, int32_t size);

/* Finds z (n, 3) for the problem that is set in `coulomb`; pivots are convex programs. */
struct invdyn_answer invdyn_nearest_lcp_solve(struct invdyn_nearest_lcp *nearest,
                                              struct invdyn_coulomb *coulomb, qp_solver *qp,
                                              const struct invdyn_reduction *reduction,
                                              int32_t edges, double *z);

/* Stores the torques (n_q) of a call, N m, from which the next one differs least. */
void invdyn_nearest_lcp_store(struct invdyn_nearest_lcp *nearest, const invdyn_problem *problem,
                              const double *tau);

#endif
