/* The change of R and v_hat of the constraints of a gathered problem by that of A.
 *
 * They depend on A by the effective inverse mass w = |W|_F/n of up to three rows (masses.h). For a
 * change dA = U^T U of the block of one tree, with a few rows of U,
 *
 *     W = sum_t J_t A_t^-1 J_t^T,    Z = J_t A_t^-1 U^T,    d(ln w) = -W : (Z Z^T)/|W|_F^2
 *
 * W is found once for all changes. Loads and slow releases, by which R depends on masses too, must
 * not act, and w must be found with blocks of A, not with its diagonal.
 *
 * Ownership: the memory of an arena is the caller's. */
#ifndef SAPWOOD_STEP_DERIVATIVES_MASS_SLOPES_H
#define SAPWOOD_STEP_DERIVATIVES_MASS_SLOPES_H

#include "step/gather.h"
#include "sapwood/sensitivity.h"

enum { SAP_MASS_RANK = 3 }; /* most rows of U */

struct sap_mass_slopes {
  int is_found; /* 1 if the arrays before `product` are those of the gathered problem */
  int32_t n_contacts;
  int64_t n_rows, nv;
  double *contact;     /* (n_contacts, 9) W/|W|^2 */
  double *row;         /* (n_rows, 9) the same of the rows of a group from this one on */
  double *by_ln_w;     /* (n_rows, 2) derivatives of R and v_hat of groups by ln w */
  double *inverse;     /* (nv) diagonal of A^-1 */
  uint8_t *is_inverse; /* (nv) 1 at the first velocity of a tree whose diagonal is found */
  double *product;     /* (SAP_MASS_RANK, nv) workspace: U A^-1 */
};

/* A change of A in n velocities of one tree: dA = U^T U. */
struct sap_mass_change {
  int32_t n, rank;
  const int32_t *dof; /* (n) */
  const double *U;    /* (rank, n) */
};

/* Finds the lengths of the arrays for the gathered problem; takes the arrays. */
void sap_mass_slopes_measure(struct sap_mass_slopes *slopes, const struct sap_gather *gather);
void sap_mass_slopes_carve(struct sap_mass_slopes *slopes, struct sap_arena *arena);

/* Adds the changes of R_t and R_n of contacts, and of R and v_hat of groups, to `change`. Returns
 * -1, or a tree whose block of A is not positive definite. */
int32_t sap_mass_slopes_push(struct sap_mass_slopes *slopes, struct sap_gather *gather,
                             const struct sap_mass_change *of, const sap_differential *change);

#endif
