/* Finds Newton's direction with Coulomb's friction, from a system that is not symmetric:
 *
 *     (H + J^T U J) dv = b,    H = A + J^T G J
 *
 * With the factor of H this is (I + H^-1 J^T U J) dv = H^-1 b. Its matrix differs from I by a rank
 * of at most the number of sliding contacts. A few steps of GMRES (Saad and Schultz 1986) solve it,
 * with inner products x^T diag(A) y, which are independent of units. */
#ifndef SAPWOOD_SOLVER_COULOMB_KRYLOV_H
#define SAPWOOD_SOLVER_COULOMB_KRYLOV_H

#include "solver/newton/objective.h"

/* Replaces dv = H^-1 b, from the last factorization, by the direction with J^T U J, to a hundredth
 * of |dv|: an inexact Newton method. Uses dv_c of the pool. */
void sap_couple_direction(struct sap_workspace *w, const struct sap_island *island);

#endif
