/* Coulomb friction with complementarity, ID_LCP,mu: Eq. (64) in f_n (n), f_F (n edges, contact by
 * contact) and lambda (n),
 *
 *     [ N K N^T  N K F^T  0 ]       [ N v_free + phi/dt ]
 *     [ F K N^T  F K F^T  E ]   r = [ F v_free          ]
 *     [ mu       -E^T     0 ]       [ 0                 ]
 *
 * whose matrix is copositive, as K is semidefinite: Lemke's method solves it wherever the convex
 * model has impulses, and may end on a ray elsewhere, even where there is a solution. */
#ifndef SAPWOOD_INVDYN_COULOMB_LCP_H
#define SAPWOOD_INVDYN_COULOMB_LCP_H

#include "invdyn/answer.h"
#include "invdyn/recall.h"
#include "invdyn/unactuated.h"

struct invdyn_coulomb {
  double *Q, *r, *z, *w;       /* of size n (edges + 2) */
  double *row;                 /* (n (edges + 1), n_b) of N and F, whitened */
  struct invdyn_recall recall; /* of what was basic, in the order of z */
};

void invdyn_coulomb_carve(struct invdyn_coulomb *of, const invdyn_settings *settings,
                          const invdyn_problem *most, struct sap_arena *arena);

/* z (n, 3) for the joints' velocities as they are; with `regularize` the diagonal may grow */
struct invdyn_answer invdyn_coulomb_solve(struct invdyn_coulomb *of, lcp_solver *lcp,
                                          const struct invdyn_reduction *reduction, int32_t edges,
                                          int regularize, double *z);

#endif
