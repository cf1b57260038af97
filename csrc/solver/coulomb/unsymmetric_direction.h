/* Finds Newton's direction with Coulomb's friction, from a system that is not symmetric:
 *
 *     H dv = b,    H = A + J^T K J,    K = G + U
 *
 * G is symmetric, and U has the derivatives of friction by the normal impulse where contacts slide.
 * Without such contacts the factor is Cholesky's, otherwise that of lu_factor.h. A solution whose
 * residual is above 1e-3 is refined once, and double precision takes over where the residual of
 * single precision stays above 1e-2. If it does not suffice either, U is left out. */
#ifndef SAPWOOD_SOLVER_COULOMB_UNSYMMETRIC_DIRECTION_H
#define SAPWOOD_SOLVER_COULOMB_UNSYMMETRIC_DIRECTION_H

#include "solver/newton/iterate.h"

/* The kind of the last factorization. */
enum sap_factor_kind { SAP_FACTOR_CHOLESKY, SAP_FACTOR_LU };

/* Solves H dv = b for b in w->dv, with G and U of the last evaluation, and writes U to the linear
 * law of the workspace. Returns -1, or the position of the node at which A + J^T G J broke down. */
int32_t sap_unsymmetric_direction(struct sap_workspace *w, const struct sap_island *island,
                                  enum sap_precision *precision, struct sap_stopwatch *watch,
                                  struct sap_newton_result *result, enum sap_factor_kind *kind);

/* Sets x <- H^-1 x by the last factorization. */
void sap_direction_solve(struct sap_workspace *w, const struct sap_island *island,
                         enum sap_factor_kind kind, double *x);

/* Writes U to the linear law of the workspace. Returns the number of contacts where it is not 0. */
int32_t sap_find_coupling(struct sap_workspace *w, const struct sap_island *island);

#endif
