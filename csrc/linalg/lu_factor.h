/* This module factors an unsymmetric matrix whose blocks have the pattern of a Cholesky factor:
 *
 *     H = L D U,    L and U^T block lower triangular with unit diagonal blocks,
 *
 * over the junction tree and in the order of factorization.h. The blocks of D are the diagonal
 * blocks of trees, cut into pieces of at most SAP_LU_BLOCK scalars; pivots are exchanged inside
 * these pieces alone. So the factorization may be inaccurate, and callers look at the residual.
 *
 * Each supernode has two panels of the same places. The lower one, among the values of the
 * symmetric factorization, first holds H on and below the diagonal blocks, then L. The upper one
 * first holds H^T below the diagonal blocks, then D U transposed, with D^-1 in place of the
 * diagonal blocks. All functions work on one connected component at a time. */
#ifndef SAPWOOD_LINALG_LU_FACTOR_H
#define SAPWOOD_LINALG_LU_FACTOR_H

#include "linalg/factorization.h"

struct sap_lu {
  const struct sap_factor *factor; /* places and the lower panels, in double precision */
  double *upper;                   /* (n_values) upper panels */
};

void sap_lu_carve(struct sap_lu *lu, struct sap_arena *arena);

/* Sets the upper panels of component c for a symmetric H, whose lower triangle is assembled, and
 * completes its diagonal blocks. Unsymmetric terms are added after that. */
void sap_lu_mirror(const struct sap_lu *lu, int32_t c);

/* Factors H of component c. Returns -1, or the position of a node with a singular pivot block. */
int32_t sap_lu_run(const struct sap_lu *lu, int32_t c);

/* Set x <- H^-1 x, or H^-T x, for component c, by the last factorization; x is indexed by
 * scalar. */
void sap_lu_solve(const struct sap_lu *lu, int32_t c, double *x);
void sap_lu_solve_transposed(const struct sap_lu *lu, int32_t c, double *x);

#endif
