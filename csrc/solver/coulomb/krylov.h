/* Newton's direction with Coulomb's friction, whose matrix is not symmetric:
 *
 *     (H + J^T U J) dv = b,    H = A + J^T G J
 *
 * With the factor of H this is (I + H^-1 J^T U J) dv = H^-1 b, whose matrix differs from I by a
 * rank no larger than the number of contacts that slide: a few steps of GMRES (Saad and Schultz
 * 1986), with inner products x^T diag(A) y, in which units do not matter. */
#ifndef SAPWOOD_SOLVER_COULOMB_KRYLOV_H
#define SAPWOOD_SOLVER_COULOMB_KRYLOV_H

#include "solver/newton/objective.h"

/* From dv = H^-1 b, by the last factorization, to the direction with J^T U J, up to a hundredth of
 * dv: an inexact Newton method. Uses dv_c of the pool. */
void sap_couple_direction(struct sap_workspace *w, const struct sap_island *island);

#endif
