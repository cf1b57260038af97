/* Finds Newton's direction with Coulomb's friction, from a system that is not symmetric:
 *
 *     H dv = b,    H = A + J^T K J,    K = G + U
 *
 * G is symmetric, and U has the derivatives of friction by the normal impulse where contacts slide.
 * Without such contacts the factor is Cholesky's, otherwise that of lu_factor.h. A solution whose
 * residual is above 1e-3 is refined once. If the residual stays above 1e-2, U is left out. */
#ifndef SAPWOOD_SOLVER_COULOMB_UNSYMMETRIC_DIRECTION_H
#define SAPWOOD_SOLVER_COULOMB_UNSYMMETRIC_DIRECTION_H

#include "solver/newton/iterate.h"

/* The kind of the last factorization. */
enum sap_factor_kind { SAP_FACTOR_CHOLESKY, SAP_FACTOR_LU };

/* Solves H dv = b for b in w->dv, with G and U of the last evaluation, makes the line along dv, and
 * writes U to the linear law of the workspace. Returns -1, or the position of the node at which
 * A + J^T G J broke down. */
int32_t sap_unsymmetric_direction(struct sap_workspace *w, const struct sap_island *island,
                                  struct sap_stopwatch *watch, struct sap_newton_result *result,
                                  enum sap_factor_kind *kind, struct sap_line *line);

/* Sets x <- H^-1 x by the last factorization. */
void sap_direction_solve(struct sap_workspace *w, const struct sap_island *island,
                         enum sap_factor_kind kind, double *x);

/* Writes U to the linear law of the workspace. Returns the number of contacts where it is not 0. */
int32_t sap_find_coupling(struct sap_workspace *w, const struct sap_island *island);

/* Writes H to the unsymmetric factor, with U of the linear law of the workspace. */
void sap_assemble_unsymmetric(struct sap_workspace *w, const struct sap_island *island);

/* Adds the products with the blocks of G between the two triples of each pair to y_c. */
void sap_add_cross(const struct sap_pool *pool, int32_t begin, int32_t end, double *const x_c[3],
                   double *const y_c[3]);

/* Writes b - A dv - J^T y_c to `residual`, with A dv of the last line. Returns |D residual| over
 * |D b|, or 0 if b is. */
double sap_unsymmetric_residual(struct sap_workspace *w, const struct sap_island *island,
                                const double *b, double *const y_c[3], double *residual);

#endif
