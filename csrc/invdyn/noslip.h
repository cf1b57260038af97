/* This module solves contacts that hold or open, ID_LCP,inf: Eqs. (44), (45) without a choice of
 * rows. Tangential impulses act on the base in the span of the tangential rows T, and hold it there
 * at y_held. The effect of normal impulses outside the span remains,
 *
 *     Q = N P N^T,   r = N (y_held + P y_free) + J_q,n v_q+ + phi/dt,   P = I - span span^T
 *
 * The tangential impulses have least norm, while FIND-INDICES of the paper loads the first rows
 * that it keeps. holding.h finds the span. */
#ifndef SAPWOOD_INVDYN_NOSLIP_H
#define SAPWOOD_INVDYN_NOSLIP_H

#include "invdyn/answer.h"
#include "invdyn/holding.h"
#include "invdyn/warm_start.h"

struct invdyn_noslip {
  const struct invdyn_holding *holding; /* holding contacts of the call */
  double *Q, *r, *z, *w;                /* (n, n) and (n) */
  double *basis;                        /* (rank, 2n) orthonormal rows: T span^T = basis^T upper */
  double *upper;                        /* (rank, rank) by columns */
  double *NP;                           /* (n, n_b) */
  double *y, *s;                        /* (n_b) */
  int degenerate; /* 1 if tangential impulses undo all effects of normal ones: Q = 0 */

  struct invdyn_warm_start warm_start; /* normals that pushed */
};

void invdyn_noslip_carve(struct invdyn_noslip *noslip, const invdyn_problem *most,
                         struct sap_arena *arena);

/* Finds z (n, 3) for the current joint velocities and the contacts of `holding`. */
struct invdyn_answer invdyn_noslip_solve(struct invdyn_noslip *noslip,
                                         const struct invdyn_holding *holding, lcp_solver *lcp,
                                         const struct invdyn_reduction *reduction, double *z);

#endif
