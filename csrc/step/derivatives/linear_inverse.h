/* H^-1 of a linearized step (linear_step.h), as a matrix or by a solve for each change of F.
 *
 * Trees that no constraint moves are not in the linearized problem: their H is A, of which the
 * inverse is always a matrix.
 *
 * Ownership: arrays and sensitivity are the caller's. */
#ifndef SAPWOOD_STEP_DERIVATIVES_LINEAR_INVERSE_H
#define SAPWOOD_STEP_DERIVATIVES_LINEAR_INVERSE_H

#include "step/gather.h"
#include "sapwood/sensitivity.h"

struct sap_linear_inverse {
  const sap_forest *forest;
  sap_sensitivity *sensitivity; /* the linearized problem */
  int32_t nv;
  int is_whole;          /* 1: the matrix is that of all trees */
  double *unit, *column; /* (nv) workspace */
  uint8_t *is_moved;     /* (n_trees) 1 if a constraint moves the tree */
  double *matrix;        /* (nv, nv) H^-1, row-major, or its blocks of trees that none moves */
};

/* Finds H^-1; without `whole`, of the trees that no constraint moves alone. The gather must hold
 * the problem of the sensitivity. */
sap_status sap_linear_inverse_find(struct sap_linear_inverse *inverse, struct sap_gather *gather,
                                   int whole, sap_error *error);

/* Writes dv = -H^-1 dF (nv). */
sap_status sap_linear_inverse_apply(struct sap_linear_inverse *inverse, const double *dF,
                                    double *dv, sap_error *error);

#endif
