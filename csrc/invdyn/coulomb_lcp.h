/* This module solves Coulomb friction with complementarity, ID_LCP,mu: Eq. (64) in f_n (n), f_F (n
 * edges, contact by contact) and lambda (n),
 *
 *     [ N K N^T  N K F^T  0 ]       [ N v_free + phi/dt ]
 *     [ F K N^T  F K F^T  E ]   r = [ F v_free          ]
 *     [ mu       -E^T     0 ]       [ 0                 ]
 *
 * The matrix is copositive, as K is semidefinite: Lemke's method solves the problem wherever the
 * convex model has impulses, and may end on a ray elsewhere, even if a solution exists. */
#ifndef SAPWOOD_INVDYN_COULOMB_LCP_H
#define SAPWOOD_INVDYN_COULOMB_LCP_H

#include "invdyn/answer.h"
#include "invdyn/warm_start.h"
#include "invdyn/unactuated.h"

struct invdyn_coulomb {
  double *Q, *r, *z, *w;               /* matrix and vectors of size n (edges + 2) */
  double *row;                         /* (n (edges + 1), n_b) rows of N and F, whitened */
  struct invdyn_warm_start warm_start; /* basic variables, in the order of z */
};

/* Returns 1 if the controller solves Eq. (64). */
static inline int invdyn_is_coulomb(const invdyn_settings *settings) {
  return settings->controller == INVDYN_LCP_COULOMB || settings->controller == INVDYN_LCP_NEAREST;
}

void invdyn_coulomb_carve(struct invdyn_coulomb *coulomb, const invdyn_settings *settings,
                          const invdyn_problem *most, struct sap_arena *arena);

/* Sets Q and r for the current joint velocities. */
void invdyn_coulomb_set(struct invdyn_coulomb *coulomb, const struct invdyn_reduction *reduction,
                        int32_t edges);

/* Sets the impulses z (n, 3) of a solution x of the complementarity problem. */
void invdyn_coulomb_impulses(const double *x, int32_t n, int32_t edges, double *z);

/* Finds z (n, 3) for the current joint velocities; with `regularize` the diagonal may grow. */
struct invdyn_answer invdyn_coulomb_solve(struct invdyn_coulomb *coulomb, lcp_solver *lcp,
                                          const struct invdyn_reduction *reduction, int32_t edges,
                                          int regularize, double *z);

#endif
