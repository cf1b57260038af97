/* Contacts that hold or open, ID_LCP,inf: Eqs. (44), (45) without a choice of rows. Tangential
 * impulses act on the base in the span of the tangential rows T, and hold it there at y_held; what
 * normal impulses do beside it is left,
 *
 *     Q = N P N^T,   r = N (y_held + P y_free) + J_q,n v_q+ + phi/dt,   P = I - span span^T
 *
 * and the tangential impulses are those of least norm, in place of loading the first rows that
 * FIND-INDICES keeps. The span is that of holding.h. */
#ifndef SAPWOOD_INVDYN_NOSLIP_H
#define SAPWOOD_INVDYN_NOSLIP_H

#include "invdyn/answer.h"
#include "invdyn/holding.h"
#include "invdyn/recall.h"

struct invdyn_noslip {
  const struct invdyn_holding *holding; /* of the call */
  double *Q, *r, *z, *w;                /* (n, n) and (n) */
  double *across;                       /* (rank, 2n) orthonormal rows: T span^T = across^T upper */
  double *upper;                        /* (rank, rank) by columns */
  double *NP;                           /* (n, n_b) */
  double *y, *s;                        /* (n_b) */
  int degenerate; /* normal impulses do nothing that tangential ones do not undo: Q = 0 */

  struct invdyn_recall recall; /* of the normals that pushed */
};

void invdyn_noslip_carve(struct invdyn_noslip *of, const invdyn_problem *most,
                         struct sap_arena *arena);

/* z (n, 3) for the joints' velocities as they are, of contacts that hold by `holding` */
struct invdyn_answer invdyn_noslip_solve(struct invdyn_noslip *of,
                                         const struct invdyn_holding *holding, lcp_solver *lcp,
                                         const struct invdyn_reduction *reduction, double *z);

#endif
